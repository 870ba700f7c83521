"""Additions to moto's CloudFormation: resource types, launch templates, an order of deletion."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.models import CloudFormationBackend
from moto.cloudformation.parsing import ResourceMap
from moto.cloudfront.models import cloudfront_backends
from moto.core.common_models import CloudFormationModel
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.instances import Instance
from moto.ec2.models.security_groups import SecurityGroupIngress
from moto.ec2.models.subnets import SubnetRouteTableAssociation
from moto.ec2.models.vpc_peering_connections import VPCPeeringConnection
from moto.elbv2.models import FakeLoadBalancer, FakeTargetGroup, elbv2_backends

from fake_aws import ec2, stack_actions
from fake_aws.world import WORLD

_make = Instance.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]
_make_balancer = FakeLoadBalancer.create_from_cloudformation_json.__func__  # type: ignore
_make_peering = VPCPeeringConnection.create_from_cloudformation_json.__func__  # type: ignore
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
    for interface in properties.get("NetworkInterfaces", []):
        properties = {**properties, "SubnetId": interface["SubnetId"]}
    group = _group(properties, account_id)
    stack_actions.ask_to_run(properties["InstanceType"])
    whole = {**cloudformation_json, "Properties": properties}
    made = _make(cls, resource_name, whole, account_id, region_name, **kwargs)
    ended = properties.get("InstanceInitiatedShutdownBehavior", "stop")
    made.instance_initiated_shutdown_behavior = ended
    made.source_dest_check = properties.get("SourceDestCheck", True)
    ec2._place(made, group, {})
    WORLD.instances[made.id] = made
    data = properties.get("UserData", "")  # text, or what moto made of a launch template's
    script = base64.b64decode(data) if isinstance(data, str) else data.decode()
    WORLD.set_timer(made.id, script.decode() if isinstance(script, bytes) else str(script))
    return made


def _group(properties: dict, account: str) -> Any:
    known = properties.get("Placement", {}).get("GroupId")
    name = properties.get("PlacementGroupName")
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


def make_peering(
    cls: type[VPCPeeringConnection], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> VPCPeeringConnection:  # fmt: skip
    """Within one account CloudFormation accepts it too."""
    made = _make_peering(cls, resource_name, cloudformation_json, account_id, region_name, **kwargs)
    return ec2_backends[account_id][region_name].accept_vpc_peering_connection(made.id)


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


class TransitAttachment(Resource, CloudFormationModel):
    type = "AWS::EC2::TransitGatewayAttachment"

    @classmethod
    def make(cls, properties: dict, account: str, region: str) -> tuple[str, dict[str, Any]]:
        made = ec2_backends[account][region].create_transit_gateway_vpc_attachment(
            properties["TransitGatewayId"], properties["VpcId"], properties["SubnetIds"]
        )
        return made.id, {"Id": made.id}


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


# --- deletion -----------------------------------------------------------------------------------


def _nothing(ec2: Any, resource: Any) -> None:
    """It goes with what it belongs to."""


def _delete_service(ec2: Any, resource: Any) -> None:
    ec2.delete_vpc_endpoint_service_configurations([resource.physical_resource_id])


def _delete_instance(ec2: Any, instance: Any) -> None:
    """moto keeps the interface of an instance that a stack made."""
    WORLD.end(instance)
    for known in [e.id for e in ec2.enis.values() if e.instance is instance]:
        del ec2.enis[known]


def _delete_nat(ec2: Any, resource: Any) -> None:
    """With its interface, which moto keeps. AWS shows the gateway as deleted for an hour."""
    ec2.delete_nat_gateway(resource.id)
    del ec2.nat_gateways[resource.id]
    for known in [e["networkInterfaceId"] for e in resource.address_set]:
        del ec2.enis[known]


def _delete_endpoint(ec2: Any, made: Any) -> None:
    """moto shows it for ever."""
    ec2.delete_vpc_endpoints([made.id])
    del ec2.vpc_end_points[made.id]


def _revoke(ec2: Any, made: Any) -> None:
    asked = made.properties
    ec2.revoke_security_group_ingress(
        asked["GroupId"], asked["IpProtocol"], asked["FromPort"], asked["ToPort"],
        [{"CidrIp": asked["CidrIp"], "Description": asked["Description"]}],
    )  # fmt: skip


def _delete_subnet(ec2: Any, subnet: Any) -> None:
    if held := [e.id for e in ec2.enis.values() if e.subnet.id == subnet.id]:
        raise EC2ClientError(
            "DependencyViolation", f"The subnet '{subnet.id}' has dependencies: {', '.join(held)}"
        )
    ec2.delete_subnet(subnet.id)


def _disassociate(ec2: Any, resource: Any) -> None:
    associations = ec2.get_route_table(resource.route_table_id)._associations
    for known in [k for k, subnet in associations.items() if subnet == resource.subnet_id]:
        ec2.disassociate_route_table(known)


def _delete_distribution(ec2: Any, resource: Any) -> None:
    backend = cloudfront_backends[ec2.account_id]["aws"]
    backend.delete_distribution(resource.physical_resource_id, True)


def _elb(ec2: Any) -> Any:
    return elbv2_backends[ec2.account_id][ec2.region_name]


def _delete_balancer(ec2: Any, made: Any) -> None:
    text = f"ELB {made.arn.partition('loadbalancer/')[2]}"
    for known in [e.id for e in ec2.enis.values() if e.description == text]:
        ec2.delete_network_interface(known)
    _elb(ec2).delete_load_balancer(made.arn)


def _unshare(ec2: Any, resource: Any) -> None:
    asked = {"resourceShareArn": resource.physical_resource_id}
    WORLD.ram.answer(ec2.account_id, "DeleteResourceShare", asked)


DELETE: dict[str, Callable[[Any, Any], Any]] = {
    "AWS::CloudFront::Distribution": _delete_distribution,
    "AWS::EC2::EIP": lambda ec2, eip: ec2.release_address(allocation_id=eip.allocation_id),
    "AWS::EC2::Instance": _delete_instance,
    "AWS::EC2::InternetGateway": lambda ec2, gateway: ec2.delete_internet_gateway(gateway.id),
    "AWS::EC2::LaunchTemplate": lambda ec2, made: ec2.delete_launch_template(None, made.id),
    "AWS::EC2::NatGateway": _delete_nat,
    "AWS::EC2::Route": lambda ec2, route: ec2.delete_route(
        route.route_table.id, route.destination_cidr_block
    ),
    "AWS::EC2::RouteTable": lambda ec2, table: ec2.delete_route_table(table.id),
    "AWS::EC2::SecurityGroup": lambda ec2, group: ec2.delete_security_group(group_id=group.id),
    "AWS::EC2::SecurityGroupIngress": _revoke,
    "AWS::EC2::Subnet": _delete_subnet,
    "AWS::EC2::SubnetRouteTableAssociation": _disassociate,
    "AWS::EC2::TransitGatewayAttachment": lambda ec2, made: (
        ec2.delete_transit_gateway_vpc_attachment(made.physical_resource_id)
    ),
    "AWS::EC2::VPC": lambda ec2, vpc: ec2.delete_vpc(vpc.id),
    "AWS::EC2::VPCEndpoint": _delete_endpoint,
    "AWS::EC2::VPCEndpointService": _delete_service,
    "AWS::EC2::VPCEndpointServicePermissions": _nothing,
    "AWS::EC2::VPCGatewayAttachment": lambda ec2, made: ec2.detach_internet_gateway(
        made.gateway_id, made.vpc_id
    ),
    "AWS::EC2::VPCPeeringConnection": lambda ec2, made: ec2.delete_vpc_peering_connection(made.id),
    "AWS::ElasticLoadBalancingV2::Listener": lambda ec2, made: _elb(ec2).delete_listener(made.arn),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": _delete_balancer,
    "AWS::ElasticLoadBalancingV2::TargetGroup": lambda ec2, made: _elb(ec2).delete_target_group(
        made.arn
    ),
    "AWS::RAM::ResourceShare": _unshare,
}


def delete(self: ResourceMap) -> None:
    """Last made, first deleted, as AWS does it; moto begins with the VPC and fails."""
    backend = ec2_backends[self._account_id][self._region_name]
    for name, resource in reversed(list(self._parsed_resources.items())):
        if name in self._resource_json_map and resource is not None:
            kind = self._resource_json_map[name]["Type"]
            stack_actions.ask(kind, create=False)
            DELETE[kind](backend, resource)
            del self._parsed_resources[name]


_create = parsing.parse_and_create_resource


def create(logical_id: str, resource_json: dict, resources_map: ResourceMap, **place: str) -> Any:
    """With the permissions of who creates the stack; moto asks for none."""
    condition = resource_json.get("Condition")
    if not condition or resources_map.lazy_condition_map[condition]:
        stack_actions.ask(resource_json["Type"], create=True)
    return _create(logical_id, resource_json, resources_map, **place)


_delete_stack = CloudFormationBackend.delete_stack


def delete_stack(self: CloudFormationBackend, name_or_stack_id: str) -> None:
    """A stack of which something can't be deleted stays, as AWS does it; moto forgets it."""
    before = dict(self.stacks)
    try:
        _delete_stack(self, name_or_stack_id)
    except EC2ClientError as error:
        stack = next(s for s in before.values() if name_or_stack_id in (s.name, s.stack_id))
        stack.status = "DELETE_FAILED"
        stack._add_stack_event("DELETE_FAILED", resource_status_reason=str(error))
        self.stacks[stack.stack_id] = stack


def associate(self: Any, route_table_id: str, subnet_id: str) -> SubnetRouteTableAssociation:
    """moto notes it where its route tables don't look."""
    self.associate_route_table(route_table_id, subnet_id=subnet_id)
    return SubnetRouteTableAssociation(route_table_id, subnet_id)


def install() -> None:
    """Replaces methods of moto's classes."""
    parsing.parse_and_create_resource = create
    ResourceMap.delete = delete
    CloudFormationBackend.delete_stack = delete_stack
    EC2Backend.create_subnet_association = associate
    Instance.create_from_cloudformation_json = classmethod(make_instance)
    VPCPeeringConnection.create_from_cloudformation_json = classmethod(make_peering)
    SecurityGroupIngress.physical_resource_id = property(lambda made: f"ingress-{id(made)}")
    FakeLoadBalancer.create_from_cloudformation_json = classmethod(make_balancer)
    FakeTargetGroup.create_from_cloudformation_json = classmethod(make_targets)
