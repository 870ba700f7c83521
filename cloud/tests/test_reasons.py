"""Each of AWS's errors at each step: success, or an error that says what runs; never a leak."""

from dataclasses import replace
from decimal import Decimal

import pytest
from botocore.retries import standard
from conftest import Hunt, admin, use
from test_share import Two

from fake_aws.server import NO_XML, STATUS
from tickpath_cloud import cli, ending
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.hunt.run import NoCapacity
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.reasons import TABLE, Then, reason

CODES = [
    "InvalidPlacementGroup.Unknown", "InvalidGroup.NotFound", "InvalidInstanceID.NotFound",
    "DependencyViolation", "InvalidPlacementGroup.InUse", "RequestLimitExceeded", "InternalError",
    "Unavailable", "InsufficientFreeAddressesInSubnet", "InsufficientInstanceCapacity",
    "UnfulfillableCapacity", "ReservationCapacityExceeded", "VcpuLimitExceeded", "Unsupported",
    "ResourceLimitExceeded", "PendingVerification", "OptInRequired", "ExpiredToken",
    "RequestExpired", NO_XML, "SomethingNew",
]  # fmt: skip
# One for each pair of reactions in the table, an answer without XML, and a code of next year's.
KINDS = [*sorted({(r.make, r.end): code for code, r in TABLE.items()}.values()), NO_XML, "New"]
# For verbs that know no other type or zone: they ask again, take it for gone, or give up.
FEW = [
    *sorted({(r.make is Then.RETRY, r.end if r.end in (Then.RETRY, Then.GONE) else None): code
             for code, r in TABLE.items()}.values()),
    NO_XML,
]  # fmt: skip
MAKE = [
    "DescribeSubnets", "CreatePlacementGroup", "DescribeSecurityGroups", "CreateSecurityGroup",
    "AuthorizeSecurityGroupIngress", "RunInstances", "CreateTags", "DescribeInstances",
]  # fmt: skip
CANDIDATE = Candidate("c6i.large", "on-demand", Decimal("0.085"))
END = ["TerminateInstances", "DeletePlacementGroup", "DeleteSecurityGroup"]


def succeeds(code, then):
    return code == NO_XML or then is Then.RETRY


@pytest.mark.parametrize("code", CODES)
def test_making_a_probe(hunt, code):
    then = reason(code).make
    for number, action in enumerate(MAKE):
        hunt.world.errors[action] = [code]
        hunt.cloud._subnets = hunt.cloud._group = None
        try:
            hunt.cloud.launch(settings(hunt), launch(hunt, number))
            hunt.cloud.keep(["arm-01"], 3600)
            assert succeeds(code, then) or then is Then.NEXT_ZONE, action
        except NoCapacity:
            assert then in (Then.NEXT_TYPE, Then.NEXT_ZONE), action
        except Rejected as rejected:
            assert not succeeds(code, then) and code in str(rejected), action
        assert hunt.world.errors[action] == [], f"the step {action} was not taken"
        assert hunt.cloud.destroy() == [] and hunt.alive() == [] and not hunt.world.groups


def sdk():
    """Codes that botocore itself takes for throttling or a passing fault."""
    throttled = standard.ThrottledRetryableChecker._THROTTLED_ERROR_CODES
    passing = standard.TransientRetryableChecker._TRANSIENT_ERROR_CODES
    # CloudFormation and CloudWatch Logs say this one of a quota.
    return sorted({*throttled, *passing} - {"LimitExceededException"})


def test_all_that_the_sdk_repeats_is_asked_again_for_longer(hunt):
    """The SDK gives up after three times within a second or two."""
    assert {"EC2ThrottledException", "SlowDown", "PriorRequestNotComplete"} <= set(sdk())
    for number, code in enumerate(sdk()):
        assert reason(code).make is reason(code).end is Then.RETRY, code
        hunt.world.errors["RunInstances"] = [code] * 5
        hunt.world.errors["TerminateInstances"] = [code] * 5
        hunt.cloud.launch(settings(hunt), launch(hunt, number))
        assert hunt.cloud.destroy() == [] and hunt.alive() == [], code
        assert not any(hunt.world.errors.values()), code


def test_a_status_decides_only_where_the_code_is_unknown(hunt, monkeypatch):
    """EC2 says 500 where it has no capacity; that was taken for a fault, and no type was next."""
    monkeypatch.setitem(STATUS, "Strange", 429)
    hunt.world.errors["RunInstances"] = ["Strange"] * 5
    hunt.cloud.launch(settings(hunt), launch(hunt))
    assert hunt.cloud.destroy() == [] and hunt.world.errors["RunInstances"] == []
    assert STATUS["InsufficientInstanceCapacity"] == 500
    hunt.world.errors["RunInstances"] = ["InsufficientInstanceCapacity"]
    with pytest.raises(NoCapacity):
        hunt.cloud.launch(settings(hunt), launch(hunt, 1))
    sent = [call for call in hunt.world.calls if call == "ec2:RunInstances"]
    assert len(sent) < 12, "the SDK's three, and none of ours"


@pytest.mark.parametrize("code", ["VpcLimitExceeded", "LimitExceededException", "QuotaExceeded"])
def test_quotas_are_said_whatever_they_are_of(hunt, code):
    hunt.world.errors["CreateSecurityGroup"] = [code] * 3  # the SDK repeats some
    with pytest.raises(Rejected, match="a quota of this account is reached") as raised:
        hunt.cloud.launch(settings(hunt), launch(hunt))
    assert raised.value.code == code and not isinstance(raised.value, NoCapacity)


@pytest.mark.parametrize("code", CODES)
def test_removing_a_probe(hunt, code):
    then = reason(code).end
    for number, action in enumerate(END):
        hunt.cloud.launch(settings(hunt), launch(hunt, number))
        hunt.world.errors[action] = [code]
        try:
            left = hunt.cloud.destroy()
            assert succeeds(code, then) or then is Then.GONE, action
            # A lagging list hides the resource only from the call that failed.
            assert left == [] or then is Then.GONE, action
        except Rejected as rejected:
            assert not succeeds(code, then) and code in str(rejected), action
            assert action != "TerminateInstances" or len(hunt.cloud.launches.prices()) == 1
        assert hunt.cloud.destroy() == [] and hunt.alive() == [] and not hunt.world.groups


@pytest.mark.parametrize("code", FEW)
def test_accepting_and_leaving_a_share(two, code):
    made = two.grant()
    side = two.receiver(made)
    for action in ("DescribeAvailabilityZones", "CreateVpc", "RunInstances", "DescribeInstances"):
        two.world.errors[action] = [code]
        try:
            with ending.told(side.launches, "LEAVE", "", side.leave):
                assert len(side.accept().instances) == 2
            assert succeeds(code, reason(code).make), action
        except CloudError as error:
            assert not succeeds(code, reason(code).make), action
            assert "remove everything: LEAVE" in str(error), action
        two.world.errors.clear()
        assert side.leave() == [] and side.launches.prices() == {}, action


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    return Two(world, server, monkeypatch, tmp_path)


@pytest.mark.parametrize("code", FEW)
def test_deploying_tiers(world, server, monkeypatch, capsys, code):
    action = "CreateStack"
    monkeypatch.setattr("tickpath_cloud.tiers.stacks.time.sleep", lambda seconds: None)
    use(monkeypatch, server, "admin")
    world.errors[action] = [code]
    asked = ["Image=ami-12345678", "Zone=eu-west-1a", "SecondZone=eu-west-1b"]
    status = cli.main([
        "tiers", "deploy", "exchange", "c", "--region", "eu-west-1", "--budget", "20", "--apply",
        *(word for pair in asked for word in ("--set", pair)),
    ])  # fmt: skip
    said = capsys.readouterr().err
    assert (status == 0) is succeeds(code, reason(code).make), said
    assert status == 0 or "tiers destroy c --region eu-west-1 --apply" in said
    assert "Traceback" not in said
    assert cli.main(["tiers", "destroy", "c", "--region", "eu-west-1", "--apply"]) == 0


@pytest.mark.parametrize("code", ["OptInRequired", "ExpiredToken", "InternalError", "Unknown"])
def test_an_error_that_ends_a_hunt_says_what_runs(hunt, code):
    hunt.cloud.launch(settings(hunt), launch(hunt))
    with (
        pytest.raises(CloudError) as raised,
        ending.told(hunt.cloud.launches, "DESTROY", "RESUME", hunt.cloud.destroy),
    ):
        raise Rejected(code, "no")
    said = str(raised.value)
    assert "remove everything: DESTROY" in said and "continue: RESUME" in said
    if code == "OptInRequired":
        assert "everything was removed again" in said and hunt.alive() == []
    else:
        assert "1 instances may run" in said and "$0.09 an hour" in said
        assert hunt.alive() == ["arm-01"]


def test_a_fault_of_the_program_is_no_raw_traceback(monkeypatch, capsys):
    monkeypatch.setattr("tickpath_cloud.cli.policy", lambda verb: 1 / 0)
    assert cli.main(["policy", "hunt"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ZeroDivisionError: division by zero") and ".traceback" in said


def test_errors_that_stay_end_the_call_after_the_limit(hunt):
    hunt.world.errors["RunInstances"] = ["Unavailable"] * 1000
    with pytest.raises(Rejected, match="Unavailable"):
        hunt.cloud.launch(settings(hunt), launch(hunt))
    assert 10 < 1000 - len(hunt.world.errors["RunInstances"]) < 60


@pytest.mark.parametrize("action", ["CreatePlacementGroup", "CreateSecurityGroup", "RunInstances"])
def test_an_answer_that_is_lost_makes_nothing_twice(hunt, action):
    hunt.world.lost[action] = 1
    hunt.cloud.launch(settings(hunt), launch(hunt))
    assert hunt.world.lost[action] == 0 and len(hunt.world.instances) == 1
    assert hunt.cloud.destroy() == []


def test_a_subnet_without_addresses_gives_way_to_another_zone(config, world, tmp_path, server):
    subnets = [s["SubnetId"] for s in admin(server).describe_subnets()["Subnets"][:2]]
    hunt = Hunt(replace(config, subnets=tuple(subnets)), world, tmp_path)
    world.errors["RunInstances"] = ["InsufficientFreeAddressesInSubnet"]
    made = hunt.cloud.launch(settings(hunt), launch(hunt))
    assert made.zone != zone(hunt)


def test_no_capacity_and_not_offered_are_two_messages(hunt):
    said = {}
    for code in ("InsufficientInstanceCapacity", "Unsupported", "VcpuLimitExceeded"):
        hunt.world.errors["RunInstances"] = [code]
        with pytest.raises(NoCapacity) as raised:
            hunt.cloud.launch(settings(hunt), launch(hunt))
        said[code] = str(raised.value)
    assert "no capacity" in said["InsufficientInstanceCapacity"]
    assert "does not offer" in said["Unsupported"] and "quota" in said["VcpuLimitExceeded"]


def test_every_code_of_the_list_has_its_line():
    assert set(CODES) - {NO_XML, "SomethingNew"} <= set(TABLE)
    assert reason("SomethingNew").make is Then.KEEP


def launch(hunt, attempt=0):
    return Launch("arm-01", CANDIDATE, zone(hunt), attempt)


def settings(hunt):
    return Settings(hunt=hunt.id, arms=2, candidates=(CANDIDATE,), budget=Decimal(9), keep=1)


def zone(hunt):
    return hunt.cloud.subnets()[0]["AvailabilityZoneId"]
