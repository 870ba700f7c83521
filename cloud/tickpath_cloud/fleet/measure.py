"""The fleet: one scenario on many hosts, one report. A failed host is a line of it.

The collection tickpath.fleet does the work on the hosts. Histograms are merged by tickpath itself:
a percentile of percentiles is no percentile.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tickpath_cloud.errors import CloudError
from tickpath_cloud.playbook import FORKS, PLAYED, Tell, good, plain, play, why
from tickpath_cloud.records import Series, parse_record

# As files: Ansible reads them. In a checkout this is a link to deploy/, in a package a copy.
COLLECTION = Path(str(resources.files("tickpath_cloud"))) / "ansible_collections/tickpath/fleet"
MEASURE, REMOVE = Path("playbooks/fleet.yml"), Path("playbooks/remove.yml")
NO_HOSTS = "provided hosts list is empty"  # of Ansible, which calls that a success
SETTINGS = "settings.json"  # in a run's directory: resumes it
SECONDS_MAX = 31 * 86_400  # of a run
# Limits of one host's record, unpacked.
RECORD_BYTES_MAX, RECORD_BYTES_PER_SECOND_MAX = 256 << 20, 32 << 10


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
    seconds_max: int = 3600  # a run that takes longer is ended
    answer_seconds: int = 60
    extra: tuple[str, ...] = ()  # arguments of ansible-playbook

    def __post_init__(self) -> None:
        if not 1 <= self.seconds_max <= SECONDS_MAX:
            raise CloudError(
                f"a run may take {self.seconds_max} s at most: write 1 to {SECONDS_MAX}"
            )
        if self.binary and not Path(self.binary).is_file():
            raise CloudError(f"--binary {self.binary}: there is no such file")
        if self.at_once < 0:
            raise CloudError(f"{self.at_once} hosts at once: write 0 for all, up to {FORKS}")

    def write(self, directory: Path) -> None:
        """For whoever resumes the run. Paths as they are from every directory."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        for key in ("inventory", "collection"):
            held[key] = str(held[key].resolve())
        held["binary"] = self.binary and str(Path(self.binary).resolve())
        (directory / SETTINGS).write_text(json.dumps(held, indent=1) + "\n")


@dataclass(frozen=True)
class Line:
    """One host of the report."""

    host: str
    record: Path | None = None
    figures: Series | None = None
    why: str = ""  # it is not part of the merged record
    path: str = ""  # what lies at the other end: loopback, exchange, gateway-alone, …


def load(directory: Path) -> Settings:
    """Reads the settings of the run in that directory."""
    file = directory / SETTINGS
    try:
        held: dict[str, Any] = json.loads(file.read_text())
        for key in ("inventory", "collection"):
            held[key] = Path(held[key])
        for key, entry in held.items():
            held[key] = tuple(entry) if isinstance(entry, list) else entry
        return Settings(**held)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CloudError(f"cannot read {file} ({error}): name a run's directory") from error


class Fleet:
    """`resumed`: its controller died; what hosts have measured or still measure is not repeated."""

    def __init__(
        self, settings: Settings, directory: Path, tell: Tell | None = None, resumed: bool = False
    ) -> None:
        self.settings, self.directory, self.tell = settings, directory.resolve(), tell
        self.resumed = resumed
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
        _, said = self.play(MEASURE, ["--list-hosts", "--list-tasks"])
        return said

    def remove(self, *, really: bool) -> dict[str, str]:
        """The removed things by host, or without `really` those to remove; or why that failed."""
        found, _ = self.play(REMOVE, [] if really else ["--check"])
        return {
            host: str(result.get("msg")) if good(result) else f"FAILED: {why(result)}"
            for host, result in found.items()
        }

    def measure(self) -> list[Line]:
        results = self.directory / "results"
        results.mkdir(parents=True, exist_ok=self.resumed)
        self.settings.write(self.directory)
        found, _ = self.play(MEASURE, [])
        lines = [self._line(host, found[host]) for host in sorted(found)]
        return same_binary([line for line in lines if line is not None], results)

    def play(
        self, playbook: Path, arguments: Sequence[str], more: dict[str, Any] | None = None
    ) -> tuple[dict[str, dict], str]:
        """Each host's last result, and what Ansible printed. `more` are variables of the roles."""
        self.directory.mkdir(parents=True, exist_ok=True)
        variables: dict[str, Any] = {
            "tickpath_fleet_run": quote(f"{self.directory.parent.name}-{self.directory.name}", ""),
            "tickpath_fleet_scenario": self.settings.scenario,
            "tickpath_fleet_set": list(self.settings.set),
            "tickpath_fleet_at_once": min(self.settings.at_once or FORKS, FORKS),
            "tickpath_fleet_answer_seconds": self.settings.answer_seconds,
            "tickpath_fleet_seconds_max": self.settings.seconds_max,
            "tickpath_fleet_resumed": self.resumed,
            "tickpath_fleet_tune": self.settings.tune,
            "tickpath_fleet_doctor_wanted": self.settings.doctor,
            **(more or {}),
        }
        last = self.directory / "last"
        with tempfile.TemporaryDirectory(prefix="tp-") as sockets:
            ours = plain(self.directory, sockets)
            variables["tickpath_fleet_results"] = str(ours / "results")
            status, said, found = play(
                self.collection / playbook, self.settings.inventory.resolve(), variables,
                self.directory, last, sockets,
                [*self._binary(ours), *arguments, *self.settings.extra],
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
                f"`ansible-inventory -i {shlex.quote(str(self.settings.inventory))} --graph` shows "
                "what it reads"
            )
        return found, said

    def _binary(self, directory: Path) -> list[str]:
        """As an inventory-wide default: a host's own variable is stronger."""
        if not self.settings.binary:
            return []
        file = directory / "defaults.json"
        held = {"tickpath_fleet_binary": str(Path(self.settings.binary).resolve())}
        file.write_text(json.dumps({"all": {"vars": held}}))
        return ["-i", str(file)]

    def collected(self, hosts: list[str]) -> list[Line] | None:
        """Lines of records that are here already; None if one is missing."""
        lines = [line for host in hosts if (line := self._line(host, {})) is not None]
        return same_binary(lines, self.directory / "results") if len(lines) == len(hosts) else None

    def _line(self, host: str, result: dict) -> Line | None:
        packed = self.directory / "results" / f"{host}.tgz"
        if not good(result) and not packed.exists():
            return Line(host, why=why(result))
        if not packed.exists():
            return None  # an exchange or its follower: nothing is measured on it
        most = RECORD_BYTES_MAX + RECORD_BYTES_PER_SECOND_MAX * self.settings.seconds_max
        try:
            record = unpack(packed, self.directory / "records" / host, most)
            figures = parse_record(json.loads((record / "run.json").read_text()), host).main
            path = (self.directory / "results" / f"{host}.path").read_text().strip()
        except (CloudError, OSError, ValueError, tarfile.TarError) as error:
            return Line(host, why=str(error))
        return Line(host, record, figures, path=path)

    def gateways(self) -> dict[str, dict]:
        """The last line of each gateway, by host."""
        return {host: last for host, last in self._ended() if "to_exchange" in last}

    def copies(self) -> dict[str, dict]:
        """By exchange with a follower: records, those that the follower has, and connections."""
        counts = {host: last.get("counts", {}) for host, last in self._ended()}
        return {host: held["replica"] for host, held in counts.items() if "replica" in held}

    def _ended(self) -> Iterator[tuple[str, dict]]:
        """The last line of each exchange, gateway and follower."""
        for file in sorted((self.directory / "results").glob("*.exchange.txt")):
            with suppress(ValueError, IndexError):  # it ended without its last line
                last = json.loads(file.read_text().splitlines()[-1])
                yield file.name.removesuffix(".exchange.txt"), last

    def merge(self, lines: list[Line]) -> list[Line]:
        """By tickpath: histograms, not percentiles. A line for each path of several hosts."""
        return [
            self._merge(path, [str(line.record) for line in of_path])
            for path, of_path in by_path(lines).items()
            if len(of_path) > 1
        ]

    def _merge(self, path: str, records: list[str]) -> Line:
        out = self.directory / "merged" / path
        shutil.rmtree(out, ignore_errors=True)  # of a run that is resumed
        words = ["report", "--merge", "--out", str(out), *records]
        try:
            done = subprocess.run(
                [self._tickpath(), *words], capture_output=True, text=True, check=False
            )
            made = sorted(out.glob("*/run.json")) if out.exists() else []
            if not made:
                raise CloudError(f"tickpath report --merge failed: {done.stderr.strip()[-300:]}")
            run = json.loads(made[-1].read_text())
            figures = parse_record(run, "the merged record").main
        except (CloudError, OSError, ValueError) as error:
            return Line(f"merged {path}", why=str(error), path=path)
        return Line(f"merged {path}", made[-1].parent, figures, path=path)

    def _tickpath(self) -> str:
        """The hosts' binary, unless it is of another processor."""
        for program in filter(None, (self.settings.binary, shutil.which("tickpath"))):
            with suppress(OSError, subprocess.CalledProcessError):
                subprocess.run([program, "--version"], capture_output=True, check=True)
                return program
        raise CloudError(
            "no tickpath runs on this machine: put one on the PATH, then `fleet resume` merges"
        )


def by_path(lines: list[Line]) -> dict[str, list[Line]]:
    """The lines that count; those of different paths are different measurements."""
    counted = [line for line in lines if line.record and not line.why]
    return {
        path: [line for line in counted if line.path == path]
        for path in sorted({line.path for line in counted})
    }


def unpack(packed: Path, into: Path, bytes_max: int) -> Path:
    """The one record in it. Nothing leaves the directory, whatever the archive says."""
    shutil.rmtree(into, ignore_errors=True)  # of a controller that died
    into.mkdir(parents=True)
    with tarfile.open(packed) as archive:
        if sum(member.size for member in archive.getmembers()) > bytes_max:
            raise CloudError(f"the record is larger than {bytes_max} bytes")
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
        else replace(line, why=_other(binaries[line.host], usual))
        for line in lines
    ]


def _other(binary: tuple[str, str], usual: tuple[str | None, str]) -> str:
    return (
        f"not merged: another binary, {binary[1]} sha256 {binary[0][:12]}; the others have "
        f"{usual[1]} sha256 {(usual[0] or '')[:12]}"
    )
