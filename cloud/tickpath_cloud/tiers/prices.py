"""The price of a stack by the hour besides its hosts, by AWS's public price list."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tickpath_cloud.aws import pages
from tickpath_cloud.plan import hourly_usd


@dataclass(frozen=True)
class Item:
    """Something that costs until it is deleted. `usage` ends its type of usage on the bill."""

    name: str
    service: str
    field: str
    value: str
    usage: str


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


def hourly(pricing: Any, item: Item, region: str) -> Decimal | None:
    """US dollars; None: the list has no such price for the region."""
    filters = {item.field: item.value, "regionCode": region}
    found = pages(
        pricing, "get_products", "PriceList", ServiceCode=item.service,
        Filters=[{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in filters.items()],
    )  # fmt: skip
    for text in found:
        product = json.loads(str(text))
        # In front of it stands the region's short name, as in EU-NatGateway-Hours.
        if re.fullmatch(
            rf"([A-Z0-9]+-)?{item.usage}", product["product"]["attributes"]["usagetype"]
        ):
            return hourly_usd(product)
    return None
