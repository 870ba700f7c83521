"""A name with several addresses is several targets."""

import socket
from dataclasses import replace

import pytest

from tickpath_cloud import plan, targets
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import table
from tickpath_cloud.hunt.prior import fold


@pytest.fixture
def names(monkeypatch):
    """Answers of a resolver, by name."""
    held, original = {}, socket.getaddrinfo

    def resolve(host, port, family=0, type=0):
        if host == "127.0.0.1":  # the fake AWS
            return original(host, port, 0, type)
        if host not in held:
            raise socket.gaierror("Name or service not known")
        # Once for each kind of socket: the same address may come twice.
        return [(0, type, 0, "", (address, port)) for address in held[host] * 2]

    monkeypatch.setattr(targets.socket, "getaddrinfo", resolve)
    return held


def test_a_name_with_several_addresses_ends_the_plan(hunt, names):
    """Arms measured different machines, and the hunt ranked machines for places."""
    names["ws.example.com"] = ["203.0.113.1", "203.0.113.2"]
    hunt.config = replace(hunt.config, target="ws.example.com:443")
    with pytest.raises(CloudError, match="has 2 addresses: 203.0.113.1, 203.0.113.2") as error:
        hunt.plan()
    said = str(error.value)
    assert 'target = "203.0.113.1:443"' in said and "exchange.tls_name=ws.example.com" in said
    assert "sts:GetCallerIdentity" not in hunt.world.calls, "before AWS is asked"


def test_several_addresses_are_hunted_for_at_once_if_the_file_names_them(hunt, names):
    """The plan says so, counts a block to each, and asks no resolver."""
    addresses = ("203.0.113.1", "2001:db8::1")
    one = plan.text(hunt.plan())
    hunt.config = replace(hunt.config, target="ws.example.com:443", addresses=addresses)
    assert hunt.config.targets() == ("203.0.113.1:443", "[2001:db8::1]:443")
    made = hunt.plan()
    said = plan.text(made)
    assert "each place is measured to all of them once, and then to its nearest" in said
    assert made.settings.targets == 2 and "each place is measured" not in one
    assert made.settings.wave_seconds(8) == replace(made.settings, targets=1).wave_seconds(8) + 8
    wrong = {
        "addresses": ("203.0.113.1", "203.0.113.1"),
        "two or more": ("203.0.113.1",),
        "exchange.tls_name=ws.example.com": addresses,
    }
    for why, found in wrong.items():
        with pytest.raises(CloudError, match=why):
            replace(hunt.config, addresses=found, set=("tls=true",))
    with pytest.raises(ValueError, match="nonsense"):
        replace(hunt.config, addresses=("203.0.113.1", "nonsense"))


def test_a_place_keeps_the_address_that_was_nearest_when_it_was_screened(hunt):
    """A later block is to that address alone, or the figure would be the least of several."""
    one, two = "203.0.113.1:8888", "203.0.113.2:8888"
    hunt.config = replace(hunt.config, addresses=("203.0.113.1", "203.0.113.2"))
    asked, original = [], hunt.hosts.measure

    def measure(action):
        asked.append(action)
        result = original(action)
        blocks = {
            arm: block if arm in action.addresses
            else replace(block, address=two if arm.endswith(("1", "2")) else one)
            for arm, block in result.blocks.items()
        }  # fmt: skip
        return replace(result, blocks=blocks)

    hunt.hosts.measure = measure
    state = hunt.run()
    assert not asked[0].addresses and len(asked[0].arms) == 6
    assert all(set(action.addresses) == set(action.arms) for action in asked[1:])
    [kept] = state.decided
    near = two if kept.endswith(("1", "2")) else one
    assert asked[-1].addresses[kept] == state.arms[kept].address == near
    assert f", to {near}" in table.result(state, hunt.world.now())
    assert fold(hunt.path).arms[kept].address == near, "the journal has it"


def test_one_address_in_each_family_is_one_target(names):
    names["ws.example.com"] = ["203.0.113.1", "2001:db8::1"]
    assert targets.check("ws.example.com:443") == "ws.example.com:443 at 203.0.113.1, 2001:db8::1"
    names["ws.example.com"] = ["2001:db8::1", "2001:db8::2"]
    with pytest.raises(CloudError, match=r'target = "\[2001:db8::1\]:443"'):
        targets.check("ws.example.com:443")


def test_a_name_that_the_probes_alone_resolve_is_said(hunt, names):
    hunt.config = replace(hunt.config, target="venue.internal:8888")
    said = plan.text(hunt.plan())
    assert "target     venue.internal:8888, which this machine can't resolve" in said
    assert "takes      " in said


def test_an_address_is_itself():
    assert targets.check("127.0.0.1:8888") == "127.0.0.1:8888"
    assert targets.check("[::1]:8888").startswith("[::1]:8888")
