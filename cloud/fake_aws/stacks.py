"""What moto's CloudFormation lacks: launch templates of instances, an order of deletion."""

from __future__ import annotations

import contextlib
from typing import Any

from moto.cloudformation.parsing import ResourceMap
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import Instance

_make = Instance.create_from_cloudformation_json.__func__  # type: ignore[attr-defined]


def create_from_cloudformation_json(
    cls: type[Instance], resource_name: str, cloudformation_json: Any, account_id: str,
    region_name: str, **kwargs: Any,
) -> Instance:  # fmt: skip
    from moto.ec2.models import ec2_backends

    properties = cloudformation_json["Properties"]
    if known := properties.get("LaunchTemplate", {}).get("LaunchTemplateId"):
        backend = ec2_backends[account_id][region_name]
        data = backend.get_launch_template(known).latest_version().data
        properties = {**{k: v for k, v in data.items() if v}, **properties}
    whole = {**cloudformation_json, "Properties": properties}
    return _make(cls, resource_name, whole, account_id, region_name, **kwargs)


_delete = ResourceMap.delete


def delete(self: ResourceMap) -> None:
    """moto begins with the VPC and fails; the fake leaves then what is in it."""
    with contextlib.suppress(EC2ClientError):
        _delete(self)


def install() -> None:
    """Replaces methods of moto's classes."""
    ResourceMap.delete = delete
    Instance.create_from_cloudformation_json = classmethod(create_from_cloudformation_json)
