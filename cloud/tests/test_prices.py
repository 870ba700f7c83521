"""Costs of an instance besides its type's price: counted, or said to be unknown."""

from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import REGION, Hunt, admin

from fake_aws.world import BY_HOUR
from tickpath_cloud import images, plan, prices
from tickpath_cloud.aws import client
from tickpath_cloud.errors import CloudError


def test_a_plan_counts_volumes_and_the_public_address(hunt):
    """It said that they were not counted; at $0.005 an hour the address is a tenth of the host."""
    made = hunt.plan()
    volume = Decimal("0.088") * 8 / 730
    assert made.besides.hourly == volume + Decimal("0.005")
    assert made.settings.candidates[0].price == Decimal("0.085") + made.besides.hourly
    said = plan.text(made)
    assert "8 GB of gp3 $0.0010 an hour, public IPv4 address $0.0050 an hour" in said


def test_an_address_that_the_subnet_does_not_give_costs_nothing(hunt, server):
    admin(server).modify_subnet_attribute(
        SubnetId=hunt.config.subnets[0], MapPublicIpOnLaunch={"Value": False}
    )
    assert [line for line in hunt.plan().besides.lines if "IPv4" in line] == []


def test_what_the_list_has_no_price_for_is_said_and_is_not_free(hunt, monkeypatch):
    monkeypatch.delitem(BY_HOUR, "gp3")
    made = hunt.plan()
    assert made.besides.lines[0].startswith("8 GB of gp3 not counted: AWS's list has no price")
    assert made.besides.hourly == Decimal("0.005")


@pytest.mark.parametrize("usd", [{"USD": "0.0000000000"}, {"CNY": "0.5"}])
def test_a_price_of_nothing_is_no_price(usd, monkeypatch):
    """The list has entries of $0 beside the one that is billed, and other currencies."""
    dimension = {"pricePerUnit": usd}
    product = {"terms": {"OnDemand": {"a": {"priceDimensions": {"b": dimension}}}}}
    assert prices.hourly_usd(product) is None
    monkeypatch.setattr(prices, "_products", lambda *_: [product])
    with pytest.raises(CloudError, match="no price for c6i.large"):
        prices.on_demand_price(None, "c6i.large", REGION)


def test_the_bits_of_a_volume_are_kept_when_it_is_told_to_end():
    kept = {"SnapshotId": "snap-1", "VolumeSize": 20, "VolumeType": "io2", "Iops": 3000}
    mappings = [
        {"DeviceName": "/dev/sda1", "Ebs": {**kept, "DeleteOnTermination": False}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 8, "DeleteOnTermination": True}},
    ]
    [changed] = images.ending(mappings)["BlockDeviceMappings"]
    assert changed == {"DeviceName": "/dev/sda1", "Ebs": {**kept, "DeleteOnTermination": True}}
    assert images.ending(mappings[1:]) == {}


def test_no_volume_outlives_a_hunt(config, world, tmp_path, server):
    """The fake's image keeps its volume, as some of AWS's marketplace do."""
    hunt = Hunt(replace(config, arms=3, finalists=2, looks=(8,)), world, tmp_path)
    hunt.run()
    assert hunt.cloud.destroy() == []
    assert admin(server).describe_volumes()["Volumes"] == []


def test_an_image_that_is_not_here_is_told_before_anything_is_made(hunt, monkeypatch):
    ec2 = client("ec2", REGION)
    monkeypatch.setattr(ec2, "describe_images", lambda **_: {"Images": []})
    with pytest.raises(CloudError, match="ami-12345678 is not in this region"):
        images.volumes(ec2, "ami-12345678")
