"""Transit Gateways in stacks, and multicast domains, which moto has none of.

Rules are those of AWS's guide to Transit Gateways. It names no error codes for them, so the fake
says IncorrectState and InvalidParameterValue, which EC2 says of other resources.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from moto.core.common_models import CloudFormationModel
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response

from fake_aws import stack_deletion
from fake_aws.stacks import Resource
from fake_aws.world import WORLD, hexadecimal

ENABLED = "enable"
Registered = tuple[str, str]  # group's address, interface


@dataclass
class Domain:
    id: str
    gateway: str
    igmp: bool
    static_sources: bool
    subnets: dict[str, str] = field(default_factory=dict)  # -> attachment
    members: set[Registered] = field(default_factory=set)
    sources: set[Registered] = field(default_factory=set)
    joined: set[Registered] = field(default_factory=set)  # by IGMP: hosts do that, no request


def domain(known: str) -> Domain:
    if known not in WORLD.domains:
        raise EC2ClientError(
            "InvalidTransitGatewayMulticastDomainId.NotFound", f"{known} does not exist"
        )
    return WORLD.domains[known]


def _wrong(text: str) -> EC2ClientError:
    return EC2ClientError("InvalidParameterValue", text)


def _busy(text: str) -> EC2ClientError:
    return EC2ClientError("IncorrectState", text)


class TransitAttachment(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayAttachment"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        made = ec2_backends[account][region].create_transit_gateway_vpc_attachment(
            properties["TransitGatewayId"], properties["VpcId"], properties["SubnetIds"]
        )
        return made.id, {"Id": made.id}


class MulticastDomain(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayMulticastDomain"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        gateway = ec2_backends[account][region].transit_gateways[properties["TransitGatewayId"]]
        if gateway.options["MulticastSupport"] != ENABLED:
            raise _wrong(f"{gateway.id} has no multicast support")
        options = properties.get("Options", {})
        igmp, static = (
            options.get(key) == ENABLED for key in ("Igmpv2Support", "StaticSourcesSupport")
        )
        if igmp and static:
            raise _wrong("Igmpv2Support and StaticSourcesSupport can't be enabled at the same time")
        made = Domain(hexadecimal(WORLD, "tgw-mcast-domain-"), gateway.id, igmp, static)
        WORLD.domains[made.id] = made
        return made.id, {"TransitGatewayMulticastDomainId": made.id}


class Association(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayMulticastDomainAssociation"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        held = domain(properties["TransitGatewayMulticastDomainId"])
        backend = ec2_backends[account][region]
        attachment = backend.transit_gateway_attachments[properties["TransitGatewayAttachmentId"]]
        subnet = backend.get_subnet(properties["SubnetId"])
        if attachment.transit_gateway_id != held.gateway or attachment.vpc_id != subnet.vpc_id:
            raise _wrong(f"{attachment.id} is not between {held.gateway} and {subnet.vpc_id}")
        held.subnets[subnet.id] = attachment.id
        return f"{held.id}|{attachment.id}|{subnet.id}", {}


def _register(properties: dict, account: str, region: str) -> tuple[Domain, Registered]:
    held = domain(properties["TransitGatewayMulticastDomainId"])
    interface = ec2_backends[account][region].get_network_interface(
        properties["NetworkInterfaceId"]
    )
    if interface.subnet.id not in held.subnets:
        raise _wrong(f"{interface.id} is in {interface.subnet.id}, which {held.id} has not")
    if interface.instance is None:
        raise _wrong(f"{interface.id} is attached to no instance")
    return held, (properties["GroupIpAddress"], interface.id)


class Member(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayMulticastGroupMember"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        held, pair = _register(properties, account, region)
        held.members.add(pair)
        return f"{held.id}|{'|'.join(pair)}", {}


class Source(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayMulticastGroupSource"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        held, pair = _register(properties, account, region)
        if not held.static_sources:
            raise _wrong(f"{held.id} has no static sources")
        if any(group == pair[0] for group, _ in held.sources):  # AWS's quota: one
            raise _wrong(f"{pair[0]} has a source")
        held.sources.add(pair)
        return f"{held.id}|{'|'.join(pair)}", {}


# --- deletion -----------------------------------------------------------------------------------


def _parts(resource: Any) -> list[str]:
    return list(resource.physical_resource_id.split("|"))


def _deregister(kind: str) -> Any:
    def act(ec2: Any, resource: Any) -> None:
        known, group, interface = _parts(resource)
        getattr(domain(known), kind).remove((group, interface))

    return act


def _disassociate(ec2: Any, resource: Any) -> None:
    known, _, subnet = _parts(resource)
    held = domain(known)
    for _, interface in held.members | held.sources:
        if ec2.enis[interface].subnet.id == subnet:
            raise _busy(f"{interface} of {subnet} is registered with {known}")
    del held.subnets[subnet]


def _delete_domain(ec2: Any, resource: Any) -> None:
    held = domain(resource.physical_resource_id)
    if held.subnets:
        raise _busy(f"{held.id} has the subnets {', '.join(held.subnets)}")
    del WORLD.domains[held.id]


def _delete_attachment(ec2: Any, resource: Any) -> None:
    known = resource.physical_resource_id
    if any(known in held.subnets.values() for held in WORLD.domains.values()):
        raise _busy(f"{known} has a multicast domain")
    ec2.delete_transit_gateway_vpc_attachment(known)


def _delete_gateway(ec2: Any, gateway: Any) -> None:
    attached = ec2.transit_gateway_attachments.values()
    if held := [a.id for a in attached if a.transit_gateway_id == gateway.id]:
        raise _busy(f"{gateway.id} has non-deleted attachments: {', '.join(held)}")
    ec2.delete_transit_gateway(gateway.id)


# --- requests -----------------------------------------------------------------------------------


def search_transit_gateway_multicast_groups(self: Any) -> ActionResult:
    held = domain(self._get_param("TransitGatewayMulticastDomainId"))
    kinds = (
        (held.members, {"GroupMember": True, "MemberType": "static"}),
        (held.joined, {"GroupMember": True, "MemberType": "igmp"}),
        (held.sources, {"GroupSource": True, "SourceType": "static"}),
    )
    shown = [
        {"GroupIpAddress": group, "NetworkInterfaceId": interface, "ResourceType": "vpc", **kind}
        for pairs, kind in kinds for group, interface in sorted(pairs)
    ]  # fmt: skip
    return ActionResult({"MulticastGroups": shown})


def install() -> None:
    """Adds to the deletions of stacks, and to moto's requests."""
    stack_deletion.DELETE |= {
        "AWS::EC2::TransitGateway": _delete_gateway,
        TransitAttachment.type: _delete_attachment,
        MulticastDomain.type: _delete_domain,
        Association.type: _disassociate,
        Member.type: _deregister("members"),
        Source.type: _deregister("sources"),
    }
    method = search_transit_gateway_multicast_groups
    setattr(EC2Response, method.__name__, method)
