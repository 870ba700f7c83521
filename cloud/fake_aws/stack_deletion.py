"""How the fake deletes stacks: last made, first deleted, and what AWS would keep stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moto.cloudformation.models import CloudFormationBackend
from moto.cloudformation.parsing import ResourceMap
from moto.cloudfront.models import cloudfront_backends
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.elbv2.models import elbv2_backends

from fake_aws import stack_actions
from fake_aws.world import WORLD


def _nothing(ec2: Any, resource: Any) -> None:
    """It goes with what it belongs to."""


def _delete_service(ec2: Any, resource: Any) -> None:
    ec2.delete_vpc_endpoint_service_configurations([resource.physical_resource_id])


def _delete_instance(ec2: Any, instance: Any) -> None:
    """moto keeps the interface of an instance. One that a stack made stays as the stack's."""
    mine = [e for e in ec2.enis.values() if e.instance is instance]
    WORLD.end(instance)
    for interface in mine:
        if getattr(interface, "logical_resource_id", None) is None:
            del ec2.enis[interface.id]
        else:
            interface.instance = interface.attachment_id = None


def _delete_interface(ec2: Any, interface: Any) -> None:
    if interface.instance is not None:
        raise EC2ClientError("InvalidNetworkInterface.InUse", f"{interface.id} is in use.")
    ec2.delete_network_interface(interface.id)


def _delete_group(ec2: Any, resource: Any) -> None:
    [group] = [g for g in WORLD.groups.values() if g.name == resource.physical_resource_id]
    if group.live():
        raise EC2ClientError("InvalidPlacementGroup.InUse", f"{group.name} is in use.")
    del WORLD.groups[group.id]


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
        asked["GroupId"], asked["IpProtocol"], asked.get("FromPort"), asked.get("ToPort"),
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
    "AWS::EC2::EIPAssociation": lambda ec2, made: ec2.disassociate_address(
        association_id=made.physical_resource_id
    ),
    "AWS::EC2::Instance": _delete_instance,
    "AWS::EC2::InternetGateway": lambda ec2, gateway: ec2.delete_internet_gateway(gateway.id),
    "AWS::EC2::LaunchTemplate": lambda ec2, made: ec2.delete_launch_template(None, made.id),
    "AWS::EC2::NatGateway": _delete_nat,
    "AWS::EC2::NetworkInterface": _delete_interface,
    "AWS::EC2::PlacementGroup": _delete_group,
    "AWS::EC2::Route": lambda ec2, route: ec2.delete_route(
        route.route_table.id, route.destination_cidr_block
    ),
    "AWS::EC2::RouteTable": lambda ec2, table: ec2.delete_route_table(table.id),
    "AWS::EC2::SecurityGroup": lambda ec2, group: ec2.delete_security_group(group_id=group.id),
    "AWS::EC2::SecurityGroupIngress": _revoke,
    "AWS::EC2::Subnet": _delete_subnet,
    "AWS::EC2::SubnetRouteTableAssociation": _disassociate,
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


def install() -> None:
    """Replaces methods of moto's classes."""
    ResourceMap.delete = delete
    CloudFormationBackend.delete_stack = delete_stack
