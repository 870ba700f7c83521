"""SQL over the run records of many hosts, with DuckDB. Merging histograms stays tickpath's."""

from __future__ import annotations

import duckdb

from tickpath_cloud.errors import CloudError

DEFAULT = """
select record, scenario, subject, series, kind, count, p50, p99, p99_9, max
from figures where subject not in ('floor', 'bare', 'hiccup') order by record, series, kind
"""
# One row a series. Void records are no result: they are in `records`, not in `figures`.
VIEWS = """
create temp table records as
select filename as record, scenario, started, complete, void_because,
       to_json(subjects) as subjects
from read_json(getvariable('files'), filename = true, union_by_name = true,
               maximum_object_size = 67108864,
               columns = {scenario: 'VARCHAR', started: 'VARCHAR', complete: 'BOOLEAN',
                          void_because: 'VARCHAR[]', subjects: 'JSON'});
create temp table figures as
with subject as (
  select record, scenario, started, unnest(json_extract(subjects, '$[*]')) as s
  from records where coalesce(len(void_because), 0) = 0
), one as (
  select record, scenario, started, s->>'name' as subject,
         unnest(json_extract(s, '$.series[*]')) as x from subject
)
select record, scenario, started, subject, x->>'name' as series, x->>'kind' as kind,
       x->>'unit' as unit, (x->>'$.pooled.count')::bigint as count,
       (x->>'$.pooled.p50')::double as p50, (x->>'$.pooled.p90')::double as p90,
       (x->>'$.pooled.p99')::double as p99, (x->>'$.pooled.p99_9')::double as p99_9,
       (x->>'$.pooled.max')::double as max
from one;
"""


def rows(directory: str, sql: str | None) -> tuple[list[str], list[tuple]]:
    """Column names and rows. A CSV that `tickpath report --export csv` wrote is the view `csv`."""
    base = directory.rstrip("/")
    with duckdb.connect() as database:
        try:
            if base.startswith("s3://"):
                database.execute("install httpfs; load httpfs")
                database.execute("create secret (type s3, provider credential_chain)")
            if base.endswith(".csv"):
                # The name is a value, never SQL.
                database.read_csv(base).create_view("figures")
            else:
                database.execute("set variable files = ?", [f"{base}/**/run.json"])
                database.execute(VIEWS)
            default = "from figures" if base.endswith(".csv") else DEFAULT
            found = database.execute(sql or default)
            names = [column[0] for column in found.description or []]
            return names, found.fetchall()
        except duckdb.Error as error:
            raise CloudError(
                f"{str(error).splitlines()[0]}: records are sought as {base}/**/run.json; the "
                "tables are `records` and `figures`"
            ) from error


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
    return "-" if value is None else str(value)
