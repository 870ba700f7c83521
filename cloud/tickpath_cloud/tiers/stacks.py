"""Stacks of the topologies: planned with prices, tagged with an expiry, listed, destroyed."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from itertools import combinations
from textwrap import indent
from typing import Any

from tickpath_cloud import instances, tags
from tickpath_cloud.aws import call, client
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.money import cost, dollars, fee
from tickpath_cloud.placement import DEDICATED, HOST
from tickpath_cloud.prices import DEDICATED_FEE, an_hour, hourly, on_demand_price
from tickpath_cloud.tiers import hosts as hosts_of
from tickpath_cloud.tiers import prices, zones

TEMPLATES = resources.files("tickpath_cloud") / "tiers" / "templates"
NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
TTL_MINUTES, INSTANCE_TYPE = 240, "c7i.large"  # the templates' defaults
WAIT_SECONDS = 1800  # CloudFront takes its time
GONE = "DELETE_COMPLETE"
# A template that is used without this program has a timer that a reboot loses.
_PLAIN_TIMER = re.compile(r"^( *)shutdown -P \+\$\{TtlMinutes\}\n", re.MULTILINE)
_KEPT_TIMER = instances.timer("${TtlMinutes}").removeprefix("#!/bin/sh\n")


@dataclass(frozen=True)
class Stack:
    name: str
    status: str
    expires: str
    outputs: dict[str, str]
    orphan: bool
    id: str = ""

    def __str__(self) -> str:
        state = "ORPHAN, expired" if self.orphan else "expires"
        lines = [f"{self.name:<32} {self.status:<20} {state} {self.expires}"]
        return "\n".join(lines + [f"  {key} = {value}" for key, value in self.outputs.items()])


def names() -> list[str]:
    return sorted(entry.name.removesuffix(".yaml") for entry in TEMPLATES.iterdir())


def template(name: str, hosts: int = 1, multicast: str = "") -> str:
    """Only the template `hosts` takes `hosts` and `multicast`."""
    hosts_of.check_count(name, hosts, multicast)
    text = (TEMPLATES / f"{name}.yaml").read_text()
    if name == hosts_of.TEMPLATE:
        text = hosts_of.repeated(text, hosts, multicast)
    return _PLAIN_TIMER.sub(lambda found: indent(_KEPT_TIMER, found[1]), text)


def declared(kind: str) -> dict[str, str | None]:
    """A template's parameters with their defaults. The templates are ours: two spaces."""
    found: dict[str, str | None] = {}
    section = template(kind).split("\nParameters:\n")[1].split("\n\n")[0]
    for line in section.splitlines():
        if re.fullmatch(r"  \w+:", line):
            found[line.strip(" :")] = None
        elif line.startswith("    Default:"):
            found[list(found)[-1]] = line.partition(":")[2].strip(' "')
    return found


def _check_networks(held: dict[str, str]) -> None:
    """A subnet outside its VPC would fail when half of the stack is there."""
    vpc = "Cidr" if "Cidr" in held else "VpcCidr"
    if vpc not in held:
        return
    subnets = _subnets(held)
    peers = ["PeerCidr"] if held.get("PeerVpc") else []
    if held.get("Way") in ("peering", "appliance"):
        peers.append("ExchangeCidr")
    nets = {key: _network(key, held[key]) for key in (vpc, *subnets, *peers)}
    for key in peers:
        if nets[key].overlaps(nets[vpc]):
            raise CloudError(
                f"{vpc}, {nets[vpc]}, overlaps {key}, {nets[key]}: AWS peers no such networks; "
                f"add --set {vpc}=…"
            )
    for key in subnets:
        if not nets[key].subnet_of(nets[vpc]):
            raise CloudError(
                f"{key} is {nets[key]}, which is not in {vpc}, {nets[vpc]}: add --set {key}=…"
            )
    for one, other in combinations(subnets, 2):
        if nets[one].overlaps(nets[other]):
            raise CloudError(
                f"{one}, {nets[one]}, and {other}, {nets[other]}, overlap: add --set {other}=…"
            )


def _subnets(held: dict[str, str]) -> list[str]:
    """Parameters with the networks of the subnets that the stack makes."""
    asked = {
        "NatCidr": held.get("Way") in ("edge-through-nat", "appliance"),
        "SecondSubnetCidr": held.get("EdgeCertificate") or "ThirdSubnetCidr" in held,
        "ThirdSubnetCidr": held.get("ThirdZone"),
    }
    return ["SubnetCidr", *(key for key, makes in asked.items() if makes)]


def _network(key: str, text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise CloudError(f"{key} is {text!r}: {error}; write one such as 10.96.0.0/24") from error


def parameters(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise CloudError(f"--set {pair!r}: write Parameter=value")
        found[key] = value
    return found


class Stacks:
    def __init__(self, region: str, clock: Callable[[], float]) -> None:
        self.region, self.clock = region, clock
        self.api = client("cloudformation", region)
        self.pricing = client("pricing", "us-east-1")
        self.hourly = Decimal(0)  # of the planned stack
        self.id = ""  # of the stack that was made: AWS knows a deleted one by its id only

    def plan(
        self, kind: str, name: str, asked: dict[str, str], budget: Decimal, hosts: int = 1
    ) -> str:
        """Makes nothing. Raises if the template or the budget forbids it."""
        if not NAME.fullmatch(name):
            raise CloudError(f"name {name!r}: use a-z, 0-9 and -, at most 41")
        known = declared(kind)
        if wrong := sorted(set(asked) - set(known)):
            raise CloudError(
                f"{kind} has no parameter {wrong[0]}: it has {', '.join(sorted(known))}"
            )
        needed = {key for key, default in known.items() if default is None}
        if missing := sorted(needed - set(asked)):
            raise CloudError(f"{kind} needs {', '.join(missing)}: --set {missing[0]}=…")
        held = {key: value or "" for key, value in (known | asked).items()}
        _check_networks({key: value for key, value in held.items() if value})
        hosts_of.check_count(kind, hosts, held.get("Multicast", ""))
        hosts_of.check_tenancy(held)
        notes = []
        if kind == hosts_of.TEMPLATE:
            hosts_of.check(hosts, held)
            notes = hosts_of.notes(hosts, held)
        if kind == zones.TEMPLATE:
            zones.check(held)
        return "\n".join([self._costs(kind, name, asked, budget, hosts), *notes])

    def _costs(
        self, kind: str, name: str, asked: dict[str, str], budget: Decimal, hosts: int
    ) -> str:
        minutes = self._ttl_minutes(asked)
        count, machines = prices.hosts(kind, asked, hosts), Decimal(0)
        lines = [f"makes the stack {self._full(name)} of {kind}.yaml in {self.region}"]
        if count:
            machines, said = self._machines(count, asked)
            lines.append(f"  hosts      {said}; they end themselves after {minutes} min")
        lasting = {
            item.name: hourly(self.pricing, item, self.region) for item in prices.items(asked)
        }
        known = sum((each for each in lasting.values() if each is not None), Decimal(0))
        self.hourly = machines + known
        fees = fee(self._region_fee(asked), 60 * minutes)
        worst = cost(self.hourly, 60 * minutes) + fees
        if worst > budget:
            raise CloudError(
                f"the stack costs {dollars(worst)} in {minutes} min, the budget is "
                f"{dollars(budget)}: raise --budget, or lower TtlMinutes"
            )
        lines += [f"  besides    {name}, {an_hour(each)}" for name, each in lasting.items()]
        if fees:
            lines.append(f"  besides    dedicated instances in the region, {dollars(fees)} at most")
        lines.append(
            f"  costs      {dollars(worst)} in {minutes} min, without bytes, volumes and addresses"
        )
        if lasting:
            lines.append("  destroy    hosts end themselves, the rest costs until `tiers destroy`")
        return "\n".join(lines)

    def _machines(self, count: int, asked: dict[str, str]) -> tuple[Decimal, str]:
        """Their price an hour, and the plan's words."""
        kind, tenancy = asked.get("InstanceType", INSTANCE_TYPE), asked.get("Tenancy")
        if tenancy == HOST:
            return Decimal(
                0
            ), f"{count} {kind}, on a dedicated host that costs with or without them"
        listed = "Dedicated" if tenancy == DEDICATED else "Shared"
        price = count * on_demand_price(self.pricing, kind, self.region, listed)
        return price, f"{count} {kind}, {dollars(price)} an hour"

    @staticmethod
    def _region_fee(asked: dict[str, str]) -> Decimal:
        """An hour, once for a region in which any dedicated instance runs."""
        return DEDICATED_FEE if asked.get("Tenancy") == DEDICATED else Decimal(0)

    def deploy(self, kind: str, name: str, asked: dict[str, str], hosts: int = 1) -> Stack:
        """A stack that is there already is not made again."""
        expires = tags.rfc3339(self.clock() + 60 * self._ttl_minutes(asked))
        text = template(kind, hosts, asked.get("Multicast", ""))
        try:
            self.id = call(
                self.api.create_stack, StackName=self._full(name), TemplateBody=text,
                Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in asked.items()],
                Tags=[{"Key": tags.HUNT, "Value": name}, {"Key": tags.EXPIRES, "Value": expires}],
                OnFailure="DELETE",
            )["StackId"]  # fmt: skip
        except Rejected as rejected:
            if rejected.code != "AlreadyExistsException":
                raise
        return self._wait(name, "CREATE_COMPLETE")

    def remains(self, name: str) -> str:
        """After an error: the stack as AWS has it now, and how it is removed."""
        try:
            found = [stack for stack in self.find() if stack.name == self._full(name)]
            state = (
                f"{found[0].id} is {found[0].status}"
                if found
                else f"{self.id or 'the stack'} is gone"
            )
        except CloudError as error:
            state = f"whether {self._full(name)} exists is not known: {error}"
        return (
            f"{state}; it costs {dollars(self.hourly)} an hour while it exists\n"
            f"remove it: tickpath cloud tiers destroy {name} --region {self.region} --apply"
        )

    def find(self) -> list[Stack]:
        """Stacks of `tiers`, by their tag."""
        paginator = self.api.get_paginator("describe_stacks")
        found = call(lambda: [s for page in paginator.paginate() for s in page["Stacks"]])
        ours = (self._stack(s) for s in found if tags.value(s, tags.EXPIRES))
        return [stack for stack in ours if stack.status != GONE]

    def destroy(self, name: str) -> list[str]:
        """Returns what is still there: nothing, if it could."""
        if any(stack.name == self._full(name) for stack in self.find()):
            call(self.api.delete_stack, StackName=self._full(name))
            self._wait(name, GONE)
        return [stack.name for stack in self.find() if stack.name == self._full(name)]

    def _wait(self, name: str, wanted: str) -> Stack:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            found = [stack for stack in self.find() if stack.name == self._full(name)]
            if not found and wanted == GONE:
                return Stack(self._full(name), GONE, "", {}, False)
            if found and found[0].status == wanted:
                return found[0]
            if not found or found[0].status.endswith(("FAILED", "ROLLBACK_COMPLETE")):
                state = found[0].status if found else "rolled back"
                raise CloudError(
                    f"{self._full(name)} is {state}: see its events with `aws cloudformation "
                    f"describe-stack-events --stack-name {self.id or self._full(name)}`"
                )
            if time.monotonic() > deadline:
                raise CloudError(f"{self._full(name)} is not {wanted} after {WAIT_SECONDS} s")
            time.sleep(5)

    def _stack(self, stack: dict[str, Any]) -> Stack:
        expires = tags.value(stack, tags.EXPIRES) or ""
        outputs = {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
        orphan = tags.seconds(expires) <= self.clock()
        return Stack(
            stack["StackName"], stack["StackStatus"], expires, outputs, orphan, stack["StackId"]
        )  # fmt: skip

    def _full(self, name: str) -> str:
        return f"tickpath-tiers-{name}"

    @staticmethod
    def _ttl_minutes(asked: dict[str, str]) -> int:
        minutes = asked.get("TtlMinutes", str(TTL_MINUTES))
        if not minutes.isdigit():
            raise CloudError(f"TtlMinutes is {minutes!r}: write minutes, 10 or more")
        return int(minutes)
