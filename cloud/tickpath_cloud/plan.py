"""The plan of a hunt, before anything is made: what, in which account, at what price at worst."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tickpath_cloud import dedicated, images, placement, prices, tags, targets
from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.config import Config
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt.belief import Prior
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.hunt.prior import PUBLISHED as SPREAD
from tickpath_cloud.hunt.prior import Own
from tickpath_cloud.hunt.settings import LAUNCHES_A_SECOND, Candidate, Settings
from tickpath_cloud.money import cost, dollars, fee
from tickpath_cloud.prices import Besides, on_demand_price

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_pricing import PricingClient

# vCPUs of standard families.
QUOTA = {"spot": "L-34B43A08", "on-demand": "L-1216C47A", "dedicated": "L-1216C47A"}
# Groups of one account in a region. Source: the EC2 guide, placement groups, rules.
GROUPS_MAX = 500
PUBLISHED = Own(Prior(SPREAD), 0, 0)


@dataclass(frozen=True)
class Plan:
    settings: Settings
    account: str
    region: str
    per_hour: Decimal  # while all probes run
    worst: Decimal  # all probes until their time to live, the kept ones until theirs
    vcpus: int
    quota_vcpus: float
    besides: Besides  # in the price of each candidate
    target: str  # and its address
    prior: str  # how much places differ, and who says so


def worst_case(settings: Settings) -> Decimal:
    """All waves, and all that runs at once until its time to live: the program died."""
    dearest = max(candidate.price for candidate in settings.candidates)
    alive, waves = settings.alive_max, _waves(settings)
    wave = cost(dearest, settings.wave_seconds(alive - 1))
    return (
        (waves - 1) * alive * wave
        + alive * cost(dearest, settings.ttl_seconds)
        + settings.keep * cost(dearest, settings.keep_seconds)
        + fee(settings.region_fee, waves * settings.wave_seconds(alive - 1)
              + settings.ttl_seconds + settings.keep_seconds)
    )  # fmt: skip


def _waves(settings: Settings) -> int:
    arms = len(settings.arm_names())
    first = min(settings.wave, settings.alive_max - 1, arms)
    each = max(min(settings.wave, settings.alive_max - 1 - settings.finalists), 1)
    return 1 + -(-(arms - first) // each)


def make_plan(
    config: Config, hunt: str, clock: Callable[[], float], known: Own | None = None
) -> Plan:
    """Asks AWS for prices, quotas and permissions; makes nothing. Raises if it could not work."""
    target, known = targets.check(config.target, config.addresses), known or PUBLISHED
    account = call(client("sts", config.region).get_caller_identity)["Account"]
    ec2 = Ec2(config, hunt, clock)
    zones = tuple(dict.fromkeys(s["AvailabilityZoneId"] for s in ec2.subnets()))
    pricing = client("pricing", "us-east-1")
    more = besides(config, ec2.ec2, pricing, config.image)
    dedicated.hosts(ec2.ec2, config.dedicated_hosts, config.instance_types, ec2.subnets())
    settings = Settings(
        hunt=hunt,
        arms=config.arms,
        candidates=candidates(config, ec2.ec2, pricing, more.hourly),
        budget=config.budget,
        zones=zones,
        placements=config.placements,
        shared_groups=config.shared_groups,
        dedicated_hosts=config.dedicated_hosts,
        region_fee=prices.DEDICATED_FEE if placement.DEDICATED in config.placements else Decimal(0),
        keep=config.keep,
        finalists=config.finalists,
        wave=config.wave,
        gain_min=config.gain_min,
        spread=config.spread or known.prior.spread,
        noise=known.prior.noise,
        looks=config.looks,
        fresh_rounds=config.fresh_rounds,
        block_seconds=config.block_seconds,
        screen_seconds=config.screen_seconds,
        targets=len(config.targets()),
        round_every_seconds=config.round_every_seconds,
        probes_max=config.probes_max,
        probes_at_once=config.probes_at_once,
        indifference=config.indifference,
        failures_max=config.failures_max,
        void_rounds_max=config.void_rounds_max,
        p99_limit_us=config.p99_limit_us,
        ttl_seconds=int(config.ttl_hours * 3600),
        keep_seconds=int(config.keep_hours * 3600),
        seed=config.seed,
    )
    probes = settings.alive_max
    vcpus = probes * _vcpus(ec2.ec2, config.instance_types)
    market = settings.candidates[0].market
    quota = call(
        client("service-quotas", config.region).get_service_quota,
        ServiceCode="ec2", QuotaCode=QUOTA[market],
    )["Quota"]["Value"]  # fmt: skip
    dearest = max(candidate.price for candidate in settings.candidates)
    plan = Plan(
        settings,
        account,
        config.region,
        probes * dearest,
        worst_case(settings),
        vcpus,
        quota,
        more,
        target,
        str(known) if config.spread is None else f"places differ by {config.spread:.0%}",
    )
    _check(plan)
    _check_groups(ec2, settings)
    check_permissions(ec2, settings)
    return plan


def _check(plan: Plan) -> None:
    if plan.worst > plan.settings.budget:
        raise CloudError(
            f"the worst case costs {dollars(plan.worst)}, the budget is "
            f"{dollars(plan.settings.budget)}: raise budget, or lower wave, arms, ttl_hours, keep "
            "or keep_hours"
        )
    if plan.vcpus > plan.quota_vcpus:
        raise CloudError(
            f"{plan.vcpus} vCPUs needed, the account's quota is {plan.quota_vcpus:.0f}: lower "
            "wave or probes_max, choose smaller instance types, or ask AWS for more"
        )


def _check_groups(ec2: Ec2, settings: Settings) -> None:
    """A group of its own for each arm that runs: a region has a limit."""
    alone = (placement.CLUSTER, placement.DEDICATED)
    share = sum(kind in alone for kind in settings.placements) / len(settings.placements)
    needed = math.ceil(share * (settings.alive_max - 1))
    there = len(call(ec2.ec2.describe_placement_groups)["PlacementGroups"])
    if needed + there > GROUPS_MAX:
        raise CloudError(
            f"{needed} placement groups needed at once, {there} exist, and a region has at most "
            f"{GROUPS_MAX}: lower wave or probes_max, or delete some (`tickpath cloud sweep`)"
        )


def _vcpus(ec2: EC2Client, types: tuple[str, ...]) -> int:
    found = pages(ec2, "describe_instance_types", "InstanceTypes", InstanceTypes=list(types))
    return max(entry["VCpuInfo"]["DefaultVCpus"] for entry in found)


def besides(config: Config, ec2: EC2Client, pricing: PricingClient, image: str) -> Besides:
    """Volumes of the image, and an address if the subnets give one."""
    subnets = call(ec2.describe_subnets, SubnetIds=list(config.subnets))["Subnets"]
    public = any(subnet.get("MapPublicIpOnLaunch", True) for subnet in subnets)
    held = images.sizes(images.volumes(ec2, image))
    return prices.besides(pricing, config.region, held, public)


def candidates(
    config: Config, ec2: EC2Client, pricing: PricingClient, more: Decimal
) -> tuple[Candidate, ...]:
    """Spot first where it is allowed, in the order of the file; `more` is in each price."""
    found = []
    if config.spot:
        spot = _spot_prices(ec2, config.instance_types)
        found += [Candidate(t, "spot", spot[t] + more) for t in config.instance_types if t in spot]
    for kind in config.instance_types:
        price = on_demand_price(pricing, kind, config.region)
        found.append(Candidate(kind, "on-demand", price + more))
    if placement.DEDICATED in config.placements:
        for kind in config.instance_types:
            price = on_demand_price(pricing, kind, config.region, "Dedicated")
            found.append(Candidate(kind, placement.DEDICATED, price + more))
    return tuple(found)


def _spot_prices(ec2: EC2Client, types: tuple[str, ...]) -> dict[str, Decimal]:
    """The dearest zone's price now: without a start AWS lists the past 90 days, in pages."""
    found = pages(
        ec2, "describe_spot_price_history", "SpotPriceHistory", InstanceTypes=list(types),
        ProductDescriptions=["Linux/UNIX"], StartTime=datetime.now(UTC),
    )  # fmt: skip
    prices: dict[str, Decimal] = {}
    for entry in found:
        kind = entry["InstanceType"]
        prices[kind] = max(prices.get(kind, Decimal(0)), Decimal(entry["SpotPrice"]))
    return prices


def check_permissions(ec2: Ec2, settings: Settings) -> None:
    """Each call that makes something, as a DryRun. AWS checks permissions and does nothing."""
    spec = tags.tags(ec2.hunt, "dry-run", ec2.clock())
    launch = Launch("dry-run", settings.candidates[0], settings.zones[0], 0)
    run = {
        "MinCount": 1, "MaxCount": 1, "ImageId": ec2.config.image,
        "InstanceType": launch.candidate.type, "SubnetId": ec2.subnets()[0]["SubnetId"],
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": spec}
            for kind in ("instance", "volume", "network-interface")
        ],
    }  # fmt: skip
    named = f"tickpath-{ec2.hunt}-dry-run"
    _dry(ec2.ec2.run_instances, **run)
    _dry(
        ec2.ec2.create_placement_group, GroupName=named, Strategy="cluster",
        TagSpecifications=[{"ResourceType": "placement-group", "Tags": spec}],
    )  # fmt: skip
    _dry(
        ec2.ec2.create_security_group, GroupName=named, Description="dry run",
        VpcId=ec2.subnets()[0]["VpcId"],
        TagSpecifications=[{"ResourceType": "security-group", "Tags": spec}],
    )  # fmt: skip


def _dry(operation: Callable[..., Any], **arguments: Any) -> None:
    try:
        call(operation, DryRun=True, **arguments)
    except Rejected as rejected:
        if rejected.code != "DryRunOperation":
            raise


def _places(settings: Settings) -> str:
    found = [f"{kind}: {placement.ABOUT[kind]}" for kind in dict.fromkeys(settings.placements)]
    exist = [*settings.shared_groups, *settings.dedicated_hosts]
    return "; ".join(found + ([f"and {', '.join(exist)}"] if exist else []))


def _hours(settings: Settings) -> str:
    """From one wave and the first look to all waves and the last."""

    def hours(waves: int, looks: int) -> float:
        screened = waves * settings.wave_seconds(settings.alive_max - 1)
        rounds = looks + settings.fresh_rounds
        return (screened + rounds * settings.spaced_seconds(settings.finalists)) / 3600

    short, long = hours(1, settings.looks[0]), hours(_waves(settings), settings.looks[-1])
    return (
        f"{short:.1f} to {long:.1f} h: AWS takes {LAUNCHES_A_SECOND:g} launches a second, and ssh "
        "has to reach the hosts"
    )


def _fee(settings: Settings) -> list[str]:
    if not settings.region_fee:
        return []
    return [
        f"  and        {dollars(settings.region_fee)} an hour for the region, while any dedicated "
        "instance runs"
    ]


def text(plan: Plan) -> str:
    settings = plan.settings
    arms, alive = len(settings.arm_names()), settings.alive_max
    ways = ", ".join(f"{c.type} {c.market} ${c.price}/h" for c in settings.candidates)
    hours = f"{settings.ttl_seconds / 3600:g} h"
    return "\n".join([
        f"hunt {settings.hunt} in account {plan.account}, {plan.region}, "
        f"zones {' '.join(settings.zones)}",
        f"  target     {plan.target}",
        f"  makes      at most {arms} arms in {_waves(settings)} waves of {settings.wave}: "
        f"{alive} instances at once (one is the control probe), 1 security group",
        f"  places     {_places(settings)}",
        f"  until      a further wave promises less than {settings.gain_min:.2%}, or money or time "
        "for it is short",
        f"  prior      {plan.prior}",
        f"  takes      {_hours(settings)}",
        f"  launches   {ways}",
        f"  of that    {plan.besides}",
        *_fee(settings),
        f"  vCPUs      {plan.vcpus} of a quota of {plan.quota_vcpus:.0f}",
        f"  costs      {dollars(plan.per_hour)} an hour while {alive} probes run",
        f"  at worst   {dollars(plan.worst)}: all waves, {alive} probes for {hours} since this "
        f"program died, {settings.keep} kept for {settings.keep_seconds / 3600:g} h",
        f"  budget     {dollars(settings.budget)}. The hunt stops before its instances cost more; "
        "AWS knows no such limit. Traffic is not counted",
        f"  ends       every instance shuts itself down after {hours}, also if this program dies",
    ])  # fmt: skip
