"""The least an identity must be allowed, for each verb. Tests remove each action in turn."""

from __future__ import annotations

from typing import Any

from tickpath_cloud import tags
from tickpath_cloud.errors import CloudError

_NEW = {"StringLike": {f"aws:RequestTag/{tags.HUNT}": "*"}}
_OURS = {"StringLike": {f"aws:ResourceTag/{tags.HUNT}": "*"}}


def _allow(actions: list[str], resources: list[str], condition: dict | None = None) -> dict:
    arns = [f"arn:aws:ec2:*:*:{kind}" for kind in resources] if resources != ["*"] else ["*"]
    statement: dict[str, Any] = {"Effect": "Allow", "Action": actions, "Resource": arns}
    return {**statement, "Condition": condition} if condition else statement


_LOOK = [
    "ec2:DescribeInstances",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeSecurityGroups",
]
_PLAN = [
    "ec2:DescribeHosts",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
    "pricing:GetProducts",
    "servicequotas:GetServiceQuota",
]
_ENDED = ["placement-group/*", "security-group/*", "instance/*"]
_END = _allow(
    ["ec2:DeletePlacementGroup", "ec2:DeleteSecurityGroup", "ec2:TerminateInstances"],
    _ENDED,
    _OURS,
)
_RUN = _allow(["ec2:RunInstances"], ["instance/*", "volume/*", "network-interface/*"], _NEW)
_USED = ["image/*", "subnet/*", "security-group/*", "placement-group/*", "key-pair/*"]
_RUN_IN = _allow(["ec2:RunInstances"], _USED)
_SECURITY_GROUP = [
    _allow(["ec2:CreateSecurityGroup"], ["security-group/*"], _NEW),
    _allow(["ec2:CreateSecurityGroup"], ["vpc/*"]),
    _allow(["ec2:AuthorizeSecurityGroupIngress"], ["security-group/*"], _OURS),
]


def _tag_new(*actions: str) -> dict:
    """Tags on what is being made; not on what others made."""
    return _allow(["ec2:CreateTags"], ["*"], {"StringEquals": {"ec2:CreateAction": [*actions]}})


_MAKE = [
    _RUN,
    _RUN_IN,
    _allow(["ec2:CreatePlacementGroup"], ["placement-group/*"], _NEW),
    *_SECURITY_GROUP,
    _tag_new("RunInstances", "CreatePlacementGroup", "CreateSecurityGroup"),
    _allow(["ec2:CreateTags"], ["instance/*"], _OURS),
]
_MATRIX = [
    _allow(
        [
            *_LOOK,
            "ec2:DescribeHosts",
            "ec2:DescribeImages",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeSubnets",
            "pricing:GetProducts",
        ],
        ["*"],
    ),
    _RUN,
    _RUN_IN,
    _allow(["ec2:CreatePlacementGroup"], ["placement-group/*"], _NEW),
    *_SECURITY_GROUP,
    _tag_new("RunInstances", "CreatePlacementGroup", "CreateSecurityGroup"),
    _END,
]

# --- share: the condition is the grant's tag ----------------------------------------------------

_NEW_GRANT = {"StringLike": {"aws:RequestTag/tickpath:grant": "*"}}
_GRANTED = {"StringLike": {"aws:ResourceTag/tickpath:grant": "*"}}
_SHARES = ["arn:aws:ram:*:*:resource-share/*"]
_RECONCILE = [
    _allow(
        [
            "ec2:DescribeVpcPeeringConnections",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeRouteTables",
            "ram:GetResourceShares",
        ],
        ["*"],
    ),
    _allow(["ec2:CreateTags"], ["vpc-peering-connection/*"], _NEW_GRANT),
    _allow(["ec2:AcceptVpcPeeringConnection"], ["vpc/*"]),
    _allow(
        ["ec2:AcceptVpcPeeringConnection", "ec2:DeleteVpcPeeringConnection"],
        ["vpc-peering-connection/*"],
        _GRANTED,
    ),
    _allow(["ec2:RejectVpcPeeringConnection"], ["vpc-peering-connection/*"]),
    _allow(["ec2:CreateRoute", "ec2:DeleteRoute"], ["route-table/*"]),
    _allow(
        ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"],
        ["security-group/*"],
    ),
    _allow(["ec2:DeleteResourcePolicy"], ["placement-group/*"]),  # RAM asks in our name
    {
        "Effect": "Allow",
        "Action": ["ram:DeleteResourceShare", "ram:TagResource"],
        "Resource": _SHARES,
        "Condition": _GRANTED,
    },
]
_OWNER = [
    *_RECONCILE,
    _allow(
        [
            "ec2:DescribePlacementGroups",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcs",
            "ram:GetPermission",
            "ram:ListPermissions",
            "ram:ListResourceSharePermissions",
        ],
        ["*"],
    ),
    _allow(["ec2:CreatePlacementGroup"], ["placement-group/*"], _NEW_GRANT),
    _allow(["ec2:DeletePlacementGroup"], ["placement-group/*"], _GRANTED),
    _tag_new("CreatePlacementGroup"),
    _allow(["ram:CreateResourceShare"], ["*"], _NEW_GRANT),  # it knows no resource
    {
        "Effect": "Allow",
        "Action": ["ram:TagResource"],  # of a share that is being made, which has no tag yet
        "Resource": _SHARES,
        "Condition": _NEW_GRANT,
    },
    _allow(["ec2:PutResourcePolicy"], ["placement-group/*"]),
]
_MADE = ["vpc/*", "subnet/*", "vpc-peering-connection/*", "internet-gateway/*"]
_LOOK_AT_NETWORKS = [
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcPeeringConnections",
    "ec2:DescribeVpcs",
]
_END_ROUTES = _allow(["ec2:DeleteRoute"], ["route-table/*"])
_LEAVE = _allow(
    [
        "ec2:CancelCapacityReservation",
        "ec2:DeleteInternetGateway",
        "ec2:DeleteSubnet",
        "ec2:DeleteVpc",
        "ec2:DeleteVpcPeeringConnection",
        "ec2:DetachInternetGateway",
    ],
    [*_MADE, "capacity-reservation/*"],
    _OURS,
)
_LOOK_AT_THE_REST = [
    "ec2:DescribeAddresses",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSnapshots",
    "ec2:DescribeVolumes",
    "logs:DescribeLogGroups",
    "logs:ListTagsForResource",
]
_END_LOGS = {
    "Effect": "Allow",
    "Action": ["logs:DeleteLogGroup"],
    "Resource": ["arn:aws:logs:*:*:log-group:/tickpath*"],
    "Condition": _OURS,
}
_END_THE_REST = _allow(
    [
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteSnapshot",
        "ec2:DeleteVolume",
        "ec2:ReleaseAddress",
    ],
    ["network-interface/*", "snapshot/*", "volume/*", "elastic-ip/*"],
    _OURS,
)
_RECEIVER = [
    _allow(
        [
            *_LOOK,
            *_LOOK_AT_NETWORKS,
            "ec2:DescribeAvailabilityZones",
            "ec2:DescribeImages",
            "pricing:GetProducts",
            "ram:GetResourceShareInvitations",
        ],
        ["*"],
    ),
    {
        "Effect": "Allow",
        "Action": ["ram:AcceptResourceShareInvitation"],
        "Resource": ["arn:aws:ram:*:*:resource-share-invitation/*"],
    },
    _allow(
        [
            "ec2:CreateInternetGateway",
            "ec2:CreateSubnet",
            "ec2:CreateVpc",
            "ec2:CreateVpcPeeringConnection",
        ],
        _MADE,
        _NEW,
    ),
    _allow(["ec2:CreateSubnet", "ec2:CreateVpcPeeringConnection"], ["vpc/*"]),
    _allow(["ec2:CreateRoute", "ec2:ReplaceRoute"], ["route-table/*"]),
    _allow(["ec2:CreateCapacityReservation"], ["capacity-reservation/*"], _NEW),
    _allow(["ec2:CreateCapacityReservation"], ["placement-group/*"]),
    _RUN,
    _RUN_IN,
    *_SECURITY_GROUP,
    _tag_new(
        "CreateCapacityReservation", "CreateInternetGateway", "CreateSecurityGroup",
        "CreateSubnet", "CreateVpc", "CreateVpcPeeringConnection", "RunInstances",
    ),
    _allow(["ec2:AttachInternetGateway"], ["vpc/*", "internet-gateway/*"], _OURS),
    _allow(
        ["ec2:DeleteSecurityGroup", "ec2:TerminateInstances"],
        ["security-group/*", "instance/*"],
        _OURS,
    ),
    _END_ROUTES,
    _LEAVE,
]  # fmt: skip

# --- tiers: CloudFormation acts in the caller's name ---------------------------------------------

_STACKS = ["arn:aws:cloudformation:*:*:stack/tickpath-tiers-*/*"]
# Types that a stack may launch. The widest is some hundred dollars a month; add the type of yours.
TIERS_TYPES = ("*.medium", "*.large", "*.xlarge", "*.2xlarge")
_BY_STACKS = {"ForAnyValue:StringEquals": {"aws:CalledVia": ["cloudformation.amazonaws.com"]}}
_TIERS = [
    {
        "Effect": "Allow",
        "Action": ["cloudformation:CreateStack", "cloudformation:DeleteStack"],
        "Resource": _STACKS,
    },
    _allow(
        [
            "cloudformation:DescribeStacks",
            "cloudformation:ListStacks",
            "ec2:DescribeInstances",
            "ec2:DescribeNatGateways",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeRouteTables",
            "ec2:DescribeSubnets",
            "ec2:DescribeVpcEndpointConnections",
            "ec2:SearchTransitGatewayMulticastGroups",
            "pricing:GetProducts",
        ],
        ["*"],
    ),
    _allow(["ec2:AcceptVpcEndpointConnections"], ["vpc-endpoint-service/*"]),
    # Writing one by one; what the handlers of the types read differs between their versions.
    _allow(
        [
            "cloudfront:CreateDistribution",
            "cloudfront:DeleteDistribution",
            "cloudfront:GetDistribution*",
            "cloudfront:TagResource",
            "ec2:*TransitGatewayMulticast*",
            "ec2:AcceptVpcPeeringConnection",
            "ec2:AllocateAddress",
            "ec2:AssociateAddress",
            "ec2:AssociateRouteTable",
            "ec2:AttachInternetGateway",
            "ec2:AuthorizeSecurityGroupIngress",
            "ec2:CreateInternetGateway",
            "ec2:CreateLaunchTemplate",
            "ec2:CreateNatGateway",
            "ec2:CreateNetworkInterface",
            "ec2:CreatePlacementGroup",
            "ec2:CreateRoute",
            "ec2:CreateRouteTable",
            "ec2:CreateSecurityGroup",
            "ec2:CreateSubnet",
            "ec2:CreateTags",
            "ec2:CreateTransitGateway",
            "ec2:CreateTransitGatewayVpcAttachment",
            "ec2:CreateVpc",
            "ec2:CreateVpcEndpoint",
            "ec2:CreateVpcEndpointServiceConfiguration",
            "ec2:CreateVpcPeeringConnection",
            "ec2:DeleteInternetGateway",
            "ec2:DeleteLaunchTemplate",
            "ec2:DeleteNatGateway",
            "ec2:DeleteNetworkInterface",
            "ec2:DeletePlacementGroup",
            "ec2:DeleteRoute",
            "ec2:DeleteRouteTable",
            "ec2:DeleteSecurityGroup",
            "ec2:DeleteSubnet",
            "ec2:DeleteTransitGateway",
            "ec2:DeleteTransitGatewayVpcAttachment",
            "ec2:DeleteVpc",
            "ec2:DeleteVpcEndpointServiceConfigurations",
            "ec2:DeleteVpcEndpoints",
            "ec2:DeleteVpcPeeringConnection",
            "ec2:Describe*",
            "ec2:DetachInternetGateway",
            "ec2:DisassociateAddress",
            "ec2:DisassociateRouteTable",
            "ec2:ModifyInstanceAttribute",
            "ec2:ModifySubnetAttribute",
            "ec2:ModifyVpcAttribute",
            "ec2:ModifyVpcEndpointServicePermissions",
            "ec2:ReleaseAddress",
            "ec2:RevokeSecurityGroupIngress",
            "ec2:TerminateInstances",
            "elasticloadbalancing:AddTags",
            "elasticloadbalancing:CreateListener",
            "elasticloadbalancing:CreateLoadBalancer",
            "elasticloadbalancing:CreateTargetGroup",
            "elasticloadbalancing:DeleteListener",
            "elasticloadbalancing:DeleteLoadBalancer",
            "elasticloadbalancing:DeleteTargetGroup",
            "elasticloadbalancing:Describe*",
            "elasticloadbalancing:ModifyLoadBalancerAttributes",
            "elasticloadbalancing:RegisterTargets",
            "ram:CreateResourceShare",
            "ram:DeleteResourceShare",
            "ram:GetResourceShares",
            "ram:TagResource",
        ],
        ["*"],
        _BY_STACKS,
    ),
    _allow(
        ["ec2:RunInstances"],
        [*_USED, "launch-template/*", "network-interface/*", "volume/*"],
        _BY_STACKS,
    ),
    _allow(
        ["ec2:RunInstances"],
        ["instance/*"],
        {**_BY_STACKS, "StringLike": {"ec2:InstanceType": [*TIERS_TYPES]}},
    ),
]

_STATEMENTS = {
    "matrix": _MATRIX,
    "hunt": [_allow([*_LOOK, *_PLAN], ["*"]), *_MAKE, _END],
    "sweep": [
        _allow([*_LOOK, *_LOOK_AT_NETWORKS, *_LOOK_AT_THE_REST], ["*"]),
        _END,
        _END_ROUTES,
        _LEAVE,
        _END_THE_REST,
        _END_LOGS,
    ],
    "destroy": [_allow(_LOOK, ["*"]), _END],
    "fleet": [_allow(["ec2:DescribeInstances"], ["*"])],  # an inventory of EC2's tags
    "share-owner": _OWNER,
    "share-receiver": _RECEIVER,
    "share-reconcile": _RECONCILE,
    "tiers": _TIERS,
}
VERBS = tuple(_STATEMENTS)


def policy(verb: str) -> dict[str, Any]:
    """An IAM policy document."""
    if verb not in _STATEMENTS:
        raise CloudError(f"no policy for {verb!r}: there are {', '.join(VERBS)}")
    return {"Version": "2012-10-17", "Statement": _STATEMENTS[verb]}
