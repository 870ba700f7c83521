"""Estimate, query, page, command line."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Hunt, skip
from namespaces import tickpath

from fake_aws.hosts import SimulatedHosts
from tickpath_cloud import cli, playbook
from tickpath_cloud.errors import CloudError
from tickpath_cloud.estimate import estimate, first_layer, table
from tickpath_cloud.hunt import page
from tickpath_cloud.hunt.table import table as live_table
from tickpath_cloud.policy import policy
from tickpath_cloud.query import query, rows


def record(directory, name, p50, void=(), interval=None):
    """A run record with the keys that docs/run.schema.json requires."""
    pooled = {"count": 5000, "p50": p50, "p90": p50, "p99": 2 * p50, "p99_9": None, "max": 3 * p50}
    series = {"name": "order", "kind": "service", "unit": "ns", "pooled": pooled}
    series["interval"] = {"p50": interval} if interval else {}
    run = {
        "schema": 2, "tool": "tickpath 0.1.0", "scenario": "ping-pong", "complete": True, "runs": 1,
        "warnings": [], "void_because": list(void), "started": "2026-11-23T00:00:00Z",
        "subjects": [{"name": "rust", "load": {}, "series": [series]}],
    }  # fmt: skip
    path = Path(directory) / name
    path.mkdir(parents=True)
    (path / "run.json").write_text(json.dumps(run))
    return path


def test_placement_comes_before_tuning():
    rows = estimate("other-region", {})
    assert first_layer(rows) == 1
    assert [row.layer for row in rows] == sorted(row.layer for row in rows)


def test_no_public_figure_is_said_and_wide():
    row = next(row for row in estimate("private-link", {}) if row.change.endswith("same-zone"))
    assert not row.public and row.high_us / max(row.low_us, 1) > 10
    assert "NO PUBLIC FIGURE" in table("private-link", [row])


def test_every_figure_has_its_source():
    assert all(row.source for place in ("same-zone", "other-zone") for row in estimate(place, {}))


def test_own_records_replace_public_figures(tmp_path):
    mine = record(tmp_path, "here", 300_000, interval=[290_000, 310_000])
    row = next(r for r in estimate("same-zone", {"same-zone": mine}) if "hunted" in r.change)
    assert (row.low_us, row.high_us) == (290 - 122, 310 - 102) and "measured:" in row.source


def test_a_void_record_is_rejected(tmp_path):
    bad = record(tmp_path, "bad", 300_000, void=["a message was lost"])
    with pytest.raises(CloudError, match="void: a message was lost"):
        estimate("same-zone", {"same-zone": bad})


def test_a_smoke_test_is_rejected(tmp_path):
    quick = record(tmp_path, "quick", 300_000)
    run = json.loads((quick / "run.json").read_text())
    (quick / "run.json").write_text(json.dumps({**run, "smoke_test": True}))
    with pytest.raises(CloudError, match="smoke test: make a record without --quick"):
        estimate("same-zone", {"same-zone": quick})


def test_a_reader_that_has_read_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    program = "from tickpath_cloud.cli import main; raise SystemExit(main(['policy', 'hunt']))"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_query_reads_many_records_and_no_void_ones(tmp_path):
    for i in range(50):
        record(tmp_path, f"host-{i}/run", 1000 * (i + 1), void=["x"] if i == 7 else ())
    _, found = rows(str(tmp_path), "select count(*), min(p50), max(p50) from figures")
    assert found == [(49, 1000.0, 50_000.0)]
    assert rows(str(tmp_path), "select count(*) from records")[1] == [(50,)]
    assert "order" in query(str(tmp_path), None)


# `cloud query` took a name for DuckDB's pattern and found nothing in the first of these.
NAMES = (
    "it's a [dir]", "*", "a?b", "{a,b}", "two\nlines", "tab\t", '"', "$HOME", "~", "-x", "%s",
    "back\\slash", "runs.csv", " ", "é", os.fsdecode(b"latin-\xe9"),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_query_takes_any_name(tmp_path, capsys, name):
    record(tmp_path / name, f"{name} below", 1000)
    record(tmp_path / "another", "run", 2000)
    assert rows(str(tmp_path / name), "select p50 from figures")[1] == [(1000.0,)]
    assert cli.main(["query", str(tmp_path / name)]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2, "a row is a line, whatever the name has in it"
    assert out.encode() and "1000.0" in out


@pytest.mark.parametrize("name", NAMES)
def test_query_reads_csv(tmp_path, name):
    file = tmp_path / f"{name}.csv"
    file.write_text("series,p50\norder,7\n")
    assert rows(str(file), "select p50 from figures")[1] == [(7,)]


def test_query_leaves_out_what_is_no_record_and_says_so(tmp_path, capsys):
    """One torn record ended the whole query; a pipe would have waited for ever."""
    record(tmp_path, "good", 1000)
    contents = {
        "torn": '{"subjects": [', "other": "[1]", "empty": "", "deep": "[" * 100_000,
        "odd": '{"subjects": [], "complete": "perhaps"}', "binary": "\0\xff",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content, encoding="latin-1")
    for name in ("pipe", "dangling", "loop"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe/run.json")
    (tmp_path / "dangling/run.json").symlink_to("nowhere")
    (tmp_path / "loop/run.json").symlink_to("run.json")
    (tmp_path / "directory/run.json").mkdir(parents=True)
    assert rows(str(tmp_path), "select p50 from figures")[1] == [(1000.0,)]
    told = capsys.readouterr().err
    for name in (*contents, "pipe", "dangling", "loop"):
        assert told.count(f"left out: {tmp_path}/{name}/run.json: ") == 1, name
    assert len(told.splitlines()) == len(contents) + 3


def test_query_says_which_directory_it_may_not_list(tmp_path, capsys, monkeypatch):
    record(tmp_path, "good", 1000)
    record(tmp_path, "locked", 2000)
    scandir = os.scandir

    def denied(path):  # root may list every directory
        if str(path).endswith("/locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    assert rows(str(tmp_path), "select p50 from figures")[1] == [(1000.0,)]
    assert f"{tmp_path}/locked: Permission denied" in capsys.readouterr().err


def test_query_keeps_a_figure_of_a_wrong_type_unknown(tmp_path):
    record(tmp_path, "good", 1000)
    file = record(tmp_path, "odd", 2000) / "run.json"
    file.write_text(file.read_text().replace('"p50": 2000', '"p50": "fast"'))
    assert rows(str(tmp_path), "select p50 from figures order by 1")[1] == [(1000.0,), (None,)]


def test_query_reads_what_tickpath_exports(tmp_path):
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    settings = (
        "runs=1", "seconds=0.5", "warm_up_seconds=0.1", "floor_seconds=0", "bare_seconds=0",
        "hiccup_seconds=0", "subject.rust.backend=block", "exchange.backend=block",
    )  # fmt: skip
    words = [tickpath(), "run", "ping-pong", "--quiet", "--json", "--out", str(tmp_path / "runs")]
    words += [word for setting in settings for word in ("--set", setting)]
    # A core that another test measures on is no obstacle: the figures don't matter.
    locks = {**os.environ, "TICKPATH_LOCKS": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=locks)
    assert done.returncode in (0, 3), done.stderr
    words = [tickpath(), "report", "--export", "csv", str(tmp_path / "runs")]
    file = tmp_path / "figures.csv"
    file.write_text(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    sql = "select value_ns from figures where run = 0 and percentile = 'p50' and subject = 'rust'"
    [(exported,)] = rows(str(file), f"{sql} and series = 'order'")[1]
    pooled = json.loads(done.stdout)["subjects"][0]["series"][0]["pooled"]
    assert exported == pooled["p50"] > 0


def test_query_tells_what_it_has(tmp_path):
    with pytest.raises(CloudError, match="run.json"):
        rows(str(tmp_path), None)
    record(tmp_path, "a", 1000)
    with pytest.raises(CloudError, match="`figures`"):
        rows(str(tmp_path), "select nonsense from figures")


def test_page_and_table_show_every_arm(hunt):
    tables = []
    state = hunt.run(lambda state, event: tables.append(live_table(state, event["at"])))
    text = page.page(state, hunt.world.now())
    assert all(name in text for name in state.arms) and "<svg" in text
    assert "http" not in text, "one file, no network"
    assert any("arm-01" in text and "spent $" in text for text in tables)


HUNT = """
name = "demo"
region = "eu-west-1"
subnets = ["{subnet}"]
image = "ami-12345678"
target = "10.0.0.5:8888"
budget = 20
instance_types = ["c6i.large"]
ssh_from = "198.51.100.7/32"
arms = 8
"""


def test_hunt_plans_and_simulates_and_makes_nothing(config, world, tmp_path, capsys):
    file = tmp_path / "hunt.toml"
    file.write_text(HUNT.format(subnet=config.subnets[0]))
    assert cli.main(["hunt", str(file), "--dry-run", "--hunts", "5"]) == 0
    said = capsys.readouterr().out
    for part in (
        "account 111111111111",
        "at worst",
        "budget",
        "assumed, not measured",
        "of a usual place's",
    ):
        assert part in said
    assert not world.instances and not world.groups


def test_a_hunt_that_was_destroyed_midway_is_not_resumed(
    config, world, tmp_path, capsys, monkeypatch
):
    """It measured hosts that were gone, and called them unreachable."""
    monkeypatch.setattr(cli, "AnsibleHosts", lambda *_: SimulatedHosts(world))
    monkeypatch.setattr(cli, "show", interrupt)
    file = tmp_path / "hunt.toml"
    file.write_text(HUNT.format(subnet=config.subnets[0]))
    assert cli.main(["hunt", str(file), "--apply", "--out", str(tmp_path / "h")]) == 3
    [directory] = (tmp_path / "h").iterdir()
    assert cli.main(["destroy", str(directory), "--apply"]) == 0
    capsys.readouterr()
    before = len(world.calls)
    assert cli.main(["hunt", "--resume", str(directory)]) == 3
    assert "nothing is kept" in capsys.readouterr().out and len(world.calls) == before


def interrupt(state, event):
    if event["event"] == "settled":
        raise KeyboardInterrupt


def test_a_live_page_gets_the_table_of_each_round(hunt, capsys, monkeypatch):
    """It had the first line alone, as a log has."""
    heard = []
    monkeypatch.setattr(playbook, "LISTENERS", [heard.append])
    state = hunt.run(cli.show)
    assert len(heard) >= len(state.rounds) > 0
    assert capsys.readouterr().err.splitlines() == [text.splitlines()[0] for text in heard]
    assert any("arm-01" in text and "spent $" in text for text in heard)


def test_hunt_applies_writes_its_page_and_resumes(config, world, tmp_path, capsys, monkeypatch):
    hosts = SimulatedHosts(world)
    monkeypatch.setattr(cli, "AnsibleHosts", lambda *_: hosts)
    monkeypatch.setattr(cli, "time", SimpleNamespace(time=world.now, sleep=hosts.sleep))
    file = tmp_path / "hunt.toml"
    file.write_text(HUNT.format(subnet=config.subnets[0]))
    out = tmp_path / "out"
    assert cli.main(["hunt", str(file), "--apply", "--out", str(out)]) == 0
    [directory] = out.iterdir()
    told = capsys.readouterr()
    assert "kept arm-" in told.out
    rounds = (directory / "hunt.jsonl").read_text().count('"event":"round"')
    assert told.err.count(" arms so far, spent $") == rounds > 8, "a log has a line a round"
    assert "<svg" in (directory / "report.html").read_text()
    lines = len((directory / "hunt.jsonl").read_text().splitlines())
    assert cli.main(["hunt", "--resume", str(directory)]) == 0
    assert len((directory / "hunt.jsonl").read_text().splitlines()) == lines, "it was over"
    assert cli.main(["destroy", str(directory), "--apply"]) == 0
    assert all(i._state.name == "terminated" for i in world.instances.values())
    assert "nothing is kept" not in capsys.readouterr().out
    assert cli.main(["hunt", "--resume", str(directory)]) == 0
    assert "nothing is kept of arm-" in capsys.readouterr().out, "it named places that are gone"


def test_errors_are_one_line_and_status_2(tmp_path, capsys):
    file = tmp_path / "hunt.toml"
    file.write_text("nonsense = 1\n")
    assert cli.main(["hunt", str(file)]) == 2
    assert "unknown key 'nonsense'" in capsys.readouterr().err
    file.write_text("halving_rounds = 4\n")
    assert cli.main(["hunt", str(file)]) == 2
    assert "halving_rounds is no key any more: a hunt screens waves" in capsys.readouterr().err
    file.write_text('name = "x"\nregion = "eu-west-1"\n')
    assert cli.main(["hunt", str(file)]) == 2
    assert "hunt.toml: subnets is missing: needed are name" in capsys.readouterr().err
    for line, said in (
        ('budget = "much"', "budget is 'much': write a number"),
        ('arms = "six"', "arms is 'six': write a whole number"),
        ("subnets = 7", "subnets is 7: write a list"),
        ("name = 7", "name is 7: write text in quotes"),
        ('ssh_from = "home"', "'home' does not appear to be an IPv4 or IPv6 network; write a"),
    ):
        key = line.partition(" ")[0]
        lines = [one for one in HUNT.format(subnet="s").splitlines() if not one.startswith(key)]
        file.write_text("\n".join([line, *lines]))
        assert cli.main(["hunt", str(file)]) == 2
        assert said in capsys.readouterr().err, line
    assert cli.main(["estimate", "--at", "the-moon"]) == 2
    assert "the-moon" in capsys.readouterr().err


WRONG = [
    ("hunt --watch hunts/x --again much", "--again: 'much': write US dollars above 0"),
    ("hunt --watch hunts/x --hours nan", "--hours: 'nan': write a number above 0"),
    ("hunt hunt.toml --hunts 0", "--hunts: '0': write a whole number"),
    (
        "tiers deploy exchange x --region eu-west-1 --budget abc",
        "--budget: 'abc': write US dollars",
    ),
    (
        "tiers deploy exchange x --region eu-west-1 --budget inf",
        "--budget: 'inf': write US dollars",
    ),
    ("share grant --to 111111111111 --days inf", "--days: 'inf': write a number above 0"),
    ("share grant --to 111111111111 --days 1e7", "--days: '1e7': write a number above 0"),
]


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_wrong_numbers_are_said_by_their_option(line, said, capsys):
    """--budget abc was a traceback, --days inf a fault of the program."""
    with pytest.raises(SystemExit) as ended:
        cli.main(line.split())
    err = capsys.readouterr().err
    assert ended.value.code == 2 and said in err and "Traceback" not in err


def test_a_region_or_profile_that_can_t_be_is_no_fault_of_the_program(monkeypatch, capsys):
    assert cli.main(["sweep", "--region", "eu west"]) == 2
    assert "'eu west' doesn't match a supported format.: check --region" in capsys.readouterr().err
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert cli.main(["sweep", "--region", "eu-west-1"]) == 2
    said = capsys.readouterr().err
    assert "nobody" in said and "AWS_PROFILE" in said and "fault" not in said


def test_an_endpoint_that_can_t_be_reached_is_asked_again(world, monkeypatch, capsys):
    """Half a minute without a network ended a hunt whose instances went on."""
    pauses = []
    monkeypatch.setattr("tickpath_cloud.aws.pause", pauses.append)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert cli.main(["sweep", "--region", "eu-west-1"]) == 2
    assert "AWS can't be reached" in capsys.readouterr().err and sum(pauses) > 60


def test_destroy_and_sweep_by_command_line(config, world, tmp_path, capsys, monkeypatch):
    file = tmp_path / "hunt.toml"
    file.write_text(HUNT.format(subnet=config.subnets[0]))
    hunt = Hunt(replace(config, arms=3, finalists=2, budget=Decimal(20)), world, tmp_path)
    hunt.run()
    world.policies["me"] = policy("sweep")["Statement"]
    assert cli.main(["sweep", "--region", "eu-west-1"]) == 0
    assert "test-1" in capsys.readouterr().out
    world.policies["me"] = policy("destroy")["Statement"]
    assert cli.main(["destroy", str(tmp_path)]) == 0
    assert "nothing was removed" in capsys.readouterr().out
    assert cli.main(["destroy", str(tmp_path), "--apply"]) == 0
    assert "nothing is left" in capsys.readouterr().out
    assert cli.main(["hunt", "--replay", str(tmp_path)]) == 0
    assert hunt.alive() == []


@pytest.mark.parametrize("damaged", [b"", b"no json\n", b"{}\n"])
def test_destroy_works_without_the_journal(config, world, tmp_path, capsys, damaged):
    """The error of a damaged journal advised `destroy`, which read the journal and failed too."""
    directory = tmp_path / "test-1"
    hunt = Hunt(replace(config, arms=3, finalists=2, budget=Decimal(20)), world, directory)
    hunt.run()
    assert hunt.alive() != []
    (directory / "hunt.toml").write_text(HUNT.format(subnet=config.subnets[0]))
    hunt.path.write_bytes(damaged)
    assert cli.main(["destroy", str(directory), "--apply"]) == 0
    assert "nothing is left of test-1" in capsys.readouterr().out
    assert hunt.alive() == []
