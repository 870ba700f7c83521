"""Tables of text: each column is as wide as its widest cell, and no line is wrapped."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 100_000  # wider than any row: a pipe or a log gets whole rows


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] = ()
) -> list[str]:
    """Lines. The first column and those that `left` names begin at the left, others end right.

    A shorter row ends with its last cell, which does not widen its column: a reason may be long.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(head):
        start = number == 0 or name in left
        made.add_column(Text(name), justify="left" if start else "right", no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row if len(row) == len(head) else row[:-1]))
    out = io.StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(made)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return [lines[0], *(_whole(line, row, head) for line, row in zip(lines[1:], rows, strict=True))]


def _whole(line: str, row: Sequence[str], head: Sequence[str]) -> str:
    return line if len(row) == len(head) else f"{line}  {row[-1]}"
