"""`tickpath cloud share` as it is typed, both sides in one directory."""

import json

import pytest
from test_share import RECEIVER, Two

from tickpath_cloud import cli


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    two = Two(world, server, monkeypatch, tmp_path)
    settings = two.settings
    (tmp_path / "owner.toml").write_text(f"""
name = "venue"
region = "{settings.region}"
vpc = "{settings.vpc}"
subnet = "{settings.subnet}"
route_tables = ["{settings.route_tables[0]}"]
security_group = "{settings.security_group}"
ports = [8888]
pool = "10.64.0.0/16"
""")
    (tmp_path / "receiver.toml").write_text("""
image = "ami-12345678"
instance_type = "c7i.large"
budget = 20
ssh_from = "198.51.100.7/32"
""")
    return two


def said(capsys, two, side, *words, status=0):
    two._use(side)
    assert cli.main(["share", *words]) == status
    return capsys.readouterr()


def test_both_sides_by_command_line(two, tmp_path, capsys):
    grant = ("grant", "--to", RECEIVER)
    plan = said(capsys, two, "owner", *grant).out
    assert "nothing was created" in plan and "10.64.0.0/24" in plan and not two.world.groups
    assert "it holds no secret" in said(capsys, two, "owner", *grant, "--apply").out
    accept = ("accept", f"{RECEIVER}.offer.json")
    plan = said(capsys, two, "receiver", *accept).out
    assert "nothing was created" in plan and not two.world.instances
    assert "`share reconcile` must accept" in said(capsys, two, "receiver", *accept, "--apply").out
    assert f"covered by {RECEIVER}" in said(capsys, two, "owner", "reconcile").out
    assert not two.rules()
    assert f"open: {RECEIVER}" in said(capsys, two, "owner", "reconcile", "--apply").out
    assert "is active" in said(capsys, two, "receiver", *accept, "--apply").out
    assert "active" in said(capsys, two, "owner", "list").out
    audit = [json.loads(line)["event"] for line in (tmp_path / "owner.audit.jsonl").open()]
    assert audit[:4] == ["granted", "bound", "marked", "accepted"]
    assert "AWS::Lambda::Function" in said(capsys, two, "owner", "template").out
    assert "would revoke" in said(capsys, two, "owner", "revoke", RECEIVER).out
    said(capsys, two, "owner", "revoke", RECEIVER, "--apply")
    assert "still there" in said(capsys, two, "owner", "destroy", "--apply", status=2).err
    leave = ("leave", f"{RECEIVER}.offer.json")
    assert "nothing was removed" in said(capsys, two, "receiver", *leave).out
    assert "nothing is left" in said(capsys, two, "receiver", *leave, "--apply").out
    preview = said(capsys, two, "owner", "destroy").out
    assert "placement group" in preview and "instances are in it" not in preview, "it is empty"
    assert "nothing is left" in said(capsys, two, "owner", "destroy", "--apply").out
    assert not two.world.groups


def test_a_damaged_offer_and_a_strange_account(two, tmp_path, capsys):
    (tmp_path / "x.offer.json").write_text("{}")
    error = said(capsys, two, "receiver", "accept", "x.offer.json", status=2).err
    assert "is no offer" in error
    said(capsys, two, "owner", "grant", "--to", RECEIVER, "--apply")
    two.world.accounts["receiver"] = "333333333333"
    wrong = said(capsys, two, "receiver", "accept", f"{RECEIVER}.offer.json", status=2).err
    assert f"the offer is for account {RECEIVER}" in wrong


def test_the_reconciler_repeats_until_ctrl_c(two, tmp_path, capsys, monkeypatch):
    """A rejection ends no round but its own, and between rounds other verbs have the audit."""
    said(capsys, two, "owner", "grant", "--to", RECEIVER, "--apply")
    rounds = []

    def sleep(seconds):
        rounds.append(seconds)
        if len(rounds) == 1:
            two.allow("owner", {"Statement": []})
        elif len(rounds) == 2:
            two.allow("owner", None)
            two.ask("receiver", two.vpc("receiver", "10.64.0.0/24"))
        elif len(rounds) == 4:
            assert cli.main(["share", "revoke", RECEIVER, "--apply"]) == 0
        elif len(rounds) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("tickpath_cloud.share.command.time.sleep", sleep)
    lines = said(capsys, two, "owner", "reconcile", "--apply", "--every", "60").out.splitlines()
    told = [line for line in lines if line.startswith(("open: ", "error: "))]
    assert [told[0], *told[2:]] == ["open: none", f"open: {RECEIVER}", "open: none"]
    assert "error: not allowed to call GetResourceShares" in told[1]
    assert rounds == [60.0] * 5 and not two.rules()
    error = said(capsys, two, "owner", "reconcile", "--apply", "--every", "0", status=2).err
    assert "wait 1 s or more" in error
