"""Cells of a matrix, AWS's description of their types, and their cost in the worst case."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tickpath_cloud.aws import client, pages
from tickpath_cloud.config import Config, read
from tickpath_cloud.errors import CloudError
from tickpath_cloud.money import cost, dollars
from tickpath_cloud.plan import besides
from tickpath_cloud.prices import on_demand_price

CELLS_MAX = 100
ENA = ("express", "queues")


@dataclass(frozen=True)
class Matrix:
    """The part [matrix] of the file; instance types, account and money are those of the hunt's."""

    images: dict[str, str]  # name -> ami-…: distribution and kernel
    tunings: dict[str, str]  # name -> playbook of yours; "" for none
    ena: dict[str, dict[str, Any]] = field(default_factory=lambda: {"default": {}})
    pair: bool = False  # two hosts in one placement group: an exchange and its client
    scenario: str = "ping-pong"
    set: tuple[str, ...] = ()
    noise_seconds: int = 20

    def __post_init__(self) -> None:
        for name, asked in self.ena.items():
            if unknown := sorted(set(asked) - set(ENA)):
                raise CloudError(f"ena.{name}: unknown key {unknown[0]!r}; known: {', '.join(ENA)}")


@dataclass(frozen=True)
class Cell:
    name: str
    type: str
    image: str
    tuning: str
    ena: str = "default"


@dataclass(frozen=True)
class Features:
    price: Decimal
    vcpus: int
    metal: bool
    instance_store: bool
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
    data = dict(read(path).get("matrix") or {})
    data["set"] = tuple(data.get("set", ()))
    try:
        return Matrix(**data)
    except TypeError as error:
        raise CloudError(
            f"{path}, [matrix]: {error}; it has images, tunings, ena, pair, scenario, set, "
            "noise_seconds"
        ) from error


def cells(config: Config, matrix: Matrix) -> list[Cell]:
    found = [
        (kind, image, tuning, ena)
        for kind in config.instance_types
        for image in matrix.images
        for tuning in matrix.tunings
        for ena in matrix.ena
    ]
    if not 0 < len(found) <= CELLS_MAX:
        raise CloudError(f"the matrix has {len(found)} cells: 1 to {CELLS_MAX} can be measured")
    return [Cell(f"cell-{i:02}", *cell) for i, cell in enumerate(found, 1)]


def features(config: Config, matrix: Matrix) -> dict[str, Features]:
    ec2, pricing = client("ec2", config.region), client("pricing", "us-east-1")
    types = list(config.instance_types)
    found = pages(ec2, "describe_instance_types", "InstanceTypes", InstanceTypes=types)
    more = [besides(config, ec2, pricing, image).hourly for image in matrix.images.values()]
    return {
        entry["InstanceType"]: Features(
            on_demand_price(pricing, entry["InstanceType"], config.region),
            entry["VCpuInfo"]["DefaultVCpus"],
            entry["BareMetal"],
            entry["InstanceStorageSupported"],
            max(more, default=Decimal(0)),
            entry.get("PhcSupport") == "supported",
            entry.get("NetworkInfo", {}).get("EnaSrdSupported", False),
        )
        for entry in found
    }


def hosts_per_cell(matrix: Matrix) -> int:
    return 2 if matrix.pair else 1


def check(config: Config, matrix: Matrix, plan: list[Cell], known: dict[str, Features]) -> str:
    """The plan in words; raises if it could cost more than the budget."""
    each = hosts_per_cell(matrix)
    seconds = config.ttl_hours * 3600
    worst = each * sum((cost(known[cell.type].hourly, seconds) for cell in plan), Decimal(0))
    if worst > config.budget:
        raise CloudError(
            f"the worst case costs {dollars(worst)}, the budget is {dollars(config.budget)}: raise "
            "budget, or lower ttl_hours or the number of cells"
        )
    pairs = f", in {len(plan)} pairs, a placement group each," if matrix.pair else ""
    return (
        f"makes {each * len(plan)} instances{pairs} in {config.region}, costs {dollars(worst)} at "
        f"worst ({config.ttl_hours:g} h each, volumes and addresses too), budget "
        f"{dollars(config.budget)}"
    )


def refusal(matrix: Matrix, cell: Cell, known: Features) -> str:
    """Why a cell can't be measured at all."""
    if matrix.ena[cell.ena].get("express") and not known.ena_express:
        return f"{cell.type} has no ENA Express"
    return ""
