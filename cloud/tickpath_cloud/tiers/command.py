"""`tickpath cloud tiers VERB`."""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path

from tickpath_cloud import live
from tickpath_cloud.arguments import dollars
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import Settings as FleetSettings
from tickpath_cloud.fleet.measure import load as fleet_settings
from tickpath_cloud.playbook import listen, progress
from tickpath_cloud.tiers import check, measure, page, table
from tickpath_cloud.tiers.endpoint import Service
from tickpath_cloud.tiers.hosts import IGMP, STATIC
from tickpath_cloud.tiers.members import members
from tickpath_cloud.tiers.stacks import Stacks, names, parameters, template

DONE, NO_RESULT = 0, 3
CONFIG, WAYS = "tiers.toml", "hops.txt"  # in the directory of results


def add(verbs: argparse._SubParsersAction) -> None:
    about = "Measure ways between two networks at the same time: group, peering, endpoint, edge"
    sub = verbs.add_parser("tiers", help=about, description=about).add_subparsers(
        required=True, metavar="VERB"
    )
    text = "Measure all tiers at once, at each load"
    verb = sub.add_parser("run", help=text, description=text)
    verb.set_defaults(act=_run)
    verb.add_argument("file", type=Path, help="tiers.toml")
    verb.add_argument("--out", type=Path, default=Path("tiers"), help="directory of results")

    text = "Continue a run whose controller died"
    verb = sub.add_parser("resume", help=text, description=text)
    verb.set_defaults(act=_resume)
    verb.add_argument("dir", type=Path, help="the run's directory of results")
    sub.choices["run"].add_argument("--binary", default="", help="tickpath to copy to the hosts")
    sub.choices["run"].add_argument(
        "--collection", type=Path, default=FleetSettings.collection,
        help="your own tickpath.fleet",
    )  # fmt: skip
    for name in ("run", "resume"):
        live.add(sub.choices[name])
        sub.choices[name].add_argument("--json", action="store_true", help="print figures as JSON")

    text = "Show the hops between an instance and an address"
    verb = sub.add_parser("check", help=text, description=text)
    verb.set_defaults(act=_check)
    verb.add_argument("instance")
    verb.add_argument("target", help="the address that it connects to")
    verb.add_argument("--region", required=True)
    verb.add_argument("--target-region", default="", help="of the target, if it is another one")

    text = "Print a CloudFormation template of the topologies"
    verb = sub.add_parser("template", help=text, description=text)
    verb.set_defaults(act=_template)
    verb.add_argument("name", choices=names())
    _add_hosts(verb)
    verb.add_argument(
        "--multicast", choices=(IGMP, STATIC), default=IGMP,
        help="repeat the hosts that join the group this way",
    )  # fmt: skip
    _add_stacks(sub)


def _add_stacks(sub: argparse._SubParsersAction) -> None:
    text = "Make a stack of a template; without --apply only plan it"
    verb = sub.add_parser("deploy", help=text, description=text)
    verb.set_defaults(act=_deploy)
    verb.add_argument("template", choices=names())
    verb.add_argument("name", help="of the stack: tickpath-tiers-NAME")
    verb.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    verb.add_argument("--budget", type=dollars, required=True, help="US dollars, for TtlMinutes")
    _add_hosts(verb)

    text = "List the stacks of tiers; those past their expiry are orphans"
    sub.add_parser("stacks", help=text, description=text).set_defaults(act=_stacks)

    text = "Delete a stack, and check that nothing of it is left"
    verb = sub.add_parser("destroy", help=text, description=text)
    verb.set_defaults(act=_destroy)
    verb.add_argument("name")

    text = "Accept an account's connections to the endpoint service of a stack"
    verb = sub.add_parser("accept", help=text, description=text)
    verb.set_defaults(act=_accept)
    verb.add_argument("name", help="of the exchange's stack: tickpath-tiers-NAME")
    verb.add_argument("--account", required=True, help="that may connect, 12 digits")

    text = "Show which hosts of a stack are members of its multicast group"
    verb = sub.add_parser("members", help=text, description=text)
    verb.set_defaults(act=_members)
    verb.add_argument("name", help="of the stack: tickpath-tiers-NAME")
    for name in ("deploy", "stacks", "destroy", "accept", "members"):
        sub.choices[name].add_argument("--region", required=True)
    for name in ("deploy", "destroy", "accept"):
        sub.choices[name].add_argument("--apply", action="store_true", help="do it")


def _add_hosts(verb: argparse.ArgumentParser) -> None:
    text = "number of hosts besides the hub, for the template `hosts`; default 1"
    verb.add_argument("--hosts", type=int, default=1, metavar="N", help=text)


def _run(options: argparse.Namespace) -> int:
    settings = measure.load(options.file)
    fleet = FleetSettings(
        inventory=options.file, scenario=settings.scenario, binary=options.binary,
        collection=options.collection,
    )  # fmt: skip
    ways = _ways(settings)
    directory = options.out / datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    directory.mkdir(parents=True)
    (directory / CONFIG).write_bytes(options.file.read_bytes())
    (directory / WAYS).write_text(ways)
    fleet.write(directory)
    return _measure(directory, options)


def _resume(options: argparse.Namespace) -> int:
    return _measure(options.dir, options)


def _measure(directory: Path, options: argparse.Namespace) -> int:
    """Begins or resumes the run of the directory."""
    settings, fleet = measure.load(directory / CONFIG), fleet_settings(directory)
    ways = (directory / WAYS).read_text()
    with live.serve(options.live, f"Tiers of {directory.name}") as shown:
        if ways:
            progress(ways)
        loads = []
        for load in measure.measure(settings, fleet, directory, progress):
            loads.append(load)
            listen(table.table([load]))
        figures = json.dumps(table.figures(loads), indent=1)
        (directory / "tiers.json").write_text(figures + "\n")
        (directory / "report.html").write_text(page.page(loads, ways))
        if shown is not None:
            shown.end((directory / "report.html").read_text())
    print(figures if options.json else table.table(loads))
    progress(f"page, figures, records and the log are in {directory}")
    return DONE if any(table.measured(load) for load in loads) else NO_RESULT


def _ways(settings: measure.Settings) -> str:
    """The hops of each tier whose instance is known, before anything is measured."""
    found = []
    for tier in settings.tiers:
        if tier.instance:
            target = tier.connect.rpartition(":")[0]
            try:
                region = tier.region or settings.region
                way = str(check.check(region, tier.instance, target, tier.target_region))
            except CloudError as error:
                way = f"warning: not checked: {error}"
            found.append(f"{tier.name}, {tier.instance} to {tier.connect}:\n{way}")
    return "\n".join(found)


def _check(options: argparse.Namespace) -> int:
    print(check.check(options.region, options.instance, options.target, options.target_region))
    return DONE


def _template(options: argparse.Namespace) -> int:
    print(template(options.name, options.hosts, options.multicast), end="")
    return DONE


def _deploy(options: argparse.Namespace) -> int:
    stacks, asked = Stacks(options.region, time.time), parameters(options.set)
    print(stacks.plan(options.template, options.name, asked, options.budget, options.hosts))
    if not options.apply:
        print("nothing was created: add --apply to create it")
        return DONE
    try:
        print(stacks.deploy(options.template, options.name, asked, options.hosts))
    except CloudError as error:
        raise CloudError(f"{error}\n{stacks.remains(options.name)}") from error
    return DONE


def _stacks(options: argparse.Namespace) -> int:
    found = Stacks(options.region, time.time).find()
    print("\n".join(map(str, found)) if found else f"no stack of tiers is in {options.region}")
    return DONE


def _accept(options: argparse.Namespace) -> int:
    service = Service(options.region, options.name, time.time)
    if options.apply:
        service.accept(options.account)
    found = service.connections()
    print("\n".join(map(str, found)) if found else f"nobody asks to connect to {service.id}")
    if not options.apply:
        print(f"nothing was accepted: --apply accepts those of {options.account}")
    return DONE


def _members(options: argparse.Namespace) -> int:
    found = members(options.region, options.name, time.time)
    print(found)
    return NO_RESULT if found.others else DONE


def _destroy(options: argparse.Namespace) -> int:
    stacks = Stacks(options.region, time.time)
    if not options.apply:
        print(f"would delete tickpath-tiers-{options.name}: --apply does it")
        return DONE
    left = stacks.destroy(options.name)
    if left:
        raise CloudError(f"still there: {', '.join(left)}; destroy again")
    print(f"nothing is left of {options.name}")
    return DONE
