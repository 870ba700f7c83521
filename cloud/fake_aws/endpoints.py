"""Endpoint services: who may connect, and the owner's acceptance. moto has the provider's half."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.vpc_service_configuration import VPCServiceConfiguration
from moto.ec2.models.vpcs import VPCEndPoint
from moto.ec2.responses import EC2Response

_create_endpoint = EC2Backend.create_vpc_endpoint
_delete_services = EC2Backend.delete_vpc_endpoint_service_configurations
PRIVATE = "com.amazonaws.vpce."


def create_vpc_endpoint(self: EC2Backend, *args: Any, **kwargs: Any) -> VPCEndPoint:
    name = kwargs["service_name"]
    if not name.startswith(PRIVATE):
        return _create_endpoint(self, *args, **kwargs)
    service = _service(name, self.region_name)
    mine = service is not None and service.ec2_backend.account_id == self.account_id
    if service is None or not (mine or _may(service, self.account_id)):
        raise EC2ClientError(
            "InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist"
        )
    made = _create_endpoint(self, *args, **kwargs)
    made.state = "pendingAcceptance" if service.acceptance_required else "available"
    for known, subnet in zip(made.network_interface_ids, made.subnet_ids or [], strict=True):
        interface = self.enis[known]
        interface.interface_type = "vpc_endpoint"
        assert interface.subnet.id == subnet
    return made


def _service(name: str, region: str) -> VPCServiceConfiguration | None:
    held = (b[region].configurations.values() for b in ec2_backends.values() if region in b)
    return next((s for services in held for s in services if s.service_name == name), None)


def _may(service: VPCServiceConfiguration, account: str) -> bool:
    return any(p == "*" or f":{account}:" in p for p in service.principals)


def connections(self: Any) -> list[VPCEndPoint]:
    """Endpoints of any account that lead to this account's services."""
    names = {s.service_name for s in self.ec2_backend.configurations.values()}
    return [
        endpoint
        for backends in ec2_backends.values()
        for backend in backends.values()
        for endpoint in backend.vpc_end_points.values()
        if endpoint.service_name in names
    ]


def describe_vpc_endpoint_connections(self: Any) -> ActionResult:
    shown = [
        {"ServiceId": e.service_name.rpartition(".")[2], "VpcEndpointId": e.id,
         "VpcEndpointOwner": e.owner_id, "VpcEndpointState": e.state}
        for e in connections(self)
    ]  # fmt: skip
    keys = {"service-id": "ServiceId", "vpc-endpoint-state": "VpcEndpointState"}
    for entry in self._get_param("Filters", []):
        if entry["Name"] not in keys:
            raise EC2ClientError("InvalidParameterValue", f"The filter '{entry['Name']}'")
        shown = [e for e in shown if e[keys[entry["Name"]]] in entry["Values"]]
    return ActionResult({"VpcEndpointConnections": shown})


def accept_vpc_endpoint_connections(self: Any) -> ActionResult:
    return _answer(self, "available")


def reject_vpc_endpoint_connections(self: Any) -> ActionResult:
    return _answer(self, "rejected")


def _answer(self: Any, state: str) -> ActionResult:
    service = f".{self._get_param('ServiceId')}"
    there = {e.id: e for e in connections(self) if e.service_name.endswith(service)}
    unsuccessful = []
    for known in self._get_param("VpcEndpointIds", []):
        if known in there:
            there[known].state = state
        else:
            error = {"Code": "InvalidVpcEndpointId.NotFound", "Message": f"{known} is unknown"}
            unsuccessful.append({"ResourceId": known, "Error": error})
    return ActionResult({"Unsuccessful": unsuccessful})


def delete_services(self: EC2Backend, service_ids: list[str]) -> list[str]:
    """A service that somebody is connected to stays."""
    for known in service_ids:
        name = self.configurations[known].service_name if known in self.configurations else ""
        live = ("available", "pendingAcceptance")
        for backends in ec2_backends.values():
            for endpoint in backends[self.region_name].vpc_end_points.values():
                if endpoint.service_name == name and endpoint.state in live:
                    raise EC2ClientError(
                        "ExistingVpcEndpointConnections",
                        f"Service {known} has existing active VPC Endpoint connections!",
                    )
    return _delete_services(self, service_ids)


def dns_entries(self: VPCEndPoint, attribute_name: str) -> list[str]:
    """As CloudFormation shows them: zone and name."""
    return [f"{entry['hosted_zone_id']}:{entry['dns_name']}" for entry in self.dns_entries or []]


def install() -> None:
    """Replaces methods of moto's classes."""
    VPCEndPoint.get_cfn_attribute = dns_entries
    VPCEndPoint.has_cfn_attr = classmethod(lambda cls, attr: attr == "DnsEntries")
    EC2Backend.create_vpc_endpoint = create_vpc_endpoint
    EC2Backend.delete_vpc_endpoint_service_configurations = delete_services
    for method in (
        describe_vpc_endpoint_connections, accept_vpc_endpoint_connections,
        reject_vpc_endpoint_connections,
    ):  # fmt: skip
        setattr(EC2Response, method.__name__, method)
