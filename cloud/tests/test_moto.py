"""Each verb against moto as it is: our own fake could be kinder than a stranger's.

moto has no invitations of RAM and no group of another account: the networks of `share` are in
test_moto_share.py, the rest in the fake's tests. The stacks of `tiers` are in test_moto_tiers.py.
"""

import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REGION, Hunt, session, use
from killer import Killed, Killer
from test_policies import Answers

from tickpath_cloud import sweep, tags
from tickpath_cloud.config import Config
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.hunt.run import Block, RoundResult
from tickpath_cloud.journal import Journal
from tickpath_cloud.launches import FILE as LAUNCHES
from tickpath_cloud.launches import Launches
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import Matrix


@pytest.fixture(scope="module")
def moto():
    words = [sys.executable, str(Path(__file__).with_name("moto_alone.py"))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        url = process.stdout.readline().decode().strip()
        ec2 = session("moto").client("ec2", endpoint_url=url)
        images = ec2.describe_images(Owners=["amazon"])["Images"]
        image = next(i["ImageId"] for i in images if keeps_its_volume(i))
        yield SimpleNamespace(url=url, image=image)
        process.stdin.close()


def keeps_its_volume(image):
    ebs = [m["Ebs"] for m in image["BlockDeviceMappings"] if "Ebs" in m]
    return ebs and not ebs[0]["DeleteOnTermination"] and ebs[0]["VolumeType"] != "io1"


class Clock:
    def __init__(self):
        self.offset = 0.0

    def now(self):
        return time.time() + self.offset

    def advance(self, seconds):
        self.offset += seconds


class Hosts:
    """Answers for every arm that runs or not: hosts are not what moto judges."""

    def __init__(self, clock):
        self.clock = clock

    def settle(self, arms):
        return arms, {}

    def sleep(self, seconds):
        self.clock.advance(seconds)

    def measure(self, action):
        self.clock.advance(10)
        blocks = {
            arm: Block(1e5 + 1e3 * number + 10 * action.number, None, 100)
            for number, arm in enumerate(sorted(action.arms))
        }
        return RoundResult((1e5, 1e5), blocks, {})

    def keep(self, arms, seconds):
        return {}


class Site:
    """Hunts in one account of moto. Each has a name of its own, and all leave nothing."""

    def __init__(self, moto, monkeypatch, path):
        use(monkeypatch, moto, "moto")
        self.ec2 = session("moto").client("ec2", endpoint_url=moto.url)
        subnet = self.ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        self.config = Config(
            name="test", region=REGION, subnets=(subnet,), image=moto.image,
            target="10.0.0.5:8888", budget=Decimal(20), instance_types=("c6i.large",),
            ssh_from="198.51.100.7/32", arms=3, keep=1, wave=8, finalists=2, looks=(6,),
            fresh_rounds=6, keep_hours=2, spot=True,
        )  # fmt: skip
        self.clock, self.path = Clock(), path

    def hunt(self, name):
        directory = self.path / name
        directory.mkdir(exist_ok=True)
        hunt = Hunt(self.config, self.clock, directory, name)
        hunt.hosts = Hosts(self.clock)
        return hunt

    def left(self):
        """Whatever costs money, or would be in the way of the next hunt."""
        live = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopped"]}]
        found = [
            i["InstanceId"]
            for r in self.ec2.describe_instances(Filters=live)["Reservations"]
            for i in r["Instances"]
        ]
        ours = [{"Name": "tag-key", "Values": [tags.HUNT]}]
        found += [v["VolumeId"] for v in self.ec2.describe_volumes()["Volumes"]]
        groups = self.ec2.describe_security_groups(Filters=ours)["SecurityGroups"]
        found += [group["GroupId"] for group in groups]
        found += [
            g["GroupName"] for g in self.ec2.describe_placement_groups()["PlacementGroups"]
        ]  # fmt: skip
        return found


@pytest.fixture
def site(moto, monkeypatch, tmp_path):
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *a: 0)
    for module in ("aws", "ec2", "instances"):
        monkeypatch.setattr(f"tickpath_cloud.{module}.pause", lambda seconds: None)
    site = Site(moto, monkeypatch, tmp_path)
    yield site
    assert site.left() == []


def test_a_hunt_keeps_one_place_and_destroy_leaves_nothing(site):
    hunt = site.hunt("whole")
    state = hunt.run()
    assert state.decided == ["arm-01"] and hunt.cloud.gone(["arm-01"]) == []
    assert hunt.cloud.addresses().keys() == {"arm-01"}
    assert hunt.cloud.destroy() == []


def test_wherever_a_hunt_is_killed_destroy_leaves_nothing(site, monkeypatch):
    """Before and after each request that changes something, in a hunt from plan to end."""
    site.config = replace(site.config, arms=2)
    hunts = []

    def act(kills):
        hunts.append(site.hunt(f"killed-{kills}"))
        hunts[-1].run()

    def after(kills):
        hunt = hunts[-1]
        fresh = Ec2(
            site.config, hunt.id, site.clock.now, launches=Launches(hunt.cloud.launches.path)
        )
        assert fresh.destroy() == [] and site.left() == [], f"kill {kills}"

    assert Killer(monkeypatch).everywhere(act, after) >= 24 and hunts[-1].cloud.destroy() == []


def test_wherever_a_matrix_is_killed_destroy_leaves_nothing(site, monkeypatch):
    asked = Matrix(images={"one": site.config.image}, tunings={"none": ""}, pair=True)

    def act(kills):
        name, directory = f"matrix-{kills}", site.path / f"matrix-{kills}"
        directory.mkdir()
        with Journal(directory / "matrix.jsonl") as journal:
            matrix.measure(site.config, asked, name, Answers(), site.clock.now, journal)

    def after(kills):
        name, launches = f"matrix-{kills}", Launches(site.path / f"matrix-{kills}" / LAUNCHES)
        cloud = Ec2(site.config, name, site.clock.now, launches=launches)
        assert cloud.destroy() == [] and site.left() == [], f"kill {kills}"

    assert Killer(monkeypatch).everywhere(act, after) >= 16


def test_a_killed_hunt_goes_on_and_launches_nothing_twice(site, monkeypatch):
    killer, lives = Killer(monkeypatch), 0
    while True:
        lives += 1
        # Every life comes two requests further than the one before.
        killer.at, killer.count = 4 + lives % 2, 0
        try:
            state = site.hunt("resumed").run()
            break
        except Killed:
            continue
    killer.at = 0
    cloud = site.hunt("resumed").cloud
    assert state.decided == ["arm-01"] and lives > 5
    assert cloud.launches.count("arm-01") == 1
    assert cloud.destroy() == []


def test_a_matrix_of_pairs_leaves_nothing(site):
    asked = Matrix(images={"one": site.config.image}, tunings={"none": ""}, pair=True)
    with Journal(site.path / "matrix.jsonl") as journal:
        rows = matrix.measure(site.config, asked, "pairs", Answers(), site.clock.now, journal)
    assert [row.why for row in rows] == ["no record"]


def test_sweep_removes_what_a_hunt_left(site):
    site.hunt("left").run()
    site.clock.advance(24 * 3600)
    for _ in range(2):  # groups are free only when their instances have ended
        found = [left for left in sweep.find(site.ec2, site.clock.now()) if left.orphan]
        assert found and sweep.remove(site.ec2, found) == []


@pytest.mark.parametrize("unknown", ["SubnetIds", "ImageIds"])
def test_names_that_are_wrong_end_the_plan(site, unknown):
    wrong = {"SubnetIds": {"subnets": ("subnet-0",)}, "ImageIds": {"image": "ami-0"}}[unknown]
    site.config = replace(site.config, **wrong)
    with pytest.raises(Exception, match="Invalid(SubnetID|AMIID)"):
        site.hunt("wrong").plan()
