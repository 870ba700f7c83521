"""One code of each kind at each step of the verbs that test_reasons.py does not go through.

A step ends in success or in an error with AWS's code, and a repeated verb finishes what it began.
"""

import functools
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import REGION, use
from test_matrix import ONE, Hosts
from test_reasons import FEW, KINDS
from test_share import Two

from fake_aws.server import NO_XML
from tickpath_cloud import cli
from tickpath_cloud.errors import CloudError
from tickpath_cloud.journal import Journal
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import cells
from tickpath_cloud.reasons import Reason, Then, reason
from tickpath_cloud.share import reconcile


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    return Two(world, server, monkeypatch, tmp_path)


def tried(world, action, code, verb):
    """The error's text, or "" after success."""
    world.errors[action] = [code]
    try:
        verb()
        said = ""
    except CloudError as error:
        said = str(error)
    assert world.errors.pop(action) == [], f"the step {action} was not taken"
    # "It is gone" may be believed, and then be contradicted by what follows.
    gone = reason(code).end is Then.GONE
    assert not said or code == NO_XML or gone or code in said, (action, said)
    return said


def must_succeed(code, *, ends=False):
    known = reason(code) if code != NO_XML else Reason(Then.RETRY, Then.RETRY)
    return (known.end if ends else known.make) is Then.RETRY


@pytest.mark.parametrize("code", FEW)
def test_granting(two, code):
    for action in ("DescribeRouteTables", "GetResourceShares", "CreateResourceShare"):
        said = tried(two.world, action, code, two.grant)
        assert not (must_succeed(code) and said), action
        assert two.grant().grant and len(two.owner().grants()) == 1, action
        assert two.owner().revoke(two.grant().grant) is None


@pytest.mark.parametrize("code", FEW)
def test_reconciling(two, code):
    """Whatever happened at any step, the next run opens what is granted, once."""
    steps = (
        "DescribeVpcPeeringConnections", "TagResource", "CreateTags", "AcceptVpcPeeringConnection",
        "AuthorizeSecurityGroupIngress", "CreateRoute",
    )  # fmt: skip
    for number, action in enumerate(steps):
        made = two.grant(name=f"g{number}")
        two.ask("receiver", two.vpc("receiver", made.cidr))
        said = tried(two.world, action, code, two.owner().reconcile)
        # The reconciler takes these for the work of an earlier run, wherever they come.
        known = code in reconcile.DONE_ALREADY
        assert known or not (must_succeed(code) and said), action
        assert [o.grant.name for o in two.owner().reconcile()] == [made.grant], action
        assert (made.cidr, 8888) in two.rules() and made.cidr in two.routes(), action
        two.owner().revoke(made.grant)
        assert two.rules() == [] and two.routes() == [], action


@pytest.mark.parametrize("code", FEW)
def test_leaving(two, code):
    made = two.grant()
    steps = (
        "DescribeInstances", "TerminateInstances", "DeleteVpcPeeringConnection",
        "DeleteSecurityGroup", "DetachInternetGateway", "DeleteInternetGateway", "DeleteSubnet",
        "DeleteVpc",
    )  # fmt: skip
    for action in steps:
        side = two.receiver(made)
        side.accept()
        said = tried(two.world, action, code, side.leave)
        ends = not action.startswith("Describe")
        assert not (must_succeed(code, ends=ends) and said), (action, said)
        assert two.receiver(made).leave() == [], action


def measured(config, world, path, action):
    """A matrix that is begun, or resumed."""
    with Journal(path / action / "matrix.jsonl") as journal:
        hosts = Hosts(cells(config, ONE))
        return matrix.measure(config, ONE, action.lower(), hosts, world.now, journal)


@pytest.mark.parametrize("code", KINDS)
def test_a_matrix(config, world, server, monkeypatch, tmp_path, code):
    """An error that a person can mend keeps the hosts; the resumed matrix ends them."""
    use(monkeypatch, server, "admin")
    config = replace(config, instance_types=("c6i.large", "c7i.metal-24xl"), budget=Decimal(100))
    steps = (
        "DescribeImages", "DescribeInstanceTypes", "CreateSecurityGroup", "RunInstances",
        "TerminateInstances",
    )  # fmt: skip
    for action in steps:
        run = functools.partial(measured, config, world, tmp_path, action)
        tried(world, action, code, run)
        # Resumed after everything was removed, it launched again and removed nothing.
        with suppress(CloudError):
            run()
        assert all(i._state.name == "terminated" for i in world.instances.values()), action
        assert not world.groups


@pytest.mark.parametrize("code", FEW)
def test_destroying_tiers(world, server, monkeypatch, capsys, code):
    monkeypatch.setattr("tickpath_cloud.tiers.stacks.time.sleep", lambda seconds: None)
    use(monkeypatch, server, "admin")
    asked = ["Image=ami-12345678", "Zone=eu-west-1a", "SecondZone=eu-west-1b"]
    where = ["--region", REGION, "--apply"]
    deploy = ["tiers", "deploy", "exchange", "c", "--budget", "20", *where]
    assert cli.main(deploy + [word for pair in asked for word in ("--set", pair)]) == 0
    for action in ("DescribeStacks", "DeleteStack"):
        world.errors[action] = [code]
        status = cli.main(["tiers", "destroy", "c", *where])
        said = capsys.readouterr().err
        assert world.errors.pop(action) == [] and "Traceback" not in said
        assert status == 0 or code in said
        if status == 0:
            break
    assert cli.main(["tiers", "destroy", "c", *where]) == 0
