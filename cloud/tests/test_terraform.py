"""The Terraform modules: their structure, and that they say what the control plane says.

`terraform validate` needs AWS's provider from its registry, which tests don't ask. So names of
arguments are not checked against it; everything that the two sides must agree about is.
"""

import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import hcl2
import pytest
from conftest import skip

from tickpath_cloud import instances, tags
from tickpath_cloud.share import reconcile
from tickpath_cloud.share.offer import SCHEMA, Offer
from tickpath_cloud.share.owner import NEEDED

MODULES = Path(__file__).parents[2] / "deploy" / "terraform"
SIDES = ("owner", "receiver")
OFFER = {field.name for field in fields(Offer)}


def bare(value):
    """Without the quotes of strings, which the parser keeps."""
    if isinstance(value, dict):
        return {bare(key): bare(each) for key, each in value.items()}
    if isinstance(value, list):
        return [bare(each) for each in value]
    return value.strip('"') if isinstance(value, str) else value


def text(side):
    return "\n".join(path.read_text() for path in sorted((MODULES / side).glob("*.tf")))


def blocks(side, kind):
    """Bodies by label: of a resource `type.name`."""
    found = {}
    for block in bare(hcl2.loads(text(side))).get(kind, []):
        labels = []
        while len(names := [key for key in block if key != "__is_block__"]) == 1 and isinstance(
            block[names[0]], dict
        ):
            labels.append(names[0])
            block = block[names[0]]
            if len(labels) == (2 if kind in ("resource", "data") else 1):
                break
        found[".".join(labels)] = block
    return found


@pytest.mark.parametrize("side", SIDES)
def test_every_name_that_is_used_exists_and_every_variable_is_used(side):
    said = text(side)
    variables = blocks(side, "variable")
    used = set(re.findall(r"\bvar\.(\w+)", said))
    assert used == set(variables)
    assert all(body.get("description") and body.get("type") for body in variables.values())
    resources = set(blocks(side, "resource"))
    asked = set(re.findall(r"(?<![.\w])(aws_\w+\.\w+)", re.sub(r"data\.aws_\w+\.\w+", "", said)))
    assert asked <= resources
    data = {name.removeprefix("data.") for name in re.findall(r"data\.aws_\w+\.\w+", said)}
    assert data == set(blocks(side, "data"))


def test_the_offer_has_what_the_receiver_reads():
    said = text("owner").split("jsonencode({")[1].split("})")[0]
    given = set(re.findall(r"^ +(\w+) +=", said, re.MULTILINE))
    assert given == {*OFFER, "schema"} and re.search(rf"schema +\= {SCHEMA}\n", said)
    read = set(re.findall(r"\blocal\.offer\.(\w+)", text("receiver")))
    assert read <= OFFER and {"cidr", "group", "zone_id", "owner_cidrs", "feed_ports"} <= read
    actions = blocks("owner", "variable")["actions"]["default"]
    assert actions == list(NEEDED)


def test_a_grant_has_the_tags_that_the_reconciler_reads():
    share = blocks("owner", "resource")["aws_ram_resource_share.grant"]
    found = set(re.findall(r'"?(tickpath:\w+)"?', json.dumps(share["tags"])))
    assert found == {
        reconcile.GRANT, reconcile.PRINCIPAL, reconcile.ACCOUNT, reconcile.CIDR, reconcile.EXPIRES,
        reconcile.VPC,
    }  # fmt: skip
    group = blocks("owner", "resource")["aws_placement_group.shared"]
    assert group["strategy"] == "cluster" and reconcile.GRANT in group["tags"]


def test_whatever_a_receiver_makes_has_the_tags_that_sweep_reads():
    [held] = bare(hcl2.loads(text("receiver")))["locals"]
    assert {key for key in held["tags"] if ":" in key} == {tags.HUNT, tags.ROLE, tags.EXPIRES}
    untagged = {
        "aws_ram_resource_share_accepter.invitation", "aws_route_table_association.own",
        "aws_route.exchange", "aws_route.world", "aws_vpc_security_group_ingress_rule.ssh",
        "aws_vpc_security_group_ingress_rule.feed", "aws_vpc_security_group_egress_rule.all",
    }  # fmt: skip
    made = blocks("receiver", "resource")
    assert {name for name, body in made.items() if "local.tags" not in str(body.get("tags"))} == (
        untagged
    )


def test_instances_end_themselves_and_ask_metadata_with_a_token():
    launch = blocks("receiver", "resource")["aws_launch_template.own"]
    assert launch["instance_initiated_shutdown_behavior"] == "terminate"
    assert launch["metadata_options"][0]["http_tokens"] == "required"
    assert "local.offer.group" in launch["placement"][0]["group_id"]
    script = (MODULES / "receiver" / "end.sh.tftpl").read_text()
    assert script == instances.timer("${minutes}")
    assert "%{" not in script and script.count("${") == 1, "a template reads these"
    assert "floor(60 * var.ttl_hours)" in launch["user_data"]


def test_nobody_else_comes_in():
    rules = {n: b for n, b in blocks("receiver", "resource").items() if "ingress" in n}
    assert {name: str(rule["cidr_ipv4"]) for name, rule in rules.items()} == {
        "aws_vpc_security_group_ingress_rule.ssh": "${var.ssh_from}",
        "aws_vpc_security_group_ingress_rule.feed": "${each.value[1]}",
    }
    assert 'endswith(var.ssh_from, "/0")' in text("receiver")


def test_terraform_itself_reads_the_modules():
    if shutil.which("terraform") is None:
        skip("terraform", "not installed")
    words = ["terraform", "fmt", "-check", "-recursive", str(MODULES)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
