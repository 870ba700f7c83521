"""The fleet: one scenario on many hosts, one report. A failed host is a line of it.

The collection tickpath.fleet does the work on the hosts. Histograms are merged by tickpath itself:
a percentile of percentiles is no percentile.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError
from tickpath_cloud.playbook import PLAYED, Tell, good, play, why
from tickpath_cloud.records import Series, parse_record

# As files: Ansible reads them. In a checkout this is a link to deploy/, in a package a copy.
COLLECTION = Path(str(resources.files("tickpath_cloud"))) / "ansible_collections/tickpath/fleet"
MEASURE, REMOVE = Path("playbooks/fleet.yml"), Path("playbooks/remove.yml")
NO_HOSTS = "provided hosts list is empty"  # of Ansible, which calls that a success
RECORD_BYTES_MAX = 1 << 30  # of one host's record, unpacked


@dataclass(frozen=True)
class Settings:
    inventory: Path
    scenario: str
    set: tuple[str, ...] = ()
    binary: str = ""  # to copy; empty: it is on the hosts
    collection: Path = COLLECTION
    tune: bool = False
    doctor: bool = True
    at_once: int = 0
    answer_seconds: int = 60
    tickpath: str = "tickpath"  # here: merges the records
    extra: tuple[str, ...] = ()  # arguments of ansible-playbook


@dataclass(frozen=True)
class Line:
    """One host of the report."""

    host: str
    record: Path | None = None
    figures: Series | None = None
    why: str = ""  # it is not part of the merged record


class Fleet:
    def __init__(self, settings: Settings, directory: Path, tell: Tell | None = None) -> None:
        self.settings, self.directory, self.tell = settings, directory.resolve(), tell
        self.collection = settings.collection.resolve()
        if not (self.collection / MEASURE).exists():
            raise CloudError(
                f"{settings.collection} has no {MEASURE}: name the collection tickpath.fleet "
                "with --collection"
            )
        if not settings.inventory.exists():
            raise CloudError(
                f"there is no inventory {settings.inventory}: name a file or a directory that "
                "Ansible reads, such as hosts.ini"
            )

    def plan(self) -> str:
        """Hosts and tasks as Ansible sees them. Reaches no host."""
        _, said = self._play(MEASURE, ["--list-hosts", "--list-tasks"])
        return said

    def remove(self, *, really: bool) -> dict[str, str]:
        """What it takes from each host, or would take; or why it could not."""
        found, _ = self._play(REMOVE, [] if really else ["--check"])
        return {
            host: str(result.get("msg")) if good(result) else f"FAILED: {why(result)}"
            for host, result in found.items()
        }

    def measure(self) -> list[Line]:
        results = self.directory / "results"
        results.mkdir(parents=True)
        found, _ = self._play(MEASURE, [])
        lines = [self._line(host, found[host]) for host in sorted(found)]
        return same_binary([line for line in lines if line is not None], results)

    def _play(self, playbook: Path, arguments: Sequence[str]) -> tuple[dict[str, dict], str]:
        self.directory.mkdir(parents=True, exist_ok=True)
        variables: dict[str, Any] = {
            "tickpath_fleet_results": str(self.directory / "results"),
            "tickpath_fleet_run": f"{self.directory.parent.name}-{self.directory.name}",
            "tickpath_fleet_scenario": self.settings.scenario,
            "tickpath_fleet_set": list(self.settings.set),
            "tickpath_fleet_at_once": self.settings.at_once,
            "tickpath_fleet_answer_seconds": self.settings.answer_seconds,
            "tickpath_fleet_tune": self.settings.tune,
            "tickpath_fleet_doctor_wanted": self.settings.doctor,
        }
        last = self.directory / "last"
        with tempfile.TemporaryDirectory(prefix="tp-") as sockets:
            status, said, found = play(
                self.collection / playbook, self.settings.inventory.resolve(), variables,
                self.directory, last, sockets,
                [*self._binary(), *arguments, *self.settings.extra],
                self.collection.parents[2], self.tell,
            )  # fmt: skip
        if status not in PLAYED:
            end = "\n".join(said.strip().splitlines()[-5:])
            raise CloudError(
                f"ansible-playbook ended with {status}: {end}\nsee {self.directory}/ansible.log"
            )
        if NO_HOSTS in said:
            raise CloudError(
                f"Ansible found no host in {self.settings.inventory}: "
                f"`ansible-inventory -i {self.settings.inventory} --graph` shows what it reads"
            )
        return found, said

    def _binary(self) -> list[str]:
        """As an inventory-wide default: a host's own variable is stronger."""
        if not self.settings.binary:
            return []
        return ["-i", f"{self._defaults()}"]

    def _defaults(self) -> Path:
        file = self.directory / "defaults.json"
        held = {"tickpath_fleet_binary": str(Path(self.settings.binary).resolve())}
        file.write_text(json.dumps({"all": {"vars": held}}))
        return file

    def _line(self, host: str, result: dict) -> Line | None:
        if not good(result):
            return Line(host, why=why(result))
        packed = self.directory / "results" / f"{host}.tgz"
        if not packed.exists():
            return None  # an exchange: nothing is measured on it
        try:
            record = unpack(packed, self.directory / "records" / host)
            figures = parse_record(json.loads((record / "run.json").read_text()), host).main
        except (CloudError, OSError, ValueError, tarfile.TarError) as error:
            return Line(host, why=str(error))
        return Line(host, record, figures)

    def merge(self, lines: list[Line]) -> Line | None:
        """By tickpath: histograms, not percentiles."""
        records = [str(line.record) for line in lines if line.record and not line.why]
        if not records:
            return None
        if len(records) == 1:
            return next(line for line in lines if line.record and not line.why)
        out = self.directory / "merged"
        done = subprocess.run(
            [self.settings.tickpath, "report", "--merge", "--out", str(out), *records],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        made = sorted(out.glob("*/run.json")) if out.exists() else []
        if not made:
            raise CloudError(f"tickpath report --merge failed: {done.stderr.strip()[-300:]}")
        run = json.loads(made[-1].read_text())
        return Line("merged", made[-1].parent, parse_record(run, "the merged record").main)


def unpack(packed: Path, into: Path) -> Path:
    """The one record in it. Nothing leaves the directory, whatever the archive says."""
    into.mkdir(parents=True)
    with tarfile.open(packed) as archive:
        if sum(member.size for member in archive.getmembers()) > RECORD_BYTES_MAX:
            raise CloudError(f"the record is larger than {RECORD_BYTES_MAX} bytes")
        archive.extractall(into, filter="data")
    found = sorted(into.glob("**/run.json"))
    if len(found) != 1:
        raise CloudError(f"{len(found)} records came back instead of one")
    return found[0].parent


def same_binary(lines: list[Line], results: Path) -> list[Line]:
    """Another binary is another measurement: most hosts' binary counts."""
    binaries = {}
    for line in lines:
        file = results / f"{line.host}.binary.json"
        if file.exists():
            held = json.loads(file.read_text())
            binaries[line.host] = (held["sha256"], held["version"])
    if not binaries:
        return lines
    [(usual, _)] = Counter(
        binaries[line.host] for line in lines if line.figures and line.host in binaries
    ).most_common(1) or [((None, ""), 0)]
    return [
        line
        if line.why or binaries.get(line.host, usual) == usual
        else Line(line.host, line.record, line.figures, _other(binaries[line.host], usual))
        for line in lines
    ]


def _other(binary: tuple[str, str], usual: tuple[str | None, str]) -> str:
    return (
        f"not merged: another binary, {binary[1]} sha256 {binary[0][:12]}; the others have "
        f"{usual[1]} sha256 {(usual[0] or '')[:12]}"
    )


def table(lines: list[Line], merged: Line | None) -> str:
    """Slowest host first: it is the one to look at."""
    head = f"{'host':<24} {'count':>10} {'p50 us':>10} {'p99 us':>10}  "
    out = [head.rstrip()]
    measured = [line for line in lines if line.figures]
    for line in sorted(measured, key=lambda line: -_p50(line)):
        out.append(_row(line))
    if merged is not None:
        out.append(
            _row(merged if merged.host == "merged" else Line("merged", None, merged.figures))
        )
    counted = [_p50(line) for line in measured if not line.why]
    if len(counted) > 1:
        low, high = min(counted) / 1000, max(counted) / 1000
        out.append(
            f"spread of the p50 over {len(counted)} hosts: {low:.2f} to {high:.2f} us, "
            f"x {high / low:.2f}"
        )
    out += [f"{line.host:<24} FAILED: {line.why}" for line in lines if not line.figures]
    return "\n".join(out)


def _p50(line: Line) -> float:
    assert line.figures is not None
    return line.figures.p50_ns


def _row(line: Line) -> str:
    figures = line.figures
    assert figures is not None
    p99 = "-" if figures.p99_ns is None else f"{figures.p99_ns / 1000:.2f}"
    return (
        f"{line.host:<24} {figures.count:>10} {figures.p50_ns / 1000:>10.2f} {p99:>10}  {line.why}"
    ).rstrip()
