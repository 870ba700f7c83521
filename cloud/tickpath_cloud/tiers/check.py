"""Which hops lie on the way from a client's instance to an address, before anything is measured."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.errors import CloudError

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

# Interfaces that are no host's: a hop hides behind them.
INTERFACES = {
    "vpc_endpoint": "interface endpoint (PrivateLink), then the service's load balancer",
    "network_load_balancer": "network load balancer", "nat_gateway": "NAT gateway",
    "gateway_load_balancer": "gateway load balancer", "load_balancer": "load balancer",
    "gateway_load_balancer_endpoint": "inspection appliance",
}  # fmt: skip
ROUTES = {
    "VpcPeeringConnectionId": "peering", "TransitGatewayId": "Transit Gateway",
    "NatGatewayId": "NAT gateway", "InstanceId": "inspection appliance",
    "NetworkInterfaceId": "inspection appliance",
    "EgressOnlyInternetGatewayId": "egress-only internet gateway", "CarrierGatewayId": "carrier "
    "gateway", "LocalGatewayId": "local gateway",
}  # fmt: skip
ENDED = ("shutting-down", "terminated")
HOPS_MAX = 8  # routes may lead in a circle


@dataclass(frozen=True)
class Way:
    hops: tuple[str, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"  {hop}" for hop in ("client", *self.hops, "target")]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def check(region: str, instance: str, target: str, target_region: str = "") -> Way:
    """As the client's account sees it: what lies behind a load balancer stays unknown."""
    ec2 = client("ec2", region)
    found = call(ec2.describe_instances, InstanceIds=[instance])["Reservations"]
    if not found:
        raise CloudError(f"{instance} does not exist in {region}: name the client's instance")
    host = found[0]["Instances"][0]
    if host["State"]["Name"] in ENDED:
        raise CloudError(f"{instance} has ended: name the client's instance")
    address = _address(target)
    far = client("ec2", target_region) if target_region not in ("", region) else ec2
    there = _interface(far, str(address))
    hops = _hops(ec2, host, address)
    warnings = []
    if there is not None and (kind := there.get("InterfaceType")) in INTERFACES:
        hops.append(INTERFACES[kind])
    elif there is not None and there.get("Description", "").startswith("ELB "):
        hops.append("load balancer")
    if any("load balancer" in step for step in hops):
        warnings.append("a load balancer lies on the way: peering to the host is shorter")
    warnings += _way_back(far, host, there)
    if far is not ec2:
        warnings.append(f"two regions lie on the way: {region} and {target_region}")
    else:
        warnings += _zone(ec2, host, there)
        warnings += _group(ec2, host, there)
    warnings += [
        f"{word} lies on the way: peering needs none"
        for word in ("Transit Gateway", "NAT gateway", "appliance")
        if any(word in step for step in hops)
    ]
    return Way(tuple(hops), tuple(warnings))


def _address(target: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """A name is resolved on this machine, which may not know a private one."""
    try:
        return ipaddress.ip_address(target)
    except ValueError:
        pass
    try:
        return ipaddress.ip_address(socket.gethostbyname(target))
    except OSError as error:
        raise CloudError(f"{target} has no address here ({error}): name an IP address") from error


def _hops(ec2: EC2Client, host: dict, address: Any) -> list[str]:
    """Route by route: behind an appliance or a NAT gateway its own subnet's routes decide."""
    hops: list[str] = []
    where: dict | None = host
    while where is not None and len(hops) < HOPS_MAX:
        route = _route(ec2, where, address)
        if name := "no route: the target can't be reached" if route is None else _hop(route):
            hops.append(name)
        where = _behind(ec2, route or {})
    return hops


def _way_back(ec2: EC2Client, host: dict, there: dict | None) -> list[str]:
    """Answers take the routes of the target's subnet, if those are this account's to see."""
    if there is None:
        return []
    route = _route(ec2, there, ipaddress.ip_address(host["PrivateIpAddress"]))
    if route is None or route.get("State") == "blackhole" or _leaves(route):
        return [
            f"the target's subnet has no way back to {host['PrivateIpAddress']}: no answer arrives"
        ]
    return []


def _leaves(route: dict) -> bool:
    """To the internet, where a private address ends."""
    out = route.get("NatGatewayId") or route.get("EgressOnlyInternetGatewayId")
    return bool(out) or route.get("GatewayId", "").startswith("igw-")


def _route(ec2: EC2Client, host: dict, address: Any) -> dict | None:
    """The most specific one."""
    fitting = [
        route
        for route in _table(ec2, host)["Routes"]
        if (cidr := route.get("DestinationCidrBlock")) and address in ipaddress.ip_network(cidr)
    ]
    return max(fitting, key=_length, default=None)


def _length(route: dict) -> int:
    return ipaddress.ip_network(route["DestinationCidrBlock"]).prefixlen


def _behind(ec2: EC2Client, route: dict) -> dict | None:
    """Subnet and VPC of the host that forwards; None: the way leaves this account's hosts."""
    if known := route.get("InstanceId"):
        found = call(ec2.describe_instances, InstanceIds=[known])["Reservations"]
        return found[0]["Instances"][0] if found else None
    if known := route.get("NetworkInterfaceId"):
        interfaces = call(ec2.describe_network_interfaces, NetworkInterfaceIds=[known])
        return next(iter(interfaces["NetworkInterfaces"]), None)
    if known := route.get("NatGatewayId"):
        return next(
            iter(call(ec2.describe_nat_gateways, NatGatewayIds=[known])["NatGateways"]), None
        )
    return None


def _hop(route: dict) -> str:
    gateway = route.get("GatewayId", "")
    if route.get("State") == "blackhole":
        return "a route that leads nowhere (blackhole)"
    if gateway == "local":
        return ""
    if gateway.startswith("vpce-"):
        return "inspection appliance (gateway load balancer endpoint)"
    if gateway:
        return "internet gateway"
    for key, name in ROUTES.items():
        if route.get(key):
            return f"{name} {route[key]}"
    return "an unknown hop"


def _table(ec2: EC2Client, host: dict) -> dict:
    for key, value in (("association.subnet-id", host["SubnetId"]), ("association.main", "true")):
        filters = [{"Name": key, "Values": [value]}, {"Name": "vpc-id", "Values": [host["VpcId"]]}]
        found = pages(ec2, "describe_route_tables", "RouteTables", Filters=filters)
        if found:
            return found[0]
    raise CloudError(f"{host['VpcId']} has no main route table")


def _interface(ec2: EC2Client, target: str) -> dict | None:
    """None: it is not of this account."""
    wanted = [{"Name": "addresses.private-ip-address", "Values": [target]}]
    found = pages(ec2, "describe_network_interfaces", "NetworkInterfaces", Filters=wanted)
    return found[0] if found else None


def _zone(ec2: EC2Client, host: dict, there: dict | None) -> list[str]:
    if there is None:
        return [
            "the target is another account's, or of a region that was not named: compare zone ids "
            "and placement groups by hand"
        ]
    both = sorted({host["SubnetId"], there["SubnetId"]})
    subnets = call(ec2.describe_subnets, SubnetIds=both)["Subnets"]
    zones = sorted({subnet["AvailabilityZoneId"] for subnet in subnets})
    return [f"two zones lie on the way: {' and '.join(zones)}"] if len(zones) > 1 else []


def _group(ec2: EC2Client, host: dict, there: dict | None) -> list[str]:
    """One cluster placement group for both is the shortest way there is."""
    known = ((there or {}).get("Attachment") or {}).get("InstanceId")
    if known is None:
        return []
    found = call(ec2.describe_instances, InstanceIds=[known])["Reservations"]
    other = found[0]["Instances"][0] if found else {}
    mine, theirs = (_placement(instance) for instance in (host, other))
    if mine and mine == theirs:
        return []
    names = f"client: {mine or 'none'}, target: {theirs or 'none'}"
    return [f"they are not in the same placement group ({names})"]


def _placement(instance: dict) -> str:
    placement = instance.get("Placement", {})
    return placement.get("GroupId") or placement.get("GroupName") or ""
