"""The price of a stack by the hour besides its hosts, by AWS's public price list."""

from __future__ import annotations

from tickpath_cloud.prices import Item
from tickpath_cloud.tiers import zones
from tickpath_cloud.tiers.hosts import IGMP, STATIC, TEMPLATE

_WITH = {
    "ClientPrincipal": Item(
        "network load balancer", "AWSELB", "productFamily", "Load Balancer-Network",
        "LoadBalancerUsage",
    ),
    "EdgeCertificate": Item(
        "application load balancer", "AWSELB", "productFamily", "Load Balancer-Application",
        "LoadBalancerUsage",
    ),
    "endpoint": Item(
        "interface endpoint", "AmazonVPC", "productFamily", "VpcEndpoint", "VpcEndpoint-Hours"
    ),
    "edge-through-nat": Item(
        "NAT gateway", "AmazonEC2", "productFamily", "NAT Gateway", "NatGateway-Hours"
    ),
    "transit-gateway": Item(
        "Transit Gateway attachment", "AmazonVPC", "operation", "TransitGatewayVPC",
        "TransitGateway-Hours",
    ),
}  # fmt: skip


# How hosts become members of a multicast group: either way a Transit Gateway copies.
_WITH |= dict.fromkeys((IGMP, STATIC), _WITH["transit-gateway"])


def hosts(kind: str, asked: dict[str, str], hosts: int) -> int:
    """That a stack launches. The appliance is one of its own, and so is the hub."""
    if kind == TEMPLATE:
        return hosts + 1
    if kind == zones.TEMPLATE:
        return zones.count(asked)
    if kind == "way-back":
        return 0
    return 2 if asked.get("Way") == "appliance" else 1


def items(asked: dict[str, str]) -> list[Item]:
    """Priced items that the parameters of a template ask for."""
    keys = [key for key in ("ClientPrincipal", "EdgeCertificate") if asked.get(key)]
    keys += [asked.get("Way", ""), asked.get("Multicast", "")]
    return [_WITH[key] for key in keys if key in _WITH]
