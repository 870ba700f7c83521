"""AWS answers lists in pages, and the first may be empty: whatever stands on the next counts."""

from dataclasses import replace

import botocore.client
import pytest
from conftest import REGION, Hunt, admin
from test_share import RECEIVER, Two
from test_sweep import KINDS, left_by_a_receiver

from tickpath_cloud import aws, sweep
from tickpath_cloud.share import reconcile

PAGED_BY_THE_FAKE = ("GetResourceShares", "DescribeSpotPriceHistory")
TOKENS = ("NextToken", "nextToken")


def _token(model):
    shapes = (model.input_shape, model.output_shape)
    if None in shapes:
        return None
    return next((t for t in TOKENS if all(t in shape.members for shape in shapes)), None)


@pytest.fixture
def paged(monkeypatch):
    """Every list call that AWS pages begins with an empty page. Returns the calls so paged."""
    original, seen = botocore.client.BaseClient._make_api_call, set()

    def call(self, name, arguments):
        token = _token(self.meta.service_model.operation_model(name))
        by_id = any(key.endswith("Ids") for key in arguments)  # AWS does not page these
        if token is None or by_id or name in PAGED_BY_THE_FAKE:
            return original(self, name, arguments)
        if token not in arguments:
            seen.add(name)
            lists = [k for k, v in original(self, name, arguments).items() if isinstance(v, list)]
            return {**{key: [] for key in lists}, token: "more"}
        rest = {key: value for key, value in arguments.items() if key != token}
        return original(self, name, rest)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    return seen


def test_a_hunt_and_its_removal_read_all_pages(config, world, tmp_path, paged):
    hunt = Hunt(replace(config, arms=3, finalists=2, looks=(8,), spot=True), world, tmp_path)
    assert len(hunt.run().decided) == 1
    assert {"DescribeInstanceTypes", "GetProducts", "DescribeInstances"} <= paged
    assert hunt.cloud.destroy() == [] and hunt.alive() == [] and not world.groups


def test_the_two_sides_of_a_share_read_all_pages(world, server, monkeypatch, tmp_path, request):
    two = Two(world, server, monkeypatch, tmp_path)
    paged = request.getfixturevalue("paged")
    made = two.grant()
    first = two.receiver(made).accept()
    assert [opened.grant.account for opened in two.owner().reconcile()] == [RECEIVER]
    again = two.receiver(made).accept()
    assert again.instances == first.instances and again.peering == first.peering
    assert {"ListPermissions", "GetResourceShareInvitations", "DescribeSecurityGroups"} <= paged
    assert two.receiver(made).leave() == []


def test_sweep_reads_all_pages(world, server, request):
    left_by_a_receiver(world, server)
    request.getfixturevalue("paged")
    assert [left.kind for left in sweep.find(admin(server), world.now())] == KINDS


def test_the_reconciler_function_retries_as_all_clients_do(world, monkeypatch):
    """It can't import ours: CloudFormation gets its one file."""
    made = {}
    monkeypatch.setattr(
        reconcile.boto3, "client", lambda name, **arguments: made.setdefault(name, arguments)
    )
    monkeypatch.setattr(reconcile.Reconciler, "run", lambda self: [])
    for key in reconcile.Network.__annotations__:
        monkeypatch.setenv(f"TICKPATH_{key.upper()}", "8888" if key == "ports" else REGION)
    assert reconcile.handler({}, None) == {"open": []}
    assert {name: made[name]["config"].retries for name in made} == {
        "ec2": aws.RETRIES, "ram": aws.RETRIES,
    }  # fmt: skip
