"""`tickpath cloud fleet VERB`."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from tickpath_cloud import live
from tickpath_cloud.fleet.measure import Fleet, Settings, load
from tickpath_cloud.fleet.table import figures, table
from tickpath_cloud.mesh import command as mesh
from tickpath_cloud.playbook import FORKS, progress

DONE, NO_RESULT = 0, 3


def add(verbs: argparse._SubParsersAction) -> None:
    about = "Measure many hosts with Ansible and merge their records"
    sub = verbs.add_parser("fleet", help=about, description=about).add_subparsers(
        required=True, metavar="VERB"
    )
    for name, act, help_text in (
        ("plan", _plan, "Show hosts and tasks; reaches no host"),
        ("run", _run, "Measure all hosts of an inventory"),
    ):
        verb = sub.add_parser(name, help=help_text, description=help_text)
        verb.set_defaults(act=act)
        verb.add_argument("inventory", type=Path, help="a file, or *.aws_ec2.yml for EC2's tags")
        verb.add_argument("scenario", nargs="?", default="order-to-ack")
        verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
        verb.add_argument("--binary", default="", help="tickpath to copy to the hosts")
        verb.add_argument("--tune", action="store_true", help="apply `tickpath tune` first")
        verb.add_argument(
            "--at-once", type=int, default=0, help=f"hosts at a time; 0: up to {FORKS}"
        )
        verb.add_argument(
            "--seconds-max", type=int, default=Settings.seconds_max, metavar="N",
            help="end a host's run after this long",
        )  # fmt: skip
        _add_common(verb)
    text = "Continue a run whose controller died"
    verb = sub.add_parser("resume", help=text, description=text)
    verb.set_defaults(act=_resume)
    verb.add_argument("dir", type=Path, help="the run's directory of results")
    for name in ("run", "resume"):
        live.add(sub.choices[name])
        sub.choices[name].add_argument("--json", action="store_true", help="print figures as JSON")
    _add_common(mesh.add(sub))
    text = "Take settings back and delete records and the copied binary on all hosts"
    verb = sub.add_parser("remove", help=text, description=text)
    verb.set_defaults(act=_remove)
    verb.add_argument("inventory", type=Path, help="that of the run")
    verb.add_argument("--apply", action="store_true", help="do it")
    _add_common(verb)


def _add_common(verb: argparse.ArgumentParser) -> None:
    yours = "your own tickpath.fleet"
    verb.add_argument("--collection", type=Path, default=Settings.collection, help=yours)
    verb.add_argument("--out", type=Path, default=Path("fleet"), help="directory of results")


def _directory(options: argparse.Namespace) -> Path:
    return options.out / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _fleet(options: argparse.Namespace) -> Fleet:
    settings = Settings(
        inventory=options.inventory, scenario=options.scenario, set=tuple(options.set),
        binary=options.binary, collection=options.collection, tune=options.tune,
        at_once=options.at_once, seconds_max=options.seconds_max,
    )  # fmt: skip
    return Fleet(settings, _directory(options), progress)


def _plan(options: argparse.Namespace) -> int:
    print(_fleet(options).plan())
    return DONE


def _run(options: argparse.Namespace) -> int:
    return _measure(_fleet(options), options)


def _resume(options: argparse.Namespace) -> int:
    return _measure(Fleet(load(options.dir), options.dir, progress, resumed=True), options)


def _measure(fleet: Fleet, options: argparse.Namespace) -> int:
    title = f"Fleet of {fleet.settings.inventory}"
    with live.serve(options.live, title) as shown:
        lines = fleet.measure()
        merged = fleet.merge(lines)
        ended = fleet.gateways(), fleet.copies()
        if shown is not None:
            shown.end(live.report_of(title, table(lines, merged, *ended)))
    held = json.dumps(figures(lines, merged, *ended), indent=1)
    (fleet.directory / "fleet.json").write_text(held + "\n")
    print(held if options.json else table(lines, merged, *ended))
    progress(f"figures, records, doctor's findings and the log are in {fleet.directory}")
    return DONE if any(line.figures and not line.why for line in lines) else NO_RESULT


def _remove(options: argparse.Namespace) -> int:
    settings = Settings(inventory=options.inventory, scenario="", collection=options.collection)
    fleet = Fleet(settings, _directory(options), progress)
    found = fleet.remove(really=options.apply)
    for host in sorted(found):
        print(f"{host:<24} {found[host]}")
    if not options.apply:
        print("nothing was removed: --apply does it")
    failed = any(said.startswith("FAILED") for said in found.values())
    return NO_RESULT if failed else DONE
