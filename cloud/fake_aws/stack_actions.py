"""What CloudFormation does in its caller's name, for the types of resources that our templates use.

From `handlers` in the types' schemas (`aws cloudformation describe-type`), without what belongs to
properties that no template of ours has. AWS checks each of these against the caller's policies.
"""

from __future__ import annotations

from contextvars import ContextVar

from moto.ec2.exceptions import EC2ClientError

from fake_aws.permissions import Need, allowed

VIA = "cloudformation.amazonaws.com"
CALLER: ContextVar[list[dict] | None] = ContextVar("policy of who calls", default=None)

_TAG, _RUN = "ec2:CreateTags", "ec2:RunInstances"

# By type: to create one, to delete one.
ACTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "AWS::CloudFront::Distribution": (
        (
            "cloudfront:CreateDistribution",
            "cloudfront:GetDistribution", "cloudfront:TagResource",
        ),
        (
            "cloudfront:DeleteDistribution", "cloudfront:GetDistribution",
            "cloudfront:GetDistributionConfig",
        ),
    ),
    "AWS::EC2::EIP": (
        ("ec2:AllocateAddress", "ec2:DescribeAddresses", _TAG),
        ("ec2:ReleaseAddress", "ec2:DescribeAddresses"),
    ),
    "AWS::EC2::EIPAssociation": (
        ("ec2:AssociateAddress", "ec2:DescribeAddresses"),
        ("ec2:DisassociateAddress", "ec2:DescribeAddresses"),
    ),
    "AWS::EC2::Instance": (
        (
            "ec2:DescribeInstances", "ec2:DescribeVolumes",
            "ec2:ModifyInstanceAttribute", _TAG,
        ),
        ("ec2:TerminateInstances", "ec2:DescribeInstances"),
    ),
    "AWS::EC2::InternetGateway": (
        ("ec2:CreateInternetGateway", "ec2:DescribeInternetGateways", _TAG),
        ("ec2:DeleteInternetGateway", "ec2:DescribeInternetGateways"),
    ),
    "AWS::EC2::LaunchTemplate": (
        ("ec2:CreateLaunchTemplate", "ec2:DescribeLaunchTemplates", _TAG),
        ("ec2:DeleteLaunchTemplate", "ec2:DescribeLaunchTemplates"),
    ),
    "AWS::EC2::NatGateway": (
        ("ec2:CreateNatGateway", "ec2:DescribeNatGateways", _TAG),
        ("ec2:DeleteNatGateway", "ec2:DescribeNatGateways"),
    ),
    "AWS::EC2::NetworkInterface": (
        ("ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", _TAG),
        ("ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces"),
    ),
    "AWS::EC2::PlacementGroup": (
        ("ec2:CreatePlacementGroup", "ec2:DescribePlacementGroups", _TAG),
        ("ec2:DeletePlacementGroup", "ec2:DescribePlacementGroups"),
    ),
    "AWS::EC2::Route": (
        ("ec2:CreateRoute", "ec2:DescribeRouteTables"),
        ("ec2:DeleteRoute", "ec2:DescribeRouteTables"),
    ),
    "AWS::EC2::RouteTable": (
        ("ec2:CreateRouteTable", "ec2:DescribeRouteTables", _TAG),
        ("ec2:DeleteRouteTable", "ec2:DescribeRouteTables"),
    ),
    "AWS::EC2::SecurityGroup": (
        (
            "ec2:CreateSecurityGroup", "ec2:AuthorizeSecurityGroupIngress",
            "ec2:DescribeSecurityGroups", _TAG,
        ),
        ("ec2:DeleteSecurityGroup", "ec2:DescribeSecurityGroups"),
    ),
    "AWS::EC2::SecurityGroupIngress": (
        ("ec2:AuthorizeSecurityGroupIngress", "ec2:DescribeSecurityGroupRules"),
        ("ec2:RevokeSecurityGroupIngress", "ec2:DescribeSecurityGroupRules"),
    ),
    "AWS::EC2::Subnet": (
        ("ec2:CreateSubnet", "ec2:ModifySubnetAttribute", "ec2:DescribeSubnets", _TAG),
        ("ec2:DeleteSubnet", "ec2:DescribeSubnets"),
    ),
    "AWS::EC2::SubnetRouteTableAssociation": (
        ("ec2:AssociateRouteTable", "ec2:DescribeRouteTables"),
        ("ec2:DisassociateRouteTable", "ec2:DescribeRouteTables"),
    ),
    "AWS::EC2::TransitGateway": (
        ("ec2:CreateTransitGateway", "ec2:DescribeTransitGateways", _TAG),
        ("ec2:DeleteTransitGateway", "ec2:DescribeTransitGateways"),
    ),
    "AWS::EC2::TransitGatewayAttachment": (
        (
            "ec2:CreateTransitGatewayVpcAttachment", "ec2:DescribeTransitGatewayVpcAttachments",
            _TAG,
        ),
        ("ec2:DeleteTransitGatewayVpcAttachment", "ec2:DescribeTransitGatewayVpcAttachments"),
    ),
    "AWS::EC2::TransitGatewayMulticastDomain": (
        (
            "ec2:CreateTransitGatewayMulticastDomain",
            "ec2:DescribeTransitGatewayMulticastDomains", _TAG,
        ),
        (
            "ec2:DeleteTransitGatewayMulticastDomain",
            "ec2:DescribeTransitGatewayMulticastDomains",
        ),
    ),
    "AWS::EC2::TransitGatewayMulticastDomainAssociation": (
        (
            "ec2:AssociateTransitGatewayMulticastDomain",
            "ec2:GetTransitGatewayMulticastDomainAssociations",
        ),
        (
            "ec2:DisassociateTransitGatewayMulticastDomain",
            "ec2:GetTransitGatewayMulticastDomainAssociations",
        ),
    ),
    "AWS::EC2::TransitGatewayMulticastGroupMember": (
        (
            "ec2:RegisterTransitGatewayMulticastGroupMembers",
            "ec2:SearchTransitGatewayMulticastGroups",
        ),
        (
            "ec2:DeregisterTransitGatewayMulticastGroupMembers",
            "ec2:SearchTransitGatewayMulticastGroups",
        ),
    ),
    "AWS::EC2::TransitGatewayMulticastGroupSource": (
        (
            "ec2:RegisterTransitGatewayMulticastGroupSources",
            "ec2:SearchTransitGatewayMulticastGroups",
        ),
        (
            "ec2:DeregisterTransitGatewayMulticastGroupSources",
            "ec2:SearchTransitGatewayMulticastGroups",
        ),
    ),
    "AWS::EC2::VPC": (
        ("ec2:CreateVpc", "ec2:ModifyVpcAttribute", "ec2:DescribeVpcs", _TAG),
        ("ec2:DeleteVpc", "ec2:DescribeVpcs"),
    ),
    "AWS::EC2::VPCEndpoint": (
        ("ec2:CreateVpcEndpoint", "ec2:DescribeVpcEndpoints", _TAG),
        ("ec2:DeleteVpcEndpoints", "ec2:DescribeVpcEndpoints"),
    ),
    "AWS::EC2::VPCEndpointService": (
        (
            "ec2:CreateVpcEndpointServiceConfiguration",
            "ec2:DescribeVpcEndpointServiceConfigurations", _TAG,
        ),
        (
            "ec2:DeleteVpcEndpointServiceConfigurations",
            "ec2:DescribeVpcEndpointServiceConfigurations",
        ),
    ),
    "AWS::EC2::VPCEndpointServicePermissions": (
        ("ec2:ModifyVpcEndpointServicePermissions", "ec2:DescribeVpcEndpointServicePermissions"),
        ("ec2:ModifyVpcEndpointServicePermissions", "ec2:DescribeVpcEndpointServicePermissions"),
    ),
    "AWS::EC2::VPCGatewayAttachment": (
        ("ec2:AttachInternetGateway", "ec2:DescribeInternetGateways"),
        ("ec2:DetachInternetGateway", "ec2:DescribeInternetGateways"),
    ),
    "AWS::EC2::VPCPeeringConnection": (
        (
            "ec2:CreateVpcPeeringConnection", "ec2:AcceptVpcPeeringConnection",
            "ec2:DescribeVpcPeeringConnections", _TAG,
        ),
        ("ec2:DeleteVpcPeeringConnection", "ec2:DescribeVpcPeeringConnections"),
    ),
    "AWS::ElasticLoadBalancingV2::Listener": (
        ("elasticloadbalancing:CreateListener", "elasticloadbalancing:DescribeListeners"),
        ("elasticloadbalancing:DeleteListener", "elasticloadbalancing:DescribeListeners"),
    ),
    "AWS::ElasticLoadBalancingV2::LoadBalancer": (
        (
            "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:AddTags",
            "elasticloadbalancing:ModifyLoadBalancerAttributes",
            "elasticloadbalancing:DescribeLoadBalancers",
        ),
        ("elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:DescribeLoadBalancers"),
    ),
    "AWS::ElasticLoadBalancingV2::TargetGroup": (
        (
            "elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:RegisterTargets",
            "elasticloadbalancing:AddTags", "elasticloadbalancing:DescribeTargetGroups",
        ),
        ("elasticloadbalancing:DeleteTargetGroup", "elasticloadbalancing:DescribeTargetGroups"),
    ),
    "AWS::RAM::ResourceShare": (
        ("ram:CreateResourceShare", "ram:TagResource"),
        ("ram:DeleteResourceShare", "ram:GetResourceShares"),
    ),
}  # fmt: skip


def ask(kind: str, *, create: bool) -> None:
    """Raises what AWS answers if the caller may not do it."""
    statements = CALLER.get()
    if statements is None:
        return
    for action in ACTIONS[kind][0 if create else 1]:
        _must(statements, Need(action, via=VIA), kind)


def ask_to_run(instance_type: str) -> None:
    """RunInstances, which is checked for each kind of resource that it uses."""
    statements = CALLER.get()
    if statements is None:
        return
    _must(statements, Need(_RUN, "instance", via=VIA, instance_type=instance_type), "instance")
    for kind in ("image", "launch-template", "network-interface", "security-group", "subnet",
                 "volume"):  # fmt: skip
        _must(statements, Need(_RUN, kind, via=VIA), kind)


def _must(statements: list[dict], need: Need, kind: str) -> None:
    if not allowed(statements, need):
        raise EC2ClientError(
            "UnauthorizedOperation", f"You are not authorized to perform {need.action} for {kind}"
        )
