"""A name with several addresses is several targets."""

import socket
from dataclasses import replace

import pytest

from tickpath_cloud import plan, targets
from tickpath_cloud.errors import CloudError


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
