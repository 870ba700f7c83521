"""Requests to AWS: retried as the table of reasons says, their errors as ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, overload

import boto3
from botocore.config import Config as SdkConfig
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    HTTPClientError,
    WaiterError,
)
from botocore.parsers import ResponseParserError

from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt.run import NoCapacity
from tickpath_cloud.reasons import TABLE, Then, reason

if TYPE_CHECKING:  # stubs are installed where types are checked
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_ram import RAMClient
    from mypy_boto3_service_quotas import ServiceQuotasClient
    from mypy_boto3_sts import STSClient

P = ParamSpec("P")  # of an operation: its arguments are checked, its answers are dictionaries

DENIED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}
TOO_MANY = 429  # HTTP's status for a client that asks too often
RETRIES: Any = {"mode": "standard", "total_max_attempts": 3}  # share/reconcile.py has the same
PAUSES_SECONDS = (0.5, 1, 2, 4, *(8,) * 8)  # 70 s: what deletes wait for may take a minute


def pause(seconds: float) -> None:
    time.sleep(seconds)


@overload
def client(service: Literal["cloudformation"], region: str) -> CloudFormationClient: ...
@overload
def client(service: Literal["ec2"], region: str) -> EC2Client: ...
@overload
def client(service: Literal["logs"], region: str) -> CloudWatchLogsClient: ...
@overload
def client(service: Literal["pricing"], region: str) -> PricingClient: ...
@overload
def client(service: Literal["ram"], region: str) -> RAMClient: ...
@overload
def client(service: Literal["service-quotas"], region: str) -> ServiceQuotasClient: ...
@overload
def client(service: Literal["sts"], region: str) -> STSClient: ...
def client(service: str, region: str) -> Any:
    """The SDK itself retries at once what is throttled or lost; `call` does so for longer."""
    make: Callable[..., Any] = boto3.client
    try:
        return make(service, region_name=region, config=SdkConfig(retries=RETRIES))
    except (BotoCoreError, ValueError) as error:
        raise CloudError(
            f"{error}: check --region or region, AWS_PROFILE and the SDK's configuration"
        ) from error


def call(operation: Callable[P, Any], *_: P.args, **arguments: P.kwargs) -> Any:
    """One request that makes, changes or describes."""
    return _until_decided(operation, arguments, lambda code: reason(code).make)


def remove(operation: Callable[P, Any], *_: P.args, **arguments: P.kwargs) -> Any:
    """One request that removes."""
    return _until_decided(operation, arguments, lambda code: reason(code).end)


def drop(operation: Callable[P, Any], *_: P.args, **arguments: P.kwargs) -> Any:
    """Gone already is gone."""
    try:
        return remove(operation, *_, **arguments)
    except Rejected as rejected:
        if reason(rejected.code).end is Then.GONE:
            return None
        raise


def _until_decided(
    operation: Callable[..., Any], arguments: dict[str, Any], then: Callable[[str], Then]
) -> Any:
    for seconds in PAUSES_SECONDS:
        try:
            return _once(operation, arguments)
        except Rejected as rejected:
            if then(rejected.code) is not Then.RETRY:
                raise
        pause(seconds)
    return _once(operation, arguments)


def _once(operation: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        return operation(**arguments)
    except ClientError as error:
        raise _rejected(error) from error
    except ResponseParserError as error:
        raise _of("NotReadable", str(error).splitlines()[0]) from error
    except (HTTPClientError, EndpointConnectionError) as error:
        raise _of("NotReached", str(error)) from error
    except WaiterError:
        raise
    except BotoCoreError as error:
        raise CloudError(f"AWS can't be asked, or there are no credentials: {error}") from error


def _rejected(error: ClientError) -> Rejected:
    told = error.response.get("Error", {})
    code, message = told.get("Code", "Unknown"), told.get("Message") or "no message"
    if code in DENIED:
        message = (
            f"not allowed to call {error.operation_name}: give this identity the policy that "
            f"`tickpath-cloud policy` prints. {message}"
        )
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    # A known code is the better word: EC2 says 500 where it has no capacity, too.
    if code not in TABLE and (status >= 500 or status == TOO_MANY):
        return _of("NotReadable", f"{status} {code}: {message}")
    return _of(code, message)


def _of(code: str, message: str) -> Rejected:
    words = reason(code).words
    kind = NoCapacity if reason(code).make is Then.NEXT_TYPE else Rejected
    return kind(code, f"{words}: {message}" if words else message)


def pages(api: Any, operation: str, key: str, **arguments: Any) -> list[Any]:
    """All pages of a describe or list call. A page may be empty, and others follow."""
    if not api.can_paginate(operation):
        return _by_token(api, operation, key, arguments)
    paginator = api.get_paginator(operation)
    return [e for page in call(lambda: list(paginator.paginate(**arguments))) for e in page[key]]


def _by_token(api: Any, operation: str, key: str, arguments: dict[str, Any]) -> list[Any]:
    """For the few calls that have pages, but no paginator in the SDK."""
    found: list[Any] = []
    more: dict[str, str] = {}
    while True:
        page = call(getattr(api, operation), **arguments, **more)
        found += page[key]
        if not page.get("nextToken"):
            return found
        more = {"nextToken": page["nextToken"]}
