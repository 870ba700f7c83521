"""`tickpath cloud share VERB`. Without --apply every verb only says what it would do."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress
from pathlib import Path

from tickpath_cloud import ending
from tickpath_cloud.arguments import positive
from tickpath_cloud.errors import CloudError
from tickpath_cloud.journal import Journal
from tickpath_cloud.launches import Launches
from tickpath_cloud.share import offer, owner, receiver
from tickpath_cloud.share.reconcile import Event
from tickpath_cloud.share.template import template

EVERY_SECONDS_MIN, EVERY_SECONDS_MAX = 1, 86_400  # AWS throttles more frequent requests
DONE, NOTHING_MADE = 0, "nothing was created: add --apply to create it"


def add(verbs: argparse._SubParsersAction) -> None:
    about = "Share a placement group with another account, and peer the networks"
    sub = verbs.add_parser("share", help=about, description=about).add_subparsers(
        required=True, metavar="VERB"
    )
    verb = _owner(sub, "grant", _grant, "Share the group, allocate a network, write an offer")
    verb.add_argument("--to", required=True, metavar="ACCOUNT|ARN",
                      help="an account, or an organisation's, role's or user's ARN")  # fmt: skip
    verb.add_argument("--account", help="whose VPC may be peered; for an organisation")
    verb.add_argument("--name", help="of the grant; default: the account")
    verb.add_argument("--cidr", default="auto", help="network of the receiver's VPC")
    verb.add_argument("--vpc", help="the receiver's VPC; default: the first that fits")
    verb.add_argument("--days", type=positive, default=30.0, help="until it expires")
    verb.add_argument("--modify", action="store_true", help="allow ModifyInstancePlacement")
    verb.add_argument("--reserve", action="store_true", help="allow CreateCapacityReservation")
    verb.add_argument("--out", type=Path, help="the offer's file; default: NAME.offer.json")

    verb = _owner(
        sub, "reconcile", _reconcile, "Accept what a grant covers, remove what none covers"
    )
    verb.add_argument("--every", type=float, metavar="SECONDS", help="repeat until Ctrl-C")
    _owner(sub, "list", _list, "Show grants and their peerings", apply=False)
    verb = _owner(sub, "revoke", _revoke, "End a grant: no new instances, no network")
    verb.add_argument("grant")
    _owner(sub, "destroy", _destroy, "Revoke all grants, delete the group that `grant` made")
    _owner(sub, "template", _template, "Print the reconciler as CloudFormation", apply=False)

    _receiver(sub, "accept", _accept, "Accept an offer: network, peering, instances in the group")
    _receiver(sub, "leave", _leave, "Remove all that `accept` made")


def _verb(
    sub: argparse._SubParsersAction, name: str, act: object, about: str
) -> argparse.ArgumentParser:
    verb = sub.add_parser(name, help=about, description=about)
    verb.set_defaults(act=act)
    return verb


def _owner(
    sub: argparse._SubParsersAction, name: str, act: object, about: str, apply: bool = True
) -> argparse.ArgumentParser:
    verb = _verb(sub, name, act, about)
    verb.add_argument("--file", type=Path, default=Path("owner.toml"), help="default: owner.toml")
    if apply:
        verb.add_argument("--apply", action="store_true", help="do it")
    return verb


def _receiver(sub: argparse._SubParsersAction, name: str, act: object, about: str) -> None:
    verb = _verb(sub, name, act, about)
    verb.add_argument("offer", type=Path)
    verb.add_argument("--file", type=Path, default=Path("receiver.toml"), help="receiver.toml")
    verb.add_argument("--apply", action="store_true", help="do it")


# --- the owner ----------------------------------------------------------------------------------


class Audited:
    """The owner, with its append-only audit beside owner.toml; one controller at a time."""

    def __init__(self, file: Path) -> None:
        self.settings = owner.load(file)
        self.journal = Journal(file.with_name(f"{file.stem}.audit.jsonl"))
        self.owner = owner.Owner(self.settings, time.time, self._audit)

    def _audit(self, event: Event) -> None:
        self.journal.append(event)
        print(json.dumps(event))

    def __enter__(self) -> owner.Owner:
        self.journal.__enter__()
        return self.owner

    def __exit__(self, *_: object) -> None:
        self.journal.__exit__(None, None, None)


def _grant(options: argparse.Namespace) -> int:
    asked = owner.request(
        options.to, options.account, options.name, cidr=options.cidr, vpc=options.vpc,
        days=options.days, modify=options.modify, reserve=options.reserve,
    )  # fmt: skip
    with Audited(options.file) as side:
        print(side.plan(asked))
        if not options.apply:
            print(NOTHING_MADE)
            return DONE
        made = side.grant(asked)
    file = options.out or Path(f"{made.grant}.offer.json")
    made.write(file)
    print(f"offer for {made.account}: {file}; it holds no secret. Expires {made.expires}")
    return DONE


def _reconcile(options: argparse.Namespace) -> int:
    if not options.apply:
        if options.every is not None:
            raise CloudError("--every repeats changes: add --apply, or leave --every out")
        with Audited(options.file) as side:
            for line in side.preview():
                print(line)
        print("nothing was changed: --apply does it")
        return DONE
    if options.every is None:
        print(_reconciled(options.file))
        return DONE
    return _repeat(options.file, options.every)


def _reconciled(file: Path) -> str:
    with Audited(file) as side:
        opened = side.reconcile()
    return f"open: {', '.join(sorted(o.grant.name for o in opened)) or 'none'}"


def _repeat(file: Path, seconds: float) -> int:
    """Between two rounds other verbs have the audit. What AWS rejects now is tried again."""
    if not EVERY_SECONDS_MIN <= seconds <= EVERY_SECONDS_MAX:  # not a number, too
        raise CloudError(f"--every {seconds:g}: wait {EVERY_SECONDS_MIN} s or more, at most a day")
    said = ""
    with suppress(KeyboardInterrupt):
        while True:
            try:
                state = _reconciled(file)
            except CloudError as error:
                state = f"error: {error}"
            if state != said:
                print(state, flush=True)
            said = state
            time.sleep(seconds)
    return DONE


def _list(options: argparse.Namespace) -> int:
    with Audited(options.file) as side:
        print(side.table())
    return DONE


def _revoke(options: argparse.Namespace) -> int:
    with Audited(options.file) as side:
        print(side.table())
        if not options.apply:
            print(f"would revoke {options.grant}: --apply does it")
            return DONE
        side.revoke(options.grant)
    print(f"{options.grant} is revoked; instances that run in the group are the receiver's")
    return DONE


def _destroy(options: argparse.Namespace) -> int:
    with Audited(options.file) as side:
        print("\n".join(side.leftovers()) or "nothing is there")
        if not options.apply:
            print("nothing was removed: --apply does it")
            return DONE
        left = side.destroy()
    if left:
        raise CloudError(f"still there: {', '.join(left)}; run destroy again")
    print("nothing is left: no grant, no peering, no placement group of ours")
    return DONE


def _template(options: argparse.Namespace) -> int:
    print(template(owner.load(options.file).network))
    return DONE


# --- the receiver -------------------------------------------------------------------------------


def _accept(options: argparse.Namespace) -> int:
    side = _side(options)
    print(side.plan())
    if not options.apply:
        print(NOTHING_MADE)
        return DONE
    end = f"tickpath cloud share leave {options.offer} --file {options.file} --apply"
    with ending.told(side.launches, end, "repeat `share accept`", side.leave):
        made = side.accept()
    print(made)
    return DONE


def _leave(options: argparse.Namespace) -> int:
    side = _side(options)
    if not options.apply:
        print("\n".join(side.leftovers()) or "nothing is there")
        print("nothing was removed: --apply does it")
        return DONE
    left = side.leave()
    if left:
        raise CloudError(f"still there: {', '.join(left)}; leave again")
    print(f"nothing is left of {side.name}: no instance, no reservation, no peering, no network")
    return DONE


def _side(options: argparse.Namespace) -> receiver.Receiver:
    settings = receiver.load(options.file)
    launches = Launches(options.file.with_name(f"{options.file.stem}.launches.jsonl"))
    return receiver.Receiver(settings, offer.read(options.offer), time.time, launches)
