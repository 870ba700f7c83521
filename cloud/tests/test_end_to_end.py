"""A whole hunt: the fake AWS, hosts in namespaces, Ansible, the real tickpath on each host."""

import random
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from conftest import Hunt, skip
from namespaces import PORT, SUBNET, Hosts, Relay, exchange, missing, tickpath

from tickpath_cloud.ansible import AnsibleHosts
from tickpath_cloud.hunt import table
from tickpath_cloud.hunt.decide import Measure

ARMS = 4
DELAYS_MS = [40.0, 48.0, 58.0, 70.0]  # far above what a busy machine adds
CONTROL_MS = 52.0
# Blocks that ping the target as somebody else's: one probe at a time, a p50 takes 20 of them.
ENDPOINT = {
    "scenario": "endpoint", "connections": 2, "block_seconds": 2.5, "screen_seconds": 2.5,
    "set": ("endpoint.probes_per_second=100", "endpoint.fresh_every=1000"),
}  # fmt: skip


class Site:
    """Hosts, relay and exchange. `truth` is what a hunt must find out: ms by arm."""

    def __init__(self, config, world, hosts, directory):
        self.config, self.world, self.hosts, self.directory = config, world, hosts, directory
        self.truth = {}
        self.relay = Relay(self.delay_of)
        self.process, self.relay.target = exchange(tickpath())

    def hunt(self, seed, **more):
        """A hunt of its own, with its own hidden delays."""
        delays = DELAYS_MS[:]
        random.Random(seed).shuffle(delays)
        config = replace(
            self.config,
            arms=ARMS,
            finalists=2,
            round_every_seconds=0.0,
            screen_seconds=1.0,
            probes_at_once=2,
            looks=(6,),
            fresh_rounds=6,
            failures_max=6,
            void_rounds_max=20,
            block_seconds=1.0,
            connections=8,
            ssh_user="root",
            ssh_port=2222,
            reach="private",
            install_dir="/mnt",
            ssh_key=str(self.hosts.directory / "id"),
            ssh_from=f"{SUBNET}.254/32",
            tickpath=tickpath(),
            target=f"{SUBNET}.254:{PORT}",
            seed=seed,
        )
        config = replace(config, **more)
        hunt = Hunt(config, self.world, self.directory / str(seed), f"test-{seed}")
        hunt.path.parent.mkdir()
        hunt.hosts = AnsibleHosts(config, hunt.cloud, hunt.path.parent)
        hunt.hosts.answer_seconds = 90
        self.truth[hunt.id] = {f"arm-{i:02}": delay for i, delay in enumerate(delays, 1)}
        return hunt

    def delay_of(self, address):
        instance = next(i for i in list(self.hosts.processes) if self.hosts.address(i) == address)
        hunt, arm = self.names(instance)
        return self.truth[hunt].get(arm, CONTROL_MS) / 1000

    def names(self, instance_id):
        tags = {t["key"]: t["value"] for t in self.world.instances[instance_id].get_tags()}
        return tags["tickpath:hunt"], tags["tickpath:role"]

    def alive(self):
        return sorted(self.names(instance) for instance in self.hosts.alive())

    def close(self):
        self.relay.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


@pytest.fixture
def site(config, world, tmp_path):
    if need := missing():
        skip("root", f"{need} is missing")
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    with Hosts(world) as hosts:
        site = Site(config, world, hosts, tmp_path)
        yield site
        site.close()


def best(site, hunt, among=None):
    truth = site.truth[hunt.id]
    return min(among or truth, key=truth.get)


@pytest.mark.root
def test_names_keeps_and_leaves_only_the_planted_best(site):
    """Two seeds, at the same time: hunts don't see each other. The second pings an endpoint."""
    hunts = [site.hunt(1), site.hunt(3, **ENDPOINT)]
    with ThreadPoolExecutor(len(hunts)) as pool:
        states = list(pool.map(lambda hunt: hunt.run(), hunts))
    for hunt, state in zip(hunts, states, strict=True):
        said = (hunt.path.parent / "ansible.log").read_text()[-2000:]
        planted = best(site, hunt)
        assert state.decided == [planted], f"{table.result(state, 0)}\n{said}"
        [(name, figure)] = table.winners(state)
        # The relay's delay and what the machine adds to it. On a busy machine the interval is wide,
        # and its lower end may lie below the delay.
        assert name == planted and figure.interval.high > 1e6 * site.truth[hunt.id][planted]
    assert site.alive() == sorted((h.id, best(site, h)) for h in hunts)
    assert [hunt.cloud.destroy() for hunt in hunts] == [[], []] and site.alive() == []


@pytest.mark.root
def test_the_relay_delays_as_planted_and_hosts_end_themselves(site):
    """Delays are verified before they are used; then the controller dies."""
    hunt = site.hunt(4)

    def die(state, event):
        if event["event"] == "settled":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hunt.run(die)
    truth = site.truth[hunt.id]
    result = hunt.hosts.measure(Measure(1, "screening", tuple(truth), "control-1", 1.0))
    assert result.failed == {}
    assert all(block.p50_ns > 1e6 * truth[arm] for arm, block in result.blocks.items())
    by_latency = sorted(truth, key=lambda arm: result.blocks[arm].p50_ns)
    assert by_latency[0] == best(site, hunt) and by_latency[-1] == max(truth, key=truth.get)
    site.hosts.read_timers()
    assert len(site.alive()) == ARMS + 1
    hunt.world.advance(hunt.plan().settings.ttl_seconds + 60)
    assert site.alive() == [] and hunt.alive() == []


@pytest.mark.root
def test_a_host_without_ssh_and_one_that_dies_in_a_block(site):
    hunt = site.hunt(5)
    hunt.hosts.answer_seconds = 30
    launch = site.hosts.launch

    def deaf(instance):
        launch(instance)
        if site.names(instance.id)[1] == "arm-03":
            site.hosts.end(instance)

    hunt.world.on_launch = deaf

    def kill(state, event):
        if event["event"] == "settled":
            hunt.world.shut_down(hunt.world.running("arm-02"))
        if event["event"] == "round" and event["number"] == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hunt.run(kill)
    events = hunt.events()
    settled = next(event for event in events if event["event"] == "settled")
    assert list(settled["unreachable"]) == ["arm-03"] and "ssh" in settled["unreachable"]["arm-03"]
    first = next(event for event in events if event["event"] == "round")
    assert first["gone"] == ["arm-02"] and "ssh" in first["failed"]["arm-02"]
    assert {"arm-01", "arm-02", "arm-04"} <= set(first["blocks"]) | set(first["failed"])
    assert hunt.cloud.destroy() == [] and site.alive() == []
