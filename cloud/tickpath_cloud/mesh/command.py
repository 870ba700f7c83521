"""`tickpath cloud fleet mesh`."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from tickpath_cloud import live
from tickpath_cloud.mesh import page, record, table, timetable
from tickpath_cloud.mesh.measure import Runner, Settings
from tickpath_cloud.playbook import progress

DONE, NO_RESULT = 0, 3
RECORD, PAGE = "mesh.json", "mesh.html"


def add(verbs: argparse._SubParsersAction) -> argparse.ArgumentParser:
    about = "Measure the round trip between every two hosts of an inventory"
    verb: argparse.ArgumentParser = verbs.add_parser("mesh", help=about, description=about)
    verb.set_defaults(act=_mesh)
    verb.add_argument("inventory", type=Path, help="a file, or *.aws_ec2.yml for EC2's tags")
    verb.add_argument(
        "--scope", choices=timetable.SCOPES, default=timetable.ALL,
        help="all pairs, or those from --hub, or those to it",
    )  # fmt: skip
    verb.add_argument("--hub", default="", metavar="HOST", help="the one end of a fan")
    verb.add_argument(
        "--seconds", type=float, default=Settings.seconds, help="of each measurement, default 1"
    )
    verb.add_argument(
        "--again", type=int, default=Settings.again, metavar="N",
        help="try pairs without figures up to N times more, default 2",
    )  # fmt: skip
    verb.add_argument("--seed", type=int, default=1, help="of the order of rounds")
    verb.add_argument(
        "--answer-seconds", type=int, default=Settings.answer_seconds, metavar="N",
        help="leave out a host that has not answered after this long",
    )  # fmt: skip
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    verb.add_argument("--binary", default="", help="tickpath to copy to the hosts")
    verb.add_argument("--json", action="store_true", help="print the record")
    live.add(verb)
    return verb


def _mesh(options: argparse.Namespace) -> int:
    settings = Settings(
        inventory=options.inventory, scope=options.scope, hub=options.hub,
        seconds=options.seconds, again=options.again, seed=options.seed,
        set=tuple(options.set), binary=options.binary, collection=options.collection,
        answer_seconds=options.answer_seconds,
    )  # fmt: skip
    began = datetime.now(UTC)
    directory: Path = options.out / began.strftime("%Y%m%dT%H%M%SZ")
    with live.serve(options.live, f"Mesh of {options.inventory}") as shown:
        found = record.found(Runner(settings, directory, progress).run())
        held = record.to_json(found, began.isoformat(timespec="seconds"))
        (directory / RECORD).write_text(json.dumps(held, indent=1) + "\n")
        (directory / PAGE).write_text(page.page(found, held))
        if shown is not None:
            shown.end((directory / PAGE).read_text())
    print(json.dumps(held, indent=1) if options.json else table.text(found))
    progress(f"{RECORD} and {PAGE} are in {directory}")
    return DONE if found.places else NO_RESULT
