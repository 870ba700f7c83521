"""The template `zones`: exchanges with followers in other zones, beside one without a copy."""

from __future__ import annotations

from tickpath_cloud.errors import CloudError

TEMPLATE = "zones"
# An exchange alone and its client; a primary, its follower and its client. Another such three for a
# third zone. An exchange, its client and three members of a cluster.
HOSTS, HOSTS_OF_THIRD, HOSTS_OF_CLUSTER = 5, 3, 5
_ZONES = ("Zone", "SecondZone", "ThirdZone")


def count(asked: dict[str, str]) -> int:
    """Hosts of the stack."""
    third = HOSTS_OF_THIRD if asked.get("ThirdZone") else 0
    return HOSTS + third + (HOSTS_OF_CLUSTER if asked.get("Cluster") == "true" else 0)


def check(held: dict[str, str]) -> None:
    """Two subnets of one zone would measure no distance."""
    if held.get("Cluster") == "true" and not held.get("ThirdZone"):
        raise CloudError("Cluster=true: its members are in three zones; add --set ThirdZone=…")
    seen: dict[str, str] = {}
    for key in _ZONES:
        zone = held.get(key, "")
        if zone and zone in seen:
            raise CloudError(
                f"{key} and {seen[zone]} are both {zone}: name another zone with --set {key}=…"
            )
        seen[zone] = key
