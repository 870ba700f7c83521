"""A launch that is repeated is the same launch, whatever the clock says meanwhile."""

import json
from dataclasses import replace
from decimal import Decimal

import botocore.client
import pytest
from conftest import Hunt

from tickpath_cloud import instances, journal
from tickpath_cloud.ansible import AnsibleHosts
from tickpath_cloud.errors import Rejected
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.launches import TOKEN_MAX, Launches, token


class Killed(BaseException):
    """Not an Exception: nothing in the program may catch it."""


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr("botocore.waiter.time.sleep", lambda seconds: None)
    monkeypatch.setattr("tickpath_cloud.instances.POLL_SECONDS", 1)


def kill_once(monkeypatch, operation, after):
    """The controller dies before AWS's answer to the first such call arrives, or before it asks."""
    original, killed = botocore.client.BaseClient._make_api_call, []

    def call(self, name, arguments):
        if name == operation and "DryRun" not in arguments and not killed:
            killed.append(name)
            if after:
                original(self, name, arguments)
            raise Killed
        return original(self, name, arguments)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    return killed


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_hunt_is_resumed_although_its_expiry_has_moved(hunt, monkeypatch, after):
    kill_once(monkeypatch, "RunInstances", after)
    with pytest.raises(Killed):
        hunt.run()
    hunt.world.advance(90)
    again = Hunt(hunt.config, hunt.world, hunt.path.parent)
    assert len(again.run().decided) == 1
    assert len(hunt.world.instances) == 7, "no instance was launched twice"


def test_without_the_log_aws_rejects_the_other_parameters(hunt, monkeypatch):
    """The fake compares all of them, or the test before could not fail."""
    kill_once(monkeypatch, "RunInstances", after=True)
    with pytest.raises(Killed):
        hunt.run()
    hunt.world.advance(90)
    hunt.path.with_name("launches.jsonl").unlink()
    with pytest.raises(Rejected, match="IdempotentParameterMismatch"):
        Hunt(hunt.config, hunt.world, hunt.path.parent).run()


def test_the_log_has_the_whole_request_before_it_is_sent(hunt, monkeypatch):
    kill_once(monkeypatch, "RunInstances", after=False)
    with pytest.raises(Killed):
        hunt.run()
    [event] = journal.read(hunt.path.with_name("launches.jsonl"))
    kinds = {spec["ResourceType"] for spec in event["arguments"]["TagSpecifications"]}
    assert event["event"] == "request" and kinds == {"instance", "volume", "network-interface"}
    assert event["arguments"]["ClientToken"] == event["token"] and not hunt.world.instances


def test_a_torn_line_of_the_log_is_dropped(tmp_path):
    path = tmp_path / "launches.jsonl"
    Launches(path).request("a", "arm-01", Decimal(1), lambda: {"ImageId": "ami-1"})
    with path.open("ab") as file:
        file.write(json.dumps({"event": "launched"}).encode()[:9])
    resumed = Launches(path)
    assert resumed.pending("arm-01") == "a"
    resumed.launched("a", ["i-1"], 1.0)
    assert Launches(path).prices() == {"i-1": Decimal(1)}
    resumed.ended(["i-1", "i-2"])
    assert Launches(path).ids() == [] and Launches(path).count("arm-01") == 1


def test_a_rejected_request_is_made_anew(tmp_path):
    launches = Launches(tmp_path / "launches.jsonl")
    launches.request("a", "arm-01", Decimal(1), lambda: {"ImageId": "ami-1"})
    launches.rejected("a")
    made = launches.request("a", "arm-01", Decimal(1), lambda: {"ImageId": "ami-2"})
    assert made == {"ImageId": "ami-2", "ClientToken": "a"}
    assert launches.request("a", "arm-01", Decimal(1), dict) == made


def test_a_token_is_as_short_as_ec2_takes_it():
    long = token("a" * 60, "arm-01", 0)
    assert token("hunt", "arm-01", 0) == "hunt-arm-01-0"
    assert len(long) == TOKEN_MAX and long != token("a" * 60, "arm-01", 1)


def test_waiting_passes_over_what_has_ended(hunt, no_pause):
    hunt.run()
    aws = hunt.cloud.ec2
    ids = [instance.id for instance in hunt.world.instances.values()]
    live = [i["InstanceId"] for i in instances.instances(aws, instances.of_hunt(hunt.id))]
    assert instances.wait_until_running(aws, ids) == live and len(live) == 1


def test_hosts_have_the_address_that_was_asked_for_once_they_run(hunt, no_pause):
    hunt.world.lag_describes = 3
    zone = hunt.cloud.subnets()[0]["AvailabilityZoneId"]
    planned = hunt.plan().settings
    hunt.cloud.launch(planned, Launch("arm-01", planned.candidates[0], zone, 0))
    assert hunt.cloud.addresses() == {}, "AWS does not list it yet"
    hunt.cloud.wait_for(["arm-01"])
    [instance] = hunt.world.instances.values()
    assert hunt.cloud.addresses() == {"arm-01": instance.public_ip}
    hunt.cloud.config = replace(hunt.config, reach="private")
    assert hunt.cloud.addresses() == {"arm-01": instance.private_ip}


def test_a_host_without_a_public_address_is_told_so(hunt, no_pause, monkeypatch, tmp_path):
    monkeypatch.setattr(hunt.cloud, "wait_for", lambda arms: None)
    hosts = AnsibleHosts(replace(hunt.config, tickpath="true"), hunt.cloud, tmp_path)
    monkeypatch.setattr(hosts, "_play", lambda name, groups, variables: {})
    ready, failed = hosts.settle(["arm-01"])
    assert ready == [] and "reach" in failed["arm-01"]


def test_destroy_ends_what_aws_does_not_list_yet(hunt, no_pause):
    planned = hunt.plan().settings
    zone = hunt.cloud.subnets()[0]["AvailabilityZoneId"]
    hunt.world.lag_describes = 1000
    hunt.cloud.launch(planned, Launch("arm-01", planned.candidates[0], zone, 0))
    assert hunt.cloud.destroy() == [] and hunt.alive() == []
