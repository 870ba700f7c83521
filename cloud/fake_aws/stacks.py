"""Additions to moto's CloudFormation: resource types, and launch templates for instances."""

from __future__ import annotations

import base64
import uuid
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.parsing import ResourceMap
from moto.cloudfront.models import cloudfront_backends
from moto.core.common_models import CloudFormationModel
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.instances import Instance
from moto.ec2.models.security_groups import SecurityGroupIngress
from moto.ec2.models.subnets import SubnetRouteTableAssociation
from moto.ec2.models.vpc_peering_connections import VPCPeeringConnection
from moto.elbv2.models import FakeLoadBalancer, FakeTargetGroup

from fake_aws import ec2, stack_actions
from fake_aws.world import WORLD, Group, hexadecimal

_make = Instance.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]
_make_balancer = FakeLoadBalancer.create_from_cloudformation_json.__func__  # type: ignore
_make_rule = SecurityGroupIngress.create_from_cloudformation_json.__func__  # type: ignore
_make_targets = FakeTargetGroup.create_from_cloudformation_json.__func__  # type: ignore


def make_instance(
    cls: type[Instance], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> Instance:  # fmt: skip
    """Also by a launch template, into a placement group, with a timer of its own."""
    properties = cloudformation_json["Properties"]
    if known := properties.get("LaunchTemplate", {}).get("LaunchTemplateId"):
        backend = ec2_backends[account_id][region_name]
        data = backend.get_launch_template(known).latest_version().data
        properties = {**{k: v for k, v in data.items() if v}, **properties}
    own = None  # an interface that the stack made before
    for interface in properties.get("NetworkInterfaces", []):
        own = ec2_backends[account_id][region_name].enis.get(interface.get("NetworkInterfaceId"))
        properties = {**properties, "SubnetId": own.subnet.id if own else interface["SubnetId"]}
    group = _group(properties, account_id)
    if group is not None:
        subnet = ec2_backends[account_id][region_name].get_subnet(properties["SubnetId"])
        ec2.reject_wrong_zone(group, subnet.availability_zone_id)
    stack_actions.ask_to_run(properties["InstanceType"])
    whole = {**cloudformation_json, "Properties": properties}
    made = _make(cls, resource_name, whole, account_id, region_name, **kwargs)
    ended = properties.get("InstanceInitiatedShutdownBehavior", "stop")
    made.instance_initiated_shutdown_behavior = ended
    made.source_dest_check = properties.get("SourceDestCheck", True)
    asked = properties.get("Placement", {})
    ec2._place(made, group, {key: value for key, value in asked.items() if value})
    if own is not None:
        _replace_interface(made, own)
    WORLD.instances[made.id] = made
    data = properties.get("UserData", "")  # text, or what moto made of a launch template's
    script = base64.b64decode(data) if isinstance(data, str) else data.decode()
    WORLD.set_timer(made.id, script.decode() if isinstance(script, bytes) else str(script))
    WORLD.on_launch(made)
    return made


def _replace_interface(instance: Instance, own: Any) -> None:
    """moto's stacks give each instance an interface of its own."""
    enis = instance.ec2_backend.enis
    for known in [e.id for e in enis.values() if e.instance is instance]:
        del enis[known]
    instance.attach_eni(own, 0)


def _group(properties: dict, account: str) -> Any:
    known = properties.get("Placement", {}).get("GroupId")
    name = properties.get("Placement", {}).get("GroupName") or properties.get("PlacementGroupName")
    if not known and not name:
        return None
    for group in WORLD.groups.values():
        mine = group.owner == account
        if (known == group.id and (mine or account in group.shared_with)) or (
            mine and name == group.name
        ):
            return group
    raise ec2.unknown_group(known or name)


def make_balancer(
    cls: type[FakeLoadBalancer], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> FakeLoadBalancer:  # fmt: skip
    """Makes a balancer of the template's type, with an interface in each subnet."""
    made = _make_balancer(
        cls, resource_name, cloudformation_json, account_id, region_name, **kwargs
    )
    made.type = cloudformation_json["Properties"].get("Type", "application")
    network = made.type == "network"
    backend = ec2_backends[account_id][region_name]
    for subnet in made.subnets:
        text = f"ELB {made.arn.partition('loadbalancer/')[2]}"
        interface = backend.create_network_interface(subnet, "", description=text)
        interface.interface_type = "network_load_balancer" if network else "interface"
    return made


def make_targets(
    cls: type[FakeTargetGroup], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> FakeTargetGroup:  # fmt: skip
    made = _make_targets(cls, resource_name, cloudformation_json, account_id, region_name, **kwargs)
    made.register(cloudformation_json["Properties"].get("Targets", []))
    return made


def make_rule(
    cls: type[SecurityGroupIngress], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> SecurityGroupIngress:  # fmt: skip
    """Also of a protocol without ports, such as IGMP."""
    asked = cloudformation_json["Properties"]
    if asked["IpProtocol"] != "-1":
        asked = {"FromPort": -1, "ToPort": -1, **asked}
    whole = {**cloudformation_json, "Properties": asked}
    return _make_rule(cls, resource_name, whole, account_id, region_name, **kwargs)


def make_peering(
    cls: type[VPCPeeringConnection], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> VPCPeeringConnection:  # fmt: skip
    """Within one account CloudFormation accepts it too. moto's stacks know one region alone."""
    asked = cloudformation_json["Properties"]
    here = ec2_backends[account_id][region_name]
    there = ec2_backends[account_id][asked.get("PeerRegion") or region_name]
    made = here.create_vpc_peering_connection(
        here.get_vpc(asked["VpcId"]), there.get_vpc(asked["PeerVpcId"])
    )
    return there.accept_vpc_peering_connection(made.id)


# --- types that moto does not have --------------------------------------------------------------


class Resource:
    """One resource of a stack; `make` asks moto's backend. moto knows direct subclasses alone."""

    type = ""

    def __init__(self, known: str, attributes: dict[str, Any]) -> None:
        self.physical_resource_id, self.attributes = known, attributes

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Any, account_id: str, region_name: str,
        **kwargs: Any,
    ) -> Resource:  # fmt: skip
        return cls(*cls.make(cloudformation_json["Properties"], account_id, region_name))

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    @classmethod
    def cloudformation_type(cls) -> str:
        return cls.type

    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return True

    def get_cfn_attribute(self, attribute_name: str) -> Any:
        return self.attributes[attribute_name]

    def is_created(self) -> bool:
        return True


class Service(Resource, CloudFormationModel):
    type = "AWS::EC2::VPCEndpointService"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        made = ec2_backends[account][region].create_vpc_endpoint_service_configuration(
            properties["NetworkLoadBalancerArns"], properties.get("AcceptanceRequired", True),
            "", [], [region],
        )  # fmt: skip
        return made.id, {"ServiceId": made.id}


class ServicePermissions(Resource, CloudFormationModel):
    type = "AWS::EC2::VPCEndpointServicePermissions"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        ec2_backends[account][region].modify_vpc_endpoint_service_permissions(
            properties["ServiceId"], properties["AllowedPrincipals"], []
        )
        return f"permissions-{properties['ServiceId']}", {}


class AddressInUse(Resource, CloudFormationModel):
    type = "AWS::EC2::EIPAssociation"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        backend = ec2_backends[account][region]
        interface = backend.get_network_interface(properties["NetworkInterfaceId"])
        made = backend.associate_address(
            instance=interface.instance, eni=interface, allocation_id=properties["AllocationId"]
        )
        return made.association_id, {}


class PlacementGroup(Resource, CloudFormationModel):
    type = "AWS::EC2::PlacementGroup"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        known = hexadecimal(WORLD, "pg-")
        made = Group(
            known, f"stack-{known}", account, region, properties["Strategy"], [],
            WORLD.draw_latency_us(), partition_count=int(properties.get("PartitionCount") or 0),
        )  # fmt: skip
        WORLD.groups[known] = made
        return made.name, {"GroupId": known, "GroupName": made.name}


class Distribution(Resource, CloudFormationModel):
    type = "AWS::CloudFront::Distribution"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        asked = dict(properties["DistributionConfig"])
        asked["Origins"] = _listed(asked["Origins"])
        asked["CallerReference"] = str(uuid.uuid4())
        behaviour = asked["DefaultCacheBehavior"]
        behaviour["AllowedMethods"] = _listed(behaviour.get("AllowedMethods", ["GET", "HEAD"]))
        made, _, _ = cloudfront_backends[account]["aws"].create_distribution(asked, [])
        return made.id, {"DomainName": made.domain_name, "Id": made.id}


class ResourceShare(Resource, CloudFormationModel):
    type = "AWS::RAM::ResourceShare"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        asked = {
            "name": properties["Name"], "resourceArns": properties["ResourceArns"],
            "principals": properties["Principals"],
            "allowExternalPrincipals": properties.get("AllowExternalPrincipals", True),
        }  # fmt: skip
        made = WORLD.ram.answer(account, "CreateResourceShare", asked)["resourceShare"]
        return made["resourceShareArn"], {"Arn": made["resourceShareArn"]}


def _listed(items: list) -> dict:
    """CloudFront's API counts its lists, CloudFormation does not."""
    return {"Quantity": len(items), "Items": items}


_create = parsing.parse_and_create_resource


def create(logical_id: str, resource_json: dict, resources_map: ResourceMap, **place: str) -> Any:
    """With the permissions of who creates the stack; moto asks for none."""
    condition = resource_json.get("Condition")
    if not condition or resources_map.lazy_condition_map[condition]:
        stack_actions.ask(resource_json["Type"], create=True)
    return _create(logical_id, resource_json, resources_map, **place)


def associate(self: Any, route_table_id: str, subnet_id: str) -> SubnetRouteTableAssociation:
    """moto notes it where its route tables don't look."""
    self.associate_route_table(route_table_id, subnet_id=subnet_id)
    return SubnetRouteTableAssociation(route_table_id, subnet_id)


def install() -> None:
    """Replaces methods of moto's classes."""
    parsing.parse_and_create_resource = create
    EC2Backend.create_subnet_association = associate
    Instance.create_from_cloudformation_json = classmethod(make_instance)
    VPCPeeringConnection.create_from_cloudformation_json = classmethod(make_peering)
    SecurityGroupIngress.create_from_cloudformation_json = classmethod(make_rule)
    SecurityGroupIngress.physical_resource_id = property(lambda made: f"ingress-{id(made)}")
    FakeLoadBalancer.create_from_cloudformation_json = classmethod(make_balancer)
    FakeTargetGroup.create_from_cloudformation_json = classmethod(make_targets)
