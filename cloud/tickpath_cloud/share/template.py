"""The owner's reconciler as a CloudFormation template, with its code and its policy."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from tickpath_cloud.policy import policy
from tickpath_cloud.share.reconcile import Network

_OF_EC2 = "arn:aws:ec2:*:*:"
# The template knows which resources are meant: the policy names them alone. A join's delimiter may
# not be a function, so the region and the account stay open.
_NARROW: dict[str, dict[str, Any]] = {
    f"{_OF_EC2}vpc/*": {"Fn::Sub": f"{_OF_EC2}vpc/${{Vpc}}"},
    f"{_OF_EC2}security-group/*": {"Fn::Sub": f"{_OF_EC2}security-group/${{SecurityGroup}}"},
    f"{_OF_EC2}route-table/*": {"Fn::Split": [",", {"Fn::Join": ["", [
        f"{_OF_EC2}route-table/",
        {"Fn::Join": [f",{_OF_EC2}route-table/", {"Ref": "RouteTables"}]},
    ]]}]},
}  # fmt: skip
INDENT = " " * 10


def template(network: Network) -> str:
    ours = resources.files("tickpath_cloud") / "share"
    code = (ours / "reconcile.py").read_text().splitlines()
    text = (ours / "reconciler.yaml").read_text()
    for mark, value in {
        "@VPC@": network.vpc,
        "@ROUTE_TABLES@": ",".join(network.route_tables),
        "@SECURITY_GROUP@": network.security_group,
        "@PORTS@": ",".join(map(str, network.ports)),
        "@POOL@": network.pool,
        "@POLICY@": json.dumps(_narrowed(policy("share-reconcile"))),
        "@CODE@": "\n".join(INDENT + line if line else "" for line in code),
    }.items():
        text = text.replace(mark, value)
    return text


def _narrowed(document: dict[str, Any]) -> dict[str, Any]:
    statements = [
        {**statement, "Resource": _named(statement["Resource"])}
        for statement in document["Statement"]
    ]
    return {**document, "Statement": statements}


def _named(found: list[str]) -> Any:
    """A list of route tables stands alone in its statement, since the function is a list."""
    narrow = [_NARROW.get(arn, arn) for arn in found]
    return narrow[0] if found == [f"{_OF_EC2}route-table/*"] else narrow
