"""AWS's public price list: instances, and what else costs while it exists. US dollars an hour."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tickpath_cloud.aws import pages
from tickpath_cloud.errors import CloudError
from tickpath_cloud.money import dollars

if TYPE_CHECKING:
    from mypy_boto3_pricing import PricingClient

MONTH_HOURS = 730  # of a price by the month


@dataclass(frozen=True)
class Item:
    """Something that costs until it is deleted. `usage` ends its type of usage on the bill."""

    name: str
    service: str
    field: str
    value: str
    usage: str


ADDRESS = Item(
    "public IPv4 address", "AmazonVPC", "group", "VPCPublicIPv4Address", "PublicIPv4:InUseAddress"
)
_VOLUME_USAGE = {"io1": "EBS:VolumeUsage.piops", "standard": "EBS:VolumeUsage"}


def volume_item(kind: str) -> Item:
    """The item of one GB; AWS prices it per month."""
    usage = _VOLUME_USAGE.get(kind, f"EBS:VolumeUsage.{kind}")
    return Item(f"{kind} volume", "AmazonEC2", "volumeApiName", kind, usage)


@dataclass(frozen=True)
class Besides:
    """Cost of an instance besides its type: its image's volumes, and its public address."""

    lines: tuple[str, ...]
    hourly: Decimal  # of what has a price

    def __str__(self) -> str:
        return ", ".join(self.lines) or "nothing"


NOTHING = Besides((), Decimal(0))


def besides(
    pricing: PricingClient, region: str, volumes: list[tuple[str, int]], public_address: bool
) -> Besides:
    """`volumes`: type and GB of each."""
    parts = [
        (f"{size} GB of {kind}", hourly(pricing, volume_item(kind), region), Decimal(size))
        for kind, size in volumes
    ]
    priced = [(name, None if p is None else p * size / MONTH_HOURS) for name, p, size in parts]
    if public_address:
        priced.append((ADDRESS.name, hourly(pricing, ADDRESS, region)))
    lines = tuple(f"{name} {an_hour(price)}" for name, price in priced)
    return Besides(lines, sum((price for _, price in priced if price is not None), Decimal(0)))


def an_hour(price: Decimal | None) -> str:
    """Unknown is not free."""
    if price is None:
        return "not counted: AWS's list has no price for it here"
    return f"{dollars(price) if price >= Decimal('0.01') else f'${price:.4f}'} an hour"


# An hour, once for a region in which any dedicated instance runs. Not in the price list.
# Source: https://aws.amazon.com/ec2/pricing/dedicated-instances/
DEDICATED_FEE = Decimal(2)


def on_demand_price(
    pricing: PricingClient, kind: str, region: str, tenancy: str = "Shared"
) -> Decimal:
    """`tenancy`: Shared or Dedicated."""
    wanted = {
        "instanceType": kind, "regionCode": region, "operatingSystem": "Linux",
        "preInstalledSw": "NA", "tenancy": tenancy, "capacitystatus": "Used",
    }  # fmt: skip
    found = [hourly_usd(product) for product in _products(pricing, "AmazonEC2", wanted)]
    price = next((price for price in found if price is not None), None)
    if price is None:
        which = "" if tenancy == "Shared" else f"{tenancy.lower()} "
        raise CloudError(
            f"AWS has no price for {which}{kind} in {region}: is the type offered there?"
        )
    return price


def hourly(pricing: PricingClient, item: Item, region: str) -> Decimal | None:
    """US dollars; None: the list has no such price for the region."""
    wanted = {item.field: item.value, "regionCode": region}
    for product in _products(pricing, item.service, wanted):
        # In front of it stands the region's short name, as in EU-NatGateway-Hours.
        if re.fullmatch(
            rf"([A-Z0-9]+-)?{re.escape(item.usage)}", product["product"]["attributes"]["usagetype"]
        ):
            return hourly_usd(product)
    return None


def _products(pricing: PricingClient, service: str, wanted: dict[str, str]) -> list[dict[str, Any]]:
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in wanted.items()]
    found = pages(pricing, "get_products", "PriceList", ServiceCode=service, Filters=filters)
    return [json.loads(str(text)) for text in found]


def hourly_usd(product: dict[str, Any]) -> Decimal | None:
    """Price of one unit in an entry of AWS's price list. None: it has none, or 0 of a free tier."""
    for term in product["terms"].get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            price = Decimal(dimension["pricePerUnit"].get("USD", "0"))
            if price > 0:
                return price
    return None
