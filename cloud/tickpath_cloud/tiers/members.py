"""Which hosts of a stack are members of its multicast group, as the Transit Gateway has it.

With IGMP a host is a member while one of its programs has joined the group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tickpath_cloud import instances, tags
from tickpath_cloud.aws import client, pages
from tickpath_cloud.errors import CloudError
from tickpath_cloud.tiers.stacks import Stacks

STACK, LOGICAL = "aws:cloudformation:stack-name", "aws:cloudformation:logical-id"
HUB = "Hub"


@dataclass(frozen=True)
class Members:
    group: str
    types: dict[str, str]  # host -> igmp or static; hosts that are members
    others: tuple[str, ...]  # hosts that are none

    def __str__(self) -> str:
        count = len(self.types) + len(self.others)
        kinds = ", ".join(sorted(set(self.types.values()))) or "none"
        line = f"{self.group}: {len(self.types)} of {count} hosts are members ({kinds})"
        return "\n".join([line, *(f"not a member: {host}" for host in self.others)])


def members(region: str, stack: str, clock: Callable[[], float]) -> Members:
    name = f"tickpath-tiers-{stack}"
    found = [each for each in Stacks(region, clock).find() if each.name == name]
    if not found or "Domain" not in found[0].outputs:
        raise CloudError(
            f"{name} has no multicast group in {region}: deploy the template hosts with "
            "--set Multicast=igmp or static"
        )
    held, ec2 = found[0].outputs, client("ec2", region)
    groups = pages(
        ec2, "search_transit_gateway_multicast_groups", "MulticastGroups",
        TransitGatewayMulticastDomainId=held["Domain"],
    )  # fmt: skip
    types = {
        entry["NetworkInterfaceId"]: entry.get("MemberType", "")
        for entry in groups
        if entry.get("GroupMember") and entry["GroupIpAddress"] == held["GroupAddress"]
    }
    running = instances.instances(ec2, [{"Name": f"tag:{STACK}", "Values": [name]}])
    hosts = {
        tags.value(host, LOGICAL) or host["InstanceId"]: {
            interface["NetworkInterfaceId"] for interface in host["NetworkInterfaces"]
        }
        for host in running
    }
    joined = {
        host: types[own] for host, interfaces in sorted(hosts.items())
        for own in interfaces & types.keys()
    }  # fmt: skip
    others = sorted(hosts.keys() - joined.keys() - {HUB})
    return Members(held["GroupAddress"], joined, tuple(others))
