"""The exchange's side of an endpoint service: who asks to connect, and who is let in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.errors import CloudError
from tickpath_cloud.tiers.stacks import Stacks

PENDING = "pendingAcceptance"


@dataclass(frozen=True)
class Connection:
    endpoint: str
    account: str  # as AWS attests it
    state: str

    def __str__(self) -> str:
        return f"{self.endpoint:<24} {self.account}  {self.state}"


class Service:
    """The endpoint service of a stack of the template `exchange`."""

    def __init__(self, region: str, stack: str, clock: Callable[[], float]) -> None:
        self.ec2 = client("ec2", region)
        found = [s for s in Stacks(region, clock).find() if s.name == f"tickpath-tiers-{stack}"]
        if not found or "ServiceId" not in found[0].outputs:
            raise CloudError(
                f"tickpath-tiers-{stack} has no endpoint service in {region}: deploy the template "
                "exchange with --set ClientPrincipal=ARN"
            )
        self.id = found[0].outputs["ServiceId"]

    def connections(self) -> list[Connection]:
        wanted = [{"Name": "service-id", "Values": [self.id]}]
        found = pages(
            self.ec2, "describe_vpc_endpoint_connections", "VpcEndpointConnections", Filters=wanted
        )
        return [
            Connection(c["VpcEndpointId"], c["VpcEndpointOwner"], c["VpcEndpointState"])
            for c in found
        ]

    def accept(self, account: str) -> list[Connection]:
        """Accepts waiting connections of this account, of no other one. May be repeated."""
        waiting = [c for c in self.connections() if (c.account, c.state) == (account, PENDING)]
        if waiting:
            answer = call(
                self.ec2.accept_vpc_endpoint_connections, ServiceId=self.id,
                VpcEndpointIds=[c.endpoint for c in waiting],
            )  # fmt: skip
            if failed := answer.get("Unsuccessful"):
                error = failed[0]["Error"]
                raise CloudError(f"{failed[0]['ResourceId']}: {error['Message']}; accept again")
        return waiting
