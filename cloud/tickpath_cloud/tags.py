"""Tags: how everything that was made is found again, by its hunt, its role and its expiry."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

HUNT = "tickpath:hunt"
ROLE = "tickpath:role"  # the arm's name
EXPIRES = "tickpath:expires"


def tags(hunt: str, role: str, expires_at: float) -> list[Any]:
    return [
        {"Key": HUNT, "Value": hunt},
        {"Key": ROLE, "Value": role},
        {"Key": EXPIRES, "Value": rfc3339(expires_at)},
        {"Key": "Name", "Value": f"tickpath {hunt} {role}"},
    ]


def rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def value(resource: dict, key: str) -> str | None:
    pairs: Iterable[dict] = resource.get("Tags") or resource.get("TagSet") or []
    return next((tag["Value"] for tag in pairs if tag["Key"] == key), None)
