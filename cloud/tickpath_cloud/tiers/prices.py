"""The price of a stack by the hour besides its hosts, by AWS's public price list."""

from __future__ import annotations

from tickpath_cloud.prices import Item

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


def hosts(asked: dict[str, str]) -> int:
    """The appliance is a host of its own."""
    return 2 if asked.get("Way") == "appliance" else 1


def items(asked: dict[str, str]) -> list[Item]:
    """Priced items that the parameters of a template ask for."""
    keys = [key for key in ("ClientPrincipal", "EdgeCertificate") if asked.get(key)]
    return [_WITH[key] for key in (*keys, asked.get("Way", "")) if key in _WITH]
