"""The fake AWS for all tests, and what a hunt needs in it."""

import functools
import os
import time
from decimal import Decimal
from pathlib import Path

import boto3
import botocore.loaders
import botocore.session
import pytest
from namespaces import Hosts, missing, tickpath

from fake_aws.hosts import SimulatedHosts
from fake_aws.server import WORLD, Server, environment
from tickpath_cloud import policy
from tickpath_cloud.config import Config
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.hunt.run import Runner
from tickpath_cloud.journal import Journal, read
from tickpath_cloud.launches import FILE as LAUNCHES
from tickpath_cloud.launches import Launches
from tickpath_cloud.plan import make_plan

REGION = "eu-west-1"
ME, OTHER = "111111111111", "222222222222"


def pytest_configure(config):
    config.addinivalue_line("markers", "root: needs root, network namespaces and sshd")


def skip(need, why):
    """Visible, and counted with the other languages' skipped tests."""
    if file := os.environ.get("TICKPATH_SKIPPED"):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
        with Path(file).open("a") as out:
            out.write(f"{need}\tcloud::{test}\t{why}\n")
    pytest.skip(f"needs {need}: {why}")


@pytest.fixture(scope="session")
def server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def world(server, monkeypatch):
    """Two accounts: `me` may do what the hunt's policy allows, `admin` and `other` anything."""
    from moto.cloudformation.models import cloudformation_backends
    from moto.cloudfront.models import cloudfront_backends
    from moto.ec2.models import ec2_backends
    from moto.elbv2.models import elbv2_backends
    from moto.logs.models import logs_backends

    for service in (
        ec2_backends, elbv2_backends, cloudfront_backends, cloudformation_backends, logs_backends,
    ):  # fmt: skip
        for backends in service.values():
            backends.clear()
    WORLD.reset()
    WORLD.add_key("admin", ME, None)
    WORLD.add_key("me", ME, policy.policy("hunt"))
    WORLD.add_key("other", OTHER, None)
    use(monkeypatch, server, "me")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *a: 0)
    monkeypatch.setattr("tickpath_cloud.aws.pause", lambda seconds: None)
    monkeypatch.setattr("tickpath_cloud.ec2.pause", lambda seconds: None)
    monkeypatch.setattr("tickpath_cloud.instances.pause", lambda seconds: None)
    return WORLD


LOADER = botocore.loaders.create_loader()  # reads the SDK's large files once


@functools.cache
def session(key):
    inner = botocore.session.get_session()
    inner.register_component("data_loader", LOADER)
    return boto3.Session(key, "fake", region_name=REGION, botocore_session=inner)


def use(monkeypatch, server, key):
    """From now on clients are made with this key; those that exist keep theirs."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session(key))
    for name, value in environment(server.url, key, REGION).items():
        monkeypatch.setenv(name, value)


def admin(server, key="admin"):
    return session(key).client("ec2", endpoint_url=server.url)


def networks(ec2):
    """Ids of an account's networks, of their parts, and of its launch templates."""
    found = [v["VpcId"] for v in ec2.describe_vpcs()["Vpcs"]]
    found += [s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]]
    found += [g["GroupId"] for g in ec2.describe_security_groups()["SecurityGroups"]]
    found += [t["RouteTableId"] for t in ec2.describe_route_tables()["RouteTables"]]
    gateways = ec2.describe_internet_gateways()["InternetGateways"]
    found += [g["InternetGatewayId"] for g in gateways]
    templates = ec2.describe_launch_templates()["LaunchTemplates"]
    return found + [t["LaunchTemplateId"] for t in templates]


@pytest.fixture
def config(world, server):
    subnets = admin(server).describe_subnets()["Subnets"]
    return Config(
        name="test", region=REGION, subnets=(subnets[0]["SubnetId"],), image="ami-12345678",
        target="10.0.0.5:8888", budget=Decimal(20), instance_types=("c6i.large", "c7i.large"),
        ssh_from="198.51.100.7/32", arms=6, keep=1, wave=8, finalists=3, looks=(8, 9),
        fresh_rounds=8, keep_hours=2,
    )  # fmt: skip


@pytest.fixture
def hosts(world):
    if need := missing():
        skip("root", f"{need} is missing")
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    with Hosts(world) as hosts:
        yield hosts


class Hunt:
    """One hunt in the fake, with everything a test may want to reach."""

    def __init__(self, config, world, directory, name="test-1"):
        self.config, self.world = config, world
        self.path = Path(directory) / "hunt.jsonl"
        self.id = name
        self.hosts = SimulatedHosts(world)
        launches = Launches(self.path.with_name(LAUNCHES))
        self.cloud = Ec2(config, self.id, world.now, launches=launches)

    def plan(self):
        return make_plan(self.config, self.id, self.world.now)

    def runner(self, journal, show=lambda state, event: None):
        return Runner(journal, self.cloud, self.hosts, self.world.now, show, self.sleep)

    def sleep(self, seconds):
        """Simulated hosts have the fake's time."""
        getattr(self.hosts, "sleep", time.sleep)(seconds)

    def run(self, show=lambda state, event: None):
        settings = self.plan().settings if not self.path.exists() else None
        with Journal(self.path) as journal:
            return self.runner(journal, show).run(settings)

    def events(self):
        return read(self.path)

    def alive(self):
        """By role."""
        ended = ("terminated",)
        return sorted(
            tag["value"]
            for instance in self.world.instances.values()
            if instance._state.name not in ended
            for tag in instance.get_tags()
            if tag["key"] == "tickpath:role"
        )


@pytest.fixture
def hunt(config, world, tmp_path):
    return Hunt(config, world, tmp_path)
