"""Stacks in moto: an instance of a launch template, and the deletions that moto's stacks lack.

moto 5.2 deletes a stack's instances, security groups, subnets and VPCs. It has no deletion for
route tables, gateways, addresses, launch templates and peerings, so a VPC with a route table of its
own stays and the stack can't be deleted. Everything here asks moto's own backend.
"""

from moto.ec2.models import ec2_backends
from moto.ec2.models.elastic_ip_addresses import ElasticAddress
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.instances import Instance
from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.vpc_peering_connections import VPCPeeringConnection

_make = Instance.create_from_cloudformation_json.__func__


def make_instance(cls, resource_name, cloudformation_json, account_id, region_name, **kwargs):
    """moto takes the image from the instance's own properties alone."""
    held = cloudformation_json["Properties"]
    if known := held.get("LaunchTemplate", {}).get("LaunchTemplateId"):
        template = ec2_backends[account_id][region_name].get_launch_template(known)
        held = {**{k: v for k, v in template.latest_version().data.items() if v}, **held}
    for interface in held.get("NetworkInterfaces", []):
        own = ec2_backends[account_id][region_name].enis.get(interface.get("NetworkInterfaceId"))
        held = {**held, "SubnetId": own.subnet.id if own else interface["SubnetId"]}
    whole = {**cloudformation_json, "Properties": held}
    return _make(cls, resource_name, whole, account_id, region_name, **kwargs)


def _delete_gateway(ec2, known):
    for vpc in [e["VpcId"] for e in ec2.internet_gateways[known].attachments]:
        ec2.detach_internet_gateway(known, vpc)
    ec2.delete_internet_gateway(known)


DELETE = {
    ElasticAddress: lambda ec2, known: ec2.release_address(address=known),
    InternetGateway: _delete_gateway,
    LaunchTemplate: lambda ec2, known: ec2.delete_launch_template(None, known),
    NetworkInterface: lambda ec2, known: ec2.delete_network_interface(known),
    NatGateway: lambda ec2, known: ec2.delete_nat_gateway(known),
    RouteTable: lambda ec2, known: ec2.delete_route_table(known),
    VPCPeeringConnection: lambda ec2, known: ec2.delete_vpc_peering_connection(known),
}


def _deletion(remove):
    def delete(cls, resource_name, cloudformation_json, account_id, region_name):
        remove(ec2_backends[account_id][region_name], resource_name)

    return classmethod(delete)


def install():
    Instance.create_from_cloudformation_json = classmethod(make_instance)
    for kind, remove in DELETE.items():
        kind.delete_from_cloudformation_json = _deletion(remove)
