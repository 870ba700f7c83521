"""An error that ends a verb says what runs, what it costs an hour, and the command that ends it."""

from __future__ import annotations

import shlex
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.launches import Launches
from tickpath_cloud.money import dollars
from tickpath_cloud.reasons import TABLE, Then, reason


def fault(error: Exception) -> CloudError:
    """An error of the program itself: its traceback goes into a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="tickpath-cloud-", suffix=".traceback", delete=False
    ) as file:
        file.writelines(traceback.format_exception(error))
    told = str(error).splitlines() or [""]
    return CloudError(
        f"{type(error).__name__}: {told[0]}: a fault of tickpath-cloud; please report {file.name}"
    )


def running(launches: Launches, end: str, go_on: str = "") -> list[str]:
    """Lines for a person. By the log alone: AWS may not answer any more."""
    prices = launches.prices()
    if not prices:
        lines = ["nothing that this launched runs"]
    else:
        names = ", ".join([*prices][:5]) + (", …" if len(prices) > 5 else "")
        hourly = sum(prices.values(), Decimal(0))
        lines = [
            f"{len(prices)} instances may run ({names}): {dollars(hourly)} an hour until their "
            "own timers end them"
        ]
    lines.append(f"remove everything: {end}")
    return [*lines, f"continue: {go_on}"] if go_on else lines


@contextmanager
def told(
    launches: Launches, end: str, go_on: str = "", destroy: Callable[[], list[str]] | None = None
) -> Iterator[None]:
    """`destroy` removes everything where the table of reasons says so; returns what is left."""
    try:
        yield
    except Exception as error:
        found = error if isinstance(error, CloudError) else fault(error)
        lines = [str(found)]
        if destroy is not None and tears_down(error):
            lines += _torn_down(destroy)
        raise CloudError("\n".join([*lines, *running(launches, end, go_on)])) from error


def tears_down(error: BaseException) -> bool:
    return isinstance(error, Rejected) and reason(error.code).make is Then.TEAR_DOWN


def keeps(error: BaseException) -> bool:
    """Whether to continue: removing everything would fail now, or would waste it."""
    if not isinstance(error, Rejected) or error.code not in TABLE:
        return False
    return reason(error.code).make in (Then.KEEP, Then.RETRY)


def _torn_down(destroy: Callable[[], list[str]]) -> list[str]:
    try:
        left = destroy()
    except CloudError as error:
        return [f"removing everything failed, too: {error}"]
    return [f"still there: {', '.join(left)}"] if left else ["everything was removed again"]


def directory_commands(verb: str, directory: Path) -> tuple[str, str]:
    """To remove, and to continue; a shell reads them as they are."""
    name = shlex.quote(str(directory))
    return (
        f"tickpath cloud destroy {name} --apply",
        f"tickpath cloud {verb} --resume {name}",
    )
