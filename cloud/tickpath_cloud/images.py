"""Images: which volumes an instance gets, and that they end with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tickpath_cloud.aws import call
from tickpath_cloud.errors import CloudError

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_KEPT = ("SnapshotId", "VolumeSize", "VolumeType", "Iops", "Throughput")


def volumes(ec2: EC2Client, image: str) -> list[dict[str, Any]]:
    """The image's mappings to EBS volumes."""
    found = call(ec2.describe_images, ImageIds=[image])["Images"]
    if not found:
        raise CloudError(f"image {image} is not in this region, or not shared with this account")
    return [mapping for mapping in found[0].get("BlockDeviceMappings", []) if "Ebs" in mapping]


def sizes(mappings: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Type and GB of each volume; AWS makes gp2 of an image that names no type."""
    ebs = [mapping["Ebs"] for mapping in mappings]
    return [(found.get("VolumeType", "gp2"), found.get("VolumeSize", 0)) for found in ebs]


def ending(mappings: list[dict[str, Any]]) -> dict[str, Any]:
    """Arguments of RunInstances. Some images keep a volume, which costs until somebody finds it."""
    changed = [
        {
            "DeviceName": mapping["DeviceName"],
            "Ebs": {
                **{key: mapping["Ebs"][key] for key in _KEPT if key in mapping["Ebs"]},
                "DeleteOnTermination": True,
            },
        }
        for mapping in mappings
        if not mapping["Ebs"].get("DeleteOnTermination", True)
    ]
    return {"BlockDeviceMappings": changed} if changed else {}
