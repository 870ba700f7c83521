"""SQL over the run records of many hosts, with DuckDB. Merging histograms stays tickpath's."""

from __future__ import annotations

import glob
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import duckdb

from tickpath_cloud.errors import CloudError
from tickpath_cloud.playbook import progress

FILE = "run.json"
DEFAULT = """
select record, scenario, subject, series, kind, count, p50, p99, p99_9, max
from figures where subject not in ('floor', 'bare', 'hiccup') order by record, series, kind
"""
COLUMNS = {
    "scenario": "VARCHAR", "started": "VARCHAR", "complete": "BOOLEAN",
    "void_because": "VARCHAR[]", "subjects": "JSON",
}  # fmt: skip
RECORDS = f"""
create temp table records (record VARCHAR, {", ".join(" ".join(c) for c in COLUMNS.items())})
"""
BUCKET = """
insert into records select filename, scenario, started, complete, void_because, subjects
from read_json(?, filename = true, maximum_object_size = 67108864, columns = ?)
"""
# One row a series. Void records are no result: they are in `records`, not in `figures`.
FIGURES = """
create temp table figures as
with subject as (
  select record, scenario, started, unnest(json_extract(subjects, '$[*]')) as s
  from records where coalesce(len(void_because), 0) = 0
), one as (
  select record, scenario, started, s->>'name' as subject,
         unnest(json_extract(s, '$.series[*]')) as x from subject
)
select record, scenario, started, subject, x->>'name' as series, x->>'kind' as kind,
       x->>'unit' as unit, try_cast(x->>'$.pooled.count' as bigint) as count,
       try_cast(x->>'$.pooled.p50' as double) as p50, try_cast(x->>'$.pooled.p90' as double) as p90,
       try_cast(x->>'$.pooled.p99' as double) as p99,
       try_cast(x->>'$.pooled.p99_9' as double) as p99_9,
       try_cast(x->>'$.pooled.max' as double) as max
from one;
"""


def rows(directory: str, sql: str | None) -> tuple[list[str], list[tuple]]:
    """Column names and rows. A CSV that `tickpath report --export csv` wrote is `figures`."""
    with duckdb.connect() as database, tempfile.TemporaryDirectory() as scratch:
        try:
            default = _read(database, directory, Path(scratch))
            found = database.execute(sql or default)
            names = [column[0] for column in found.description or []]
            return names, found.fetchall()
        except duckdb.Error as error:
            raise CloudError(
                f"{str(error).splitlines()[0]}: records are sought as {FILE} below "
                f"{readable(directory)}; the tables are `records` and `figures`, and a CSV has "
                "`figures` only"
            ) from error


def _read(database: duckdb.DuckDBPyConnection, directory: str, scratch: Path) -> str:
    """Makes the tables; returns the query that is asked by default."""
    if directory.startswith("s3://"):
        database.execute("install httpfs; load httpfs")
        database.execute("create secret (type s3, provider credential_chain)")
        database.execute(RECORDS)
        database.execute(BUCKET, [f"{glob.escape(directory.rstrip('/'))}/**/{FILE}", COLUMNS])
    elif directory.endswith(".csv") and not Path(directory).is_dir():
        # DuckDB takes a name for a pattern and for UTF-8; this link's name is neither.
        link = scratch / "figures.csv"
        link.symlink_to(Path(directory).absolute())
        database.read_csv(str(link)).create_view("figures")
        return "from figures"
    else:
        database.execute(RECORDS)
        _local(database, directory)
    database.execute(FIGURES)
    return DEFAULT


def _local(database: duckdb.DuckDBPyConnection, directory: str) -> None:
    """Python walks the directory: to DuckDB a name is a pattern. What can't be read is told."""
    bad: list[str] = []

    def cannot_list(error: OSError) -> None:
        bad.append(f"{readable(str(error.filename))}: {error.strerror}")

    count = 0
    for place, _, names in sorted(os.walk(directory, onerror=cannot_list)):
        if FILE not in names:
            continue
        file = os.path.join(place, FILE)
        try:
            database.execute("insert into records values (?, ?, ?, ?, ?, ?)", _row(file))
            count += 1
        except (OSError, ValueError, RecursionError, duckdb.Error) as error:
            told = getattr(error, "strerror", None) or str(error).splitlines()[0]
            bad.append(f"{readable(file)}: {told}")
    for line in bad:
        progress(f"warning: left out: {line}")
    if not count:
        raise CloudError(
            f"no record below {readable(directory)} can be read: name a directory that has "
            f"{FILE} in it or below it"
        )


def _row(file: str) -> list[Any]:
    if stat.S_ISFIFO(os.stat(file).st_mode):
        raise ValueError("a pipe, not a file")  # to read it would wait for a writer
    run = json.loads(Path(file).read_bytes())
    if not isinstance(run, dict) or not isinstance(run.get("subjects"), list):
        raise ValueError("no run record: it has no list of subjects")
    void = run.get("void_because") or []
    if not isinstance(void, list):
        raise ValueError(f"void_because is {void!r}, a list is needed")
    return [
        readable(file), run.get("scenario"), run.get("started"), run.get("complete"),
        [str(reason) for reason in void], json.dumps(run["subjects"]),
    ]  # fmt: skip


def readable(text: str) -> str:
    """On one line, and in UTF-8, which names of files need not be."""
    whole = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole)


def query(directory: str, sql: str | None) -> str:
    """A table as text, one line a row."""
    names, found = rows(directory, sql)
    cells = [names, *([_cell(value) for value in row] for row in found)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def _cell(value: object) -> str:
    return "-" if value is None else readable(str(value))
