"""Cells of a matrix, AWS's description of their types, and their cost in the worst case."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from tickpath_cloud import dedicated, placement
from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.config import Config, read, settings_of
from tickpath_cloud.errors import CloudError
from tickpath_cloud.money import cost, dollars, fee
from tickpath_cloud.plan import besides
from tickpath_cloud.prices import DEDICATED_FEE, on_demand_price

CELLS_MAX = 100
ENA = ("express", "queues")


@dataclass(frozen=True)
class Matrix:
    """The part [matrix] of the file; instance types, account and money are those of the hunt's."""

    images: dict[str, str]  # name -> ami-…: distribution and kernel
    tunings: dict[str, str]  # name -> playbook of yours; "" for none
    ena: dict[str, dict[str, Any]] = field(default_factory=lambda: {"default": {}})
    placements: tuple[str, ...] = ()  # none; of a pair: cluster; or a dedicated host's id
    pair: bool = False  # two hosts, placed together: an exchange and its client
    scenario: str = "ping-pong"
    set: tuple[str, ...] = ()
    noise_seconds: int = 20

    def __post_init__(self) -> None:
        for name, asked in self.ena.items():
            if unknown := sorted(set(asked) - set(ENA)):
                raise CloudError(f"ena.{name}: unknown key {unknown[0]!r}; known: {', '.join(ENA)}")
        if self.placements and not all(map(is_host, self.placements)):
            kinds = [kind for kind in self.placements if not is_host(kind)]
            placement.check("placements", kinds)

    @property
    def placed(self) -> tuple[str, ...]:
        return self.placements or (placement.CLUSTER if self.pair else placement.NONE,)

    @property
    def hosts(self) -> list[str]:
        return [kind for kind in self.placed if is_host(kind)]


def is_host(kind: str) -> bool:
    return kind.startswith("h-")


@dataclass(frozen=True)
class Cell:
    name: str
    type: str
    image: str
    tuning: str
    ena: str = "default"
    placement: str = placement.NONE


@dataclass(frozen=True)
class Features:
    price: Decimal
    vcpus: int
    metal: bool
    instance_store: bool
    dedicated: Decimal | None = None  # its price on dedicated hardware, if that is asked for
    hosts: tuple[str, ...] = ()  # dedicated ones of the matrix that run the type
    besides: Decimal = Decimal(0)  # volumes and public address, by the hour
    ptp: bool = False  # a PTP hardware clock
    ena_express: bool = False

    @property
    def hourly(self) -> Decimal:
        """All that an instance costs, in US dollars."""
        return self.price + self.besides

    def __str__(self) -> str:
        words = [f"{self.vcpus} vCPUs"]
        words += ["metal"] if self.metal else []
        words += ["instance store"] if self.instance_store else []
        words += ["PTP"] if self.ptp else []
        words += ["ENA Express"] if self.ena_express else []
        return ", ".join(words)


def load_matrix(path: Path) -> Matrix:
    return settings_of(Matrix, dict(read(path).get("matrix") or {}), f"{path}, [matrix]")


def cells(config: Config, matrix: Matrix) -> list[Cell]:
    found = [
        (kind, image, tuning, ena, placed)
        for kind in config.instance_types
        for image in matrix.images
        for tuning in matrix.tunings
        for ena in matrix.ena
        for placed in matrix.placed
    ]
    if not 0 < len(found) <= CELLS_MAX:
        raise CloudError(f"the matrix has {len(found)} cells: 1 to {CELLS_MAX} can be measured")
    return [Cell(f"cell-{i:02}", *cell) for i, cell in enumerate(found, 1)]


def features(config: Config, matrix: Matrix) -> dict[str, Features]:
    ec2, pricing = client("ec2", config.region), client("pricing", "us-east-1")
    types = list(config.instance_types)
    found = pages(ec2, "describe_instance_types", "InstanceTypes", InstanceTypes=types)
    more = [besides(config, ec2, pricing, image).hourly for image in matrix.images.values()]
    subnets = call(ec2.describe_subnets, SubnetIds=list(config.subnets))["Subnets"]
    hosts = dedicated.hosts(ec2, matrix.hosts, types, subnets)
    alone = {
        kind: on_demand_price(pricing, kind, config.region, "Dedicated")
        for kind in types
        if placement.DEDICATED in matrix.placed
    }
    return {
        entry["InstanceType"]: Features(
            on_demand_price(pricing, entry["InstanceType"], config.region),
            entry["VCpuInfo"]["DefaultVCpus"],
            entry["BareMetal"],
            entry["InstanceStorageSupported"],
            alone.get(entry["InstanceType"]),
            tuple(h for h in hosts if dedicated.runs(hosts[h], entry["InstanceType"])),
            max(more, default=Decimal(0)),
            entry.get("PhcSupport") == "supported",
            entry.get("NetworkInfo", {}).get("EnaSrdSupported", False),
        )
        for entry in found
    }


def of_cell(cell: Cell, known: dict[str, Features]) -> Features:
    """With the price of its placement. On a host of your own AWS bills the host instead."""
    found = known[cell.type]
    if cell.placement == placement.DEDICATED and found.dedicated is not None:
        return replace(found, price=found.dedicated)
    return found


def hosts_per_cell(matrix: Matrix) -> int:
    return 2 if matrix.pair else 1


def check(config: Config, matrix: Matrix, plan: list[Cell], known: dict[str, Features]) -> str:
    """The plan in words; raises if it could cost more than the budget."""
    each = hosts_per_cell(matrix)
    seconds = config.ttl_hours * 3600
    hourly = [of_cell(cell, known).hourly for cell in plan]
    worst = each * sum((cost(price, seconds) for price in hourly), Decimal(0))
    if placement.DEDICATED in matrix.placed:
        worst += fee(DEDICATED_FEE, seconds)
    if worst > config.budget:
        raise CloudError(
            f"the worst case costs {dollars(worst)}, the budget is {dollars(config.budget)}: raise "
            "budget, or lower ttl_hours or the number of cells"
        )
    pairs = f", in {len(plan)} pairs," if matrix.pair else ""
    return (
        f"makes {each * len(plan)} instances{pairs} in {config.region}, costs {dollars(worst)} at "
        f"worst ({config.ttl_hours:g} h each, volumes and addresses too), budget "
        f"{dollars(config.budget)}"
    )


def rejection(matrix: Matrix, cell: Cell, known: Features) -> str:
    """Why a cell can't be measured at all."""
    if matrix.ena[cell.ena].get("express") and not known.ena_express:
        return f"{cell.type} has no ENA Express"
    if is_host(cell.placement) and cell.placement not in known.hosts:
        return f"dedicated host {cell.placement} does not run {cell.type}"
    return ""
