"""The owner's reconciler as a CloudFormation template, with its code and its policy."""

from __future__ import annotations

import json
from importlib import resources

from tickpath_cloud.policy import policy
from tickpath_cloud.share.reconcile import Network

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
        "@POLICY@": json.dumps(policy("share-reconcile")),
        "@CODE@": "\n".join(INDENT + line if line else "" for line in code),
    }.items():
        text = text.replace(mark, value)
    return text
