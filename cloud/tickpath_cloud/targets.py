"""Addresses of a target: a name with several of them is several targets."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence

from tickpath_cloud.errors import CloudError


def addresses(target: str) -> list[str] | None:
    """The addresses of `HOST:PORT` here. None: this machine can't resolve it, the probes may."""
    host, _, port = target.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except OSError:
        return None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def check(target: str, chosen: Sequence[str] = ()) -> str:
    """The target in words; raises where arms would measure different machines unasked."""
    if chosen:
        return (
            f"{target} at {', '.join(chosen)}: each place is measured to all of them once, and "
            "then to its nearest"
        )
    found = addresses(target)
    if found is None:
        return f"{target}, which this machine can't resolve: name one address if it has several"
    host, _, port = target.rpartition(":")
    for family in ([a for a in found if ":" not in a], [a for a in found if ":" in a]):
        if len(family) > 1:
            one = f"[{family[0]}]" if ":" in family[0] else family[0]
            raise CloudError(
                f"{host} has {len(family)} addresses: {', '.join(family)}. Each is a target of its "
                f'own, and arms would measure different ones: write target = "{one}:{port}", or '
                f"addresses = {json.dumps(family)} to find the nearest of them for each place "
                f'(with TLS also set = ["exchange.tls_name={host}"])'
            )
    return target if host in found else f"{target} at {', '.join(found)}"
