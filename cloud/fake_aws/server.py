"""The fake over HTTP: permissions and throttling first, then prices and quotas, then moto."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from fake_aws import ec2, endpoints, multicast, network, shared_subnets, stack_deletion, stacks
from fake_aws.permissions import allowed, needs
from fake_aws.ram import RamError
from fake_aws.stack_actions import CALLER
from fake_aws.world import BY_HOUR, DEDICATED_SHARE, ON_DEMAND, WORLD, World

ec2.install()
network.install()
endpoints.install()
shared_subnets.install()
stacks.install()
stack_deletion.install()
multicast.install()
FREE = ("sts:GetCallerIdentity",)  # AWS asks no permission for these

NO_XML = "500 without XML"  # as of a proxy in between
# EC2's "server error codes" are 5xx, so the SDK repeats these requests by itself, too.
STATUS = {
    "InternalError": 500, "InternalFailure": 500, "Unavailable": 503, "ServiceUnavailable": 503,
    "RequestLimitExceeded": 503, "InsufficientInstanceCapacity": 500, "InsufficientCapacity": 500,
    "InsufficientHostCapacity": 500, "InsufficientReservedInstanceCapacity": 500,
    "InsufficientVolumeCapacity": 500, "InsufficientAddressCapacity": 500,
}  # fmt: skip
LASTING = ("Insufficient",)  # the same a moment later, when the SDK repeats its request

_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")


class Fake:
    """A WSGI application."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start: Callable) -> Iterable[bytes]:
        credential = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        if credential is None:
            return _answer(start, 403, "text/plain", "not signed")
        key, _region, service = credential.groups()
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        environ["wsgi.input"] = io.BytesIO(body)
        form = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        action = form.get("Action") or target.rpartition(".")[2]
        if service in ("ram", "logs"):
            action, form = _rest(environ, body, action)
        self.world.calls.append(f"{service}:{action}")
        sent = environ.get("HTTP_AMZ_SDK_INVOCATION_ID", "")  # the same when the SDK repeats it
        rejection = self._rejection(key, service, action, form, sent)
        if rejection is not None:
            if rejection[1] == NO_XML:
                return _answer(start, 500, "text/plain", "upstream connect error")
            return _error(start, service, *rejection)
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = self.world.accounts[key]
        if service == "pricing":
            return _json(start, self._prices(json.loads(body)))
        if service == "servicequotas":
            return _json(start, {"Quota": {"Value": self.world.quota_vcpus}})
        if service == "ram":
            try:
                return _json(start, self.world.ram.answer(self.world.accounts[key], action, form))
            except RamError as error:
                return _error(start, service, 400, error.code, str(error))
        CALLER.set(self.world.policies[key])
        if self.world.lost.get(action, 0) > 0:
            self.world.lost[action] -= 1
            list(self.moto(environ, lambda *answer: None))
            return _error(start, service, 500, "InternalError", "An internal error has occurred")
        return self.moto(environ, start)

    def _rejection(
        self, key: str, service: str, action: str, form: dict[str, str], sent: str
    ) -> tuple[int, str, str] | None:
        world = self.world
        if key not in world.accounts:
            return 401, "AuthFailure", "AWS was not able to validate the provided credentials"
        if world.throttle.get(action, 0) > 0:
            world.throttle[action] -= 1
            return 503, "RequestLimitExceeded", "Request limit exceeded."
        codes = world.errors.get(action)
        if (sent in world.lasting or codes) and form.get("DryRun") != "true":
            code = world.lasting.get(sent) or codes.pop(0)
            if code.startswith(LASTING):
                world.lasting[sent] = code
            return STATUS.get(code, 400), code, f"The fake answers {action} with {code}."
        policy = world.policies[key]
        if policy is None or f"{service}:{action}" in FREE:
            return None
        for need in needs(world, service, action, form, world.accounts[key]):
            if not allowed(policy, need):
                what = f"not authorized to perform {need.action} on {need.kind}"
                code = "UnauthorizedOperation" if service == "ec2" else "AccessDeniedException"
                return 403, code, f"You are {what}"
        return None

    def _prices(self, request: dict) -> dict:
        wanted = {entry["Field"]: entry["Value"] for entry in request["Filters"]}
        if (kind := wanted.get("instanceType")) is not None:
            alone = wanted.get("tenancy") == "Dedicated"
            usage, share = ("DedicatedUsage", DEDICATED_SHARE) if alone else ("BoxUsage", 1)
            usages = {f"{usage}:{kind}": ON_DEMAND[kind] * share} if kind in ON_DEMAND else {}
        else:
            usages = next((BY_HOUR[v] for v in wanted.values() if v in BY_HOUR), {})
        return {"PriceList": [json.dumps(_product(*pair)) for pair in usages.items()]}


def _product(usage: str, dollars: float) -> dict:
    """An entry of the price list."""
    price = {"pricePerUnit": {"USD": str(dollars)}, "unit": "Hrs"}
    return {
        "product": {"attributes": {"usagetype": f"EU-{usage}"}},
        "terms": {"OnDemand": {"a": {"priceDimensions": {"b": price}}}},
    }


# RAM names its operations in the path, in lower case.
RAM = {name.lower(): name for name in (
    "AcceptResourceShareInvitation", "CreateResourceShare", "DeleteResourceShare", "GetPermission",
    "GetResourceShareInvitations", "GetResourceShares", "ListPermissions",
    "ListResourceSharePermissions", "TagResource",
)}  # fmt: skip


def _rest(environ: dict[str, Any], body: bytes, action: str) -> tuple[str, dict]:
    """The action and its arguments, of services that speak JSON. RAM's action is in the path."""
    path = environ["PATH_INFO"].strip("/") or action
    query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
    return RAM.get(path, path), {**query, **json.loads(body or b"{}")}


def _answer(start: Callable, status: int, kind: str, body: str) -> list[bytes]:
    data = body.encode()
    start(f"{status} -", [("Content-Type", kind), ("Content-Length", str(len(data)))])
    return [data]


def _json(start: Callable, body: dict) -> list[bytes]:
    return _answer(start, 200, "application/x-amz-json-1.1", json.dumps(body))


def _error(start: Callable, service: str, status: int, code: str, message: str) -> list[bytes]:
    if service == "ec2":
        body = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error>"
            "</Errors><RequestID>fake</RequestID></Response>"
        )
        return _answer(start, status, "text/xml", body)
    if service in ("cloudformation", "sts"):
        body = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>"
            f"<Message>{message}</Message></Error><RequestId>fake</RequestId></ErrorResponse>"
        )
        return _answer(start, status, "text/xml", body)
    error = {"__type": code, "message": message}
    return _answer(start, status, "application/x-amz-json-1.1", json.dumps(error))


class Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Nothing: `World.calls` has what was asked."""


class Server:
    """In a thread, on a free port of loopback."""

    def __init__(self) -> None:
        self.http = make_server("127.0.0.1", 0, Fake(WORLD), threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()


def environment(url: str, key: str, region: str) -> dict[str, str]:
    """The environment that makes any AWS SDK talk to the fake."""
    return {
        "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "fake",
        "AWS_DEFAULT_REGION": region, "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }  # fmt: skip
