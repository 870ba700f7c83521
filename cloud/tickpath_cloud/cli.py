"""The command line: `tickpath-cloud`, reached as `tickpath cloud`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tickpath_cloud import __version__, ending, journal, live, sweep
from tickpath_cloud.ansible import AnsibleHosts
from tickpath_cloud.arguments import dollars, positive, whole
from tickpath_cloud.aws import client
from tickpath_cloud.config import Config, load
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.errors import CloudError
from tickpath_cloud.estimate import estimate
from tickpath_cloud.estimate import table as estimate_table
from tickpath_cloud.fleet import command as fleet
from tickpath_cloud.hunt import page, prior, simulate, table, watch
from tickpath_cloud.hunt.run import Runner, replay
from tickpath_cloud.hunt.state import Event, State
from tickpath_cloud.launches import FILE as LAUNCHES
from tickpath_cloud.launches import Launches
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import cells, check, features, load_matrix
from tickpath_cloud.matrix.table import table as matrix_table
from tickpath_cloud.plan import make_plan
from tickpath_cloud.plan import text as plan_text
from tickpath_cloud.playbook import listen, progress
from tickpath_cloud.policy import VERBS, policy
from tickpath_cloud.query import query
from tickpath_cloud.share import command as share
from tickpath_cloud.tiers import command as tiers

DONE, MOVED, USAGE, NO_RESULT = 0, 1, 2, 3
FROM_HUNTS = "from your own hunts"
JOURNAL, PAGE, CONFIG = "hunt.jsonl", "report.html", "hunt.toml"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        status = options.act(options)
        sys.stdout.flush()  # here, where a closed pipe can be told from a fault
        return status
    except BrokenPipeError:  # the reader, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except CloudError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except Exception as error:
        print(f"error: {ending.fault(error)}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print(
            "interrupted: commands that hosts have begun may run on. To continue a hunt or a "
            "matrix, add --resume DIR; a fleet or tiers, `fleet resume DIR` or `tiers resume DIR`; "
            "repeat any other verb. `tickpath cloud destroy DIR --apply` removes the hosts of a "
            "hunt.",
            file=sys.stderr,
        )
        return NO_RESULT


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="tickpath cloud", description="Where to stand in the cloud")
    top.add_argument("--version", action="version", version=f"tickpath-cloud {__version__}")
    verbs = top.add_subparsers(required=True, metavar="VERB")

    verb = _verb(verbs, "estimate", _estimate, "What each change of place or machine can bring")
    verb.add_argument("--at", default="same-zone", metavar="PLACE", help="where you are now")
    verb.add_argument(
        "--measured", action="append", default=[], metavar="PLACE=RUN",
        help="your own run record instead of the public figure",
    )  # fmt: skip

    verb = _verb(verbs, "hunt", _hunt, "Find the best placement; without --apply only plan it")
    what = verb.add_mutually_exclusive_group(required=True)
    what.add_argument("file", nargs="?", type=Path, help="hunt.toml")
    what.add_argument("--resume", type=Path, metavar="DIR", help="go on after the controller died")
    what.add_argument("--replay", type=Path, metavar="DIR", help="decide again from the journal")
    what.add_argument(
        "--watch", type=Path, metavar="DIR", help="measure what was kept until it moves (status 1)"
    )
    verb.add_argument(
        "--mesh", type=Path, metavar="FILE", help="a mesh.json, from which to take the prior, too"
    )
    verb.add_argument(
        "--every", type=positive, default=600, metavar="SECONDS", help="of --watch, default 600"
    )
    verb.add_argument("--hours", type=positive, default=24, help="of --watch, at most; default 24")
    verb.add_argument(
        "--change", type=positive, default=0.05, metavar="SHARE",
        help="of --watch: the smallest that counts, default 0.05",
    )  # fmt: skip
    verb.add_argument(
        "--again", type=dollars, metavar="DOLLARS",
        help="with --watch and --apply: budget of a new hunt when a place has moved",
    )  # fmt: skip
    verb.add_argument("--apply", action="store_true", help="do it")
    verb.add_argument("--dry-run", action="store_true", help="simulate: expected error and cost")
    verb.add_argument("--hunts", type=whole, default=60, help="simulated hunts of --dry-run")
    verb.add_argument("--out", type=Path, default=Path("hunts"), help="directory of hunts")
    live.add(verb)

    verb = _verb(verbs, "matrix", _matrix, "Compare instance types, images and tunings")
    what = verb.add_mutually_exclusive_group(required=True)
    what.add_argument("file", nargs="?", type=Path, help="hunt.toml with a table [matrix]")
    what.add_argument("--resume", type=Path, metavar="DIR", help="go on after the controller died")
    verb.add_argument("--apply", action="store_true", help="do it")
    verb.add_argument("--out", type=Path, default=Path("hunts"), help="directory of logs")

    share.add(verbs)
    fleet.add(verbs)
    tiers.add(verbs)

    verb = _verb(verbs, "destroy", _destroy, "Remove all that a hunt made, anchors too")
    verb.add_argument("dir", type=Path, help="the hunt's directory")
    verb.add_argument("--apply", action="store_true", help="do it")

    about = "Find what hunts and receivers left behind; --apply removes orphans"
    verb = _verb(verbs, "sweep", _sweep, about)
    verb.add_argument("--region", required=True)
    verb.add_argument("--apply", action="store_true", help="do it")

    verb = _verb(verbs, "policy", _policy, "Print the least IAM policy for a verb")
    verb.add_argument("verb", choices=VERBS)

    verb = _verb(verbs, "query", _query, "SQL over the run records below a directory (DuckDB)")
    verb.add_argument("directory", help="a directory, or s3://BUCKET/PREFIX")
    verb.add_argument("sql", nargs="?", default=None, help="table: figures")
    return top


def _verb(
    verbs: argparse._SubParsersAction,
    name: str,
    act: Callable[[argparse.Namespace], int],
    about: str,
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=about, description=about)
    verb.set_defaults(act=act)
    return verb


def _estimate(options: argparse.Namespace) -> int:
    measured = {}
    for pair in options.measured:
        place, equals, run = pair.partition("=")
        if not equals:
            raise CloudError(f"--measured {pair!r}: write PLACE=RUN")
        measured[place] = Path(run)
    print(estimate_table(options.at, estimate(options.at, measured)))
    return DONE


def _hunt(options: argparse.Namespace) -> int:
    if options.replay:
        state = replay(journal.read(options.replay / JOURNAL))
        print(table.result(state, state.last_at))
        return DONE
    if options.resume:
        if is_over(options.resume):
            return NO_RESULT
        return followed(load(options.resume / CONFIG), options.resume, options.live)
    if options.watch:
        return watch_kept(options)
    return plan_hunt(load(options.file), options.file, options)


def plan_hunt(config: Config, file: Path, options: argparse.Namespace) -> int:
    """Plans a hunt, simulates it and begins it, as asked."""
    name = _name(config)
    known = prior.own(options.out, config)
    if options.mesh:
        known = known.with_mesh(options.mesh, config.region)
    plan = make_plan(config, name, time.time, known)
    print(plan_text(plan))
    for why in known.left_out:
        progress(f"not in the prior: {why}")
    if options.dry_run:
        world = simulate.World(placements=plan.settings.spread)
        if known.hunts:
            world = replace(world, flow=0.0, block=known.prior.noise, source=FROM_HUNTS)
        print(expectation(simulate.expect(plan.settings, world, options.hunts), world))
        few = max(options.hunts // 4, 2)
        print(money_curve(simulate.curve(plan.settings, world, few)))
    if not options.apply:
        print("nothing was created: add --apply to create it, or --dry-run to simulate it")
        return DONE
    directory = options.out / name
    directory.mkdir(parents=True)
    (directory / CONFIG).write_bytes(file.read_bytes())
    with journal.Journal(directory / JOURNAL) as opened:
        opened.append({"event": "planned", "at": time.time(), "settings": plan.settings.to_json()})
    return followed(config, directory, options.live)


def followed(config: Config, directory: Path, port: int | None) -> int:
    with live.serve(port, f"Hunt {directory.name}") as shown:
        status = hunt(config, directory, time.time)
        if shown is not None:
            shown.end((directory / PAGE).read_text())
    return status


def watch_kept(options: argparse.Namespace) -> int:
    """Until a kept place has moved; then hunts again, if it may."""
    directory = options.watch
    config, state = load(directory / CONFIG), prior.fold(directory / JOURNAL)
    if not state.closed or not state.decided:
        raise CloudError(f"the hunt in {directory} kept nothing so far: `hunt --resume` it first")
    cloud = Ec2(config, state.settings.hunt, launches=Launches(directory / LAUNCHES))
    hosts = AnsibleHosts(config, cloud, directory, progress)
    with journal.Journal(directory / watch.FILE) as opened:
        watching = watch.Watch(state, opened, cloud, hosts, time.time, progress)
        until = time.time() + 3600 * options.hours
        moved = watching.run(options.every, until, options.change)
    if not moved:
        print("no kept place has moved")
        return DONE
    print("\n".join(map(str, moved)))
    if options.again is None:
        print("`--again DOLLARS --apply` would hunt again")
        return MOVED
    # The old places stay until their own time is over, or `destroy`.
    budget = min(config.budget, options.again)
    plan_hunt(replace(config, budget=budget), directory / CONFIG, options)
    return MOVED


def is_over(directory: Path) -> bool:
    """Says so after a `destroy` that came midway. Hosts would be gone, and called unreachable."""
    over = Launches(directory / LAUNCHES).is_destroyed and not any(
        event["event"] == "closed" for event in journal.read(directory / JOURNAL)
    )
    if over:
        print(
            f"nothing is kept: {directory} was destroyed. `hunt --replay` shows what a hunt had "
            "found; begin anew with `hunt FILE --apply` or `matrix FILE --apply`"
        )
    return over


def _destroy_all(cloud: Ec2) -> list[str]:
    left = cloud.destroy()
    if not left:
        cloud.launches.destroyed()
    return left


def hunt(config: Config, directory: Path, clock: Callable[[], float]) -> int:
    """Runs or resumes the hunt whose plan stands in the directory."""
    with journal.Journal(directory / JOURNAL) as opened:
        if not opened.events:
            raise CloudError(f"{directory} has no plan: begin anew with `hunt FILE --apply`")
        settings = opened.events[0]["settings"]
        launches = Launches(directory / LAUNCHES)
        cloud = Ec2(config, settings["hunt"], clock, launches=launches)
        hosts = AnsibleHosts(config, cloud, directory, progress)
        end, go_on = ending.directory_commands("hunt", directory)
        progress(f"the hunt's journal is in {directory}\nresume it: {go_on}\nremove it: {end}")
        with ending.told(launches, end, go_on, lambda: _destroy_all(cloud)):
            state = Runner(opened, cloud, hosts, clock, show, time.sleep).run()
    (directory / PAGE).write_text(page.page(state, clock()))
    print(table.result(state, clock()))
    if gone := cloud.gone(state.decided):
        print(f"nothing is kept of {', '.join(gone)}: destroyed, or ended by the host's own timer")
    print(f"journal and page are in {directory}")
    print(f"`{end}` removes what is left of the hunt")
    return DONE if state.decided else NO_RESULT


def show(state: State, event: Event) -> None:
    """The table on a live page; on a terminal too, and elsewhere a line for each round."""
    text = table.table(state, event["at"])
    if is_live := sys.stderr.isatty():
        print("\033[2J\033[H" + text, file=sys.stderr)
    if event["event"] == "round":
        listen(text)
        if not is_live:
            print(text.splitlines()[0], file=sys.stderr, flush=True)


def expectation(found: simulate.Expectation, world: simulate.World) -> str:
    return (
        f"simulated {found.hunts} hunts, {world.in_words()}:\n"
        f"  tries {found.places:.0f} placements; keeps the best of them in {found.best:.0%}, one "
        f"within 3 % of it in {found.within_3_percent:.0%}; 95 % of hunts end within "
        f"{found.regret_p95:.1%}\n"
        f"  the winner's reported p50 is off by {found.error:.1%} on average\n"
        f"  takes {found.hours:.1f} h, costs ${found.cost_mean:.2f} on average, "
        f"${found.cost_max:.2f} at most"
    )


def money_curve(found: list[simulate.Expectation]) -> str:
    """The kept place's true p50 against what the hunt spends."""
    usual = simulate.World().p50_us
    lines = [f"  what more places bring ({found[0].hunts} hunts each, keeping is not counted):"]
    for point in found:
        share = point.latency_us / usual
        lines.append(
            f"    {point.places:>4.0f} places  ${point.cost_mean:>6.2f}  {point.hours:.1f} h  "
            f"p50 {share:>4.0%} of a usual place's  {'#' * max(round(40 * share), 1)}"
        )
    return "\n".join(lines)


def _matrix(options: argparse.Namespace) -> int:
    if options.resume:
        return NO_RESULT if is_over(options.resume) else measure_matrix(options.resume)
    config, table_of = load(options.file), load_matrix(options.file)
    print(check(config, table_of, cells(config, table_of), features(config, table_of)))
    if not options.apply:
        print("nothing was created: add --apply to create it")
        return DONE
    directory = options.out / _name(config)
    directory.mkdir(parents=True)
    (directory / CONFIG).write_bytes(options.file.read_bytes())
    return measure_matrix(directory)


def measure_matrix(directory: Path) -> int:
    """Begins or resumes; the directory's name is that of the matrix."""
    config, name = load(directory / CONFIG), directory.resolve().name
    cloud = Ec2(config, name, launches=Launches(directory / LAUNCHES))
    hosts = AnsibleHosts(config, cloud, directory, progress)
    with journal.Journal(directory / JOURNAL) as opened:
        found = load_matrix(directory / CONFIG)
        end, go_on = ending.directory_commands("matrix", directory)
        progress(f"the matrix is in {directory}\nresume it: {go_on}\nremove it: {end}")
        measuring = matrix.Measuring(config, found, name, hosts, time.time, opened)
        with ending.told(measuring.cloud.launches, end, go_on):
            rows = measuring.run()
    print(matrix_table(rows))
    return DONE if any(row.p50_us is not None for row in rows) else NO_RESULT


def _name(config: Config) -> str:
    return f"{config.name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"


def _name_of(directory: Path) -> str:
    """From the journal; if that is damaged or empty, the directory's, which was named so."""
    try:
        return journal.read(directory / JOURNAL)[0]["settings"]["hunt"]
    except (CloudError, LookupError):
        return directory.resolve().name


def _destroy(options: argparse.Namespace) -> int:
    config = load(options.dir / CONFIG)
    name = _name_of(options.dir)
    cloud = Ec2(config, name, launches=Launches(options.dir / LAUNCHES))
    if not options.apply:
        left = cloud.leftovers()
        print("\n".join(left) if left else f"nothing is left of {name}")
        print("nothing was removed: --apply does it" if left else "")
        return DONE
    left = _destroy_all(cloud)
    if left:
        raise CloudError(f"still there: {', '.join(left)}; run destroy again")
    print(f"nothing is left of {name}: no instance, no placement group, no security group")
    return DONE


def _sweep(options: argparse.Namespace) -> int:
    ec2, logs = client("ec2", options.region), client("logs", options.region)
    found = sweep.find(ec2, time.time()) + sweep.log_groups(logs, time.time())
    print("\n".join(map(str, found)) if found else f"nothing of ours is in {options.region}")
    orphans = [left for left in found if left.orphan]
    if orphans and options.apply:
        rejected = sweep.remove(ec2, orphans, logs)
        print(f"removed {len(orphans) - len(rejected)}; sweep again for what instances held")
        if rejected:
            raise CloudError("AWS rejected these removals:\n" + "\n".join(rejected))
    elif orphans:
        print(f"{len(orphans)} orphans: --apply removes them")
    return DONE


def _policy(options: argparse.Namespace) -> int:
    print(json.dumps(policy(options.verb), indent=2))
    return DONE


def _query(options: argparse.Namespace) -> int:
    print(query(options.directory, options.sql))
    return DONE
