"""How many hosts a stack of the template `hosts` may have, and its text for that number."""

from __future__ import annotations

import ipaddress
import re

from tickpath_cloud.errors import CloudError
from tickpath_cloud.placement import DEDICATED, GROUP_MAX, HOST, NONE, SPREAD

TEMPLATE = "hosts"
STATIC, IGMP = "static", "igmp"  # how hosts become members of the multicast group
# Besides the hub. CloudFormation takes a template of up to 51,200 bytes in a request: that is 256
# hosts, or 60 that are registered as members, which takes three resources each.
HOSTS_MAX = {NONE: 256, IGMP: 256, STATIC: 60}
MEMBERS_QUOTA = 100  # AWS's quota of members of a multicast group, unless it was raised
# A subnet's addresses that no host gets: five of AWS, the Transit Gateway's and the hub's.
ADDRESSES_ASIDE = 7
_LINES = re.compile(r"^  (?:Static)?[A-Z][a-z]+001: .*\n", re.MULTILINE)


def repeated(text: str, hosts: int, multicast: str) -> str:
    """The template with the lines of the first host repeated for each, with its number."""
    found = _LINES.findall(text)
    ours = [line for line in found if line.startswith("  Static") == (multicast == STATIC)]
    more = [line.replace("001", f"{n:03}") for n in range(2, hosts + 1) for line in ours]
    return text.replace(found[-1], found[-1] + "".join(more))


def check_count(template: str, hosts: int, multicast: str) -> None:
    if template != TEMPLATE and hosts != 1:
        raise CloudError(f"--hosts is for the template {TEMPLATE}: {template} has one host")
    most = HOSTS_MAX.get(multicast, HOSTS_MAX[NONE])
    if not 1 <= hosts <= most:
        raise CloudError(f"--hosts is {hosts}: it is 1 to {most} with Multicast={multicast}")


def check_tenancy(held: dict[str, str]) -> None:
    """Raises for what AWS would reject when half of the stack is there."""
    tenancy, host = held.get("Tenancy", ""), held.get("HostId", "")
    if (tenancy == HOST) != bool(host):
        raise CloudError("a dedicated host takes both: --set Tenancy=host --set HostId=h-…")
    strategy, group = held.get("Strategy", NONE), held.get("PlacementGroupId", "")
    if tenancy == HOST and (group or strategy != NONE):
        raise CloudError(f"{host} is a dedicated host: AWS takes no placement group there")
    if tenancy == DEDICATED and strategy == SPREAD:
        raise CloudError("Tenancy=dedicated: AWS puts no dedicated instance into a spread group")
    if tenancy in (DEDICATED, HOST) and held.get("Way") == "appliance":
        raise CloudError(f"Tenancy={tenancy}: the appliance has none; take another Way")
    if held.get("Partition") and not group:
        raise CloudError("Partition: name its group, too, with --set PlacementGroupId=pg-…")


def check(hosts: int, held: dict[str, str]) -> None:
    """The same for the template `hosts`."""
    if held["Strategy"] == SPREAD and hosts + 1 > GROUP_MAX:
        raise CloudError(
            f"--hosts is {hosts}: a spread group has at most {GROUP_MAX} instances in a zone, and "
            f"the hub is one of them; take {GROUP_MAX - 1}, or Strategy=partition"
        )
    net = ipaddress.IPv4Network(held["SubnetCidr"])
    if net.num_addresses < hosts + ADDRESSES_ASIDE:
        raise CloudError(
            f"SubnetCidr is {net}, {net.num_addresses} addresses: {hosts} hosts need "
            f"{hosts + ADDRESSES_ASIDE}; add --set SubnetCidr=…"
        )


def notes(hosts: int, held: dict[str, str]) -> list[str]:
    """Lines of the plan."""
    if held["Multicast"] == NONE or hosts <= MEMBERS_QUOTA:
        return []
    return [
        f"  quota      AWS allows {MEMBERS_QUOTA} members of a multicast group until it raises "
        "that for the account (quota L-C768F2D6)"
    ]
