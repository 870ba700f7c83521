"""Both directions of pairs: what records say, triangles that close, planted asymmetric paths."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from test_mesh import SCHEMA

from tickpath_cloud.errors import CloudError
from tickpath_cloud.mesh import page, record, table, timetable, ways
from tickpath_cloud.mesh.closure import closure
from tickpath_cloud.mesh.measure import Host, Measured, Mesh, Settings
from tickpath_cloud.records import Series

SLOT_SECONDS = 6.0


class Site:
    """Hosts whose counters and rates nobody knows. True time is in ns since some instant."""

    def __init__(self, hosts, seed, noise_ns=200.0):
        self.random, self.noise_ns = np.random.default_rng(seed), noise_ns
        self.names = [f"h{n}" for n in range(hosts)]
        self.rates = 3.0 * (1 + 3e-5 * self.random.normal(size=hosts))  # counts in a ns
        self.started = self.random.integers(10**15, 10**17, hosts)  # count at true time 0
        self.echoes = [self.calibrated(host, 0) for host in range(hosts)]
        self.way_ns = np.full((hosts, hosts), 50_000.0)

    def count(self, host, at):
        return int(self.started[host]) + round(self.rates[host] * at)

    def calibrated(self, host, at):
        """A process's clock: right at its start, and up to some 5 ppm off in its rate."""
        ns_per_count = (1 + 3e-6 * self.random.normal()) / self.rates[host]
        return ways.Counter(
            round(ns_per_count * 2**32), self.count(host, at), int(1e13 * (host + 1) + at)
        )

    def between(self, a, b, at):
        """Seen from a client on `a` in the middle of its run, against the echo on `b`."""
        client, echo = self.calibrated(a, at - 2e9), self.echoes[b]
        ours, theirs = client.ns(self.count(a, at)), echo.ns(self.count(b, at))
        fastest = [self.way_ns[pair] + self.random.exponential(self.noise_ns)
                   for pair in ((a, b), (b, a))]  # fmt: skip
        low, high = (round(theirs - ours + way) for way in (-fastest[1], fastest[0]))
        return {
            "at_ns": ours, "bracket": {"offset_ns": [low, high]},
            "error_ns": (high - low + 1) // 2,
            "clocks": [self.identity(a, client), self.identity(b, echo)],
        }  # fmt: skip

    def identity(self, host, clock):
        return f"boot-{host} {json.dumps({'source': 'tsc', **vars(clock)})}"

    def measured(self, a, b, at):
        between = self.between(a, b, at)
        known = (between["bracket"]["offset_ns"][1] - between["bracket"]["offset_ns"][0]) / 2
        both = directions(known, known, between)
        trip = self.way_ns[a, b] + self.way_ns[b, a]
        series = Series("request", 1000, {"p50": trip, "p99": None})
        return Measured(self.names[a], self.names[b], 1.0, series, ways=ways.parse(both, "a pair"))

    def mesh(self, scope="all", hub=""):
        number = {name: n for n, name in enumerate(self.names)}
        made = timetable.rounds(self.names, scope, hub)
        pairs = [
            self.measured(number[start], number[to], 1e9 * SLOT_SECONDS * turn)
            for turn, pairs in enumerate(made) for start, to in pairs
        ]  # fmt: skip
        hosts = [Host(name, f"{name}:8889") for name in self.names]
        return Mesh(Settings(Path("hosts.ini")), hosts, pairs, len(made), 0)


def directions(forward, reverse, between=None):
    """The part of a run record that a mesh reads."""
    series = [
        {"name": name, "kind": "service", "pooled": {"p50": p50}}
        for name, p50 in (("forward", forward), ("reverse", reverse))
    ]
    return {"subjects": [{"name": "rust", "between": between and [between], "series": series}]}


def said(found):
    return [(found.names[one.start], found.names[one.to], one.by) for one in found.asymmetric]


@pytest.mark.parametrize("hosts", [4, 12])
def test_a_planted_asymmetric_path_is_named_whatever_the_clocks(hosts):
    """Clocks drift apart by some 40 us a second, a hundred times the asymmetry in a mesh."""
    for seed in range(10):
        site = Site(hosts, seed)
        site.way_ns[1, 3] += 20_000.0
        found = record.found(site.mesh())
        assert said(found) == [("h1", "h3", "closure")], seed
        assert found.asymmetric[0].longer_ns == pytest.approx(20_000, rel=1.2 / hosts)
        assert found.closure.sigma_ns < 1000
        assert {1, 3} <= set(found.closure.worst.hosts)
        assert abs(found.closure.worst.sum_ns) == pytest.approx(10_000, rel=0.15)


def test_symmetric_paths_close_and_none_is_named():
    for seed in range(20):
        found = record.found(Site(8, seed).mesh())
        assert found.asymmetric == [] and found.closure.triangles == 56
        assert found.closure.median_ns < 1000


def test_a_host_that_is_asymmetric_to_all_stays_hidden():
    """It looks like a shifted clock: the report says so, and nothing else may be named for it."""
    site = Site(6, 1)
    site.way_ns[2, :] += 20_000.0
    found = record.found(site.mesh())
    assert found.asymmetric == [] and found.closure.median_ns < 1000
    assert [one.host for one in found.hidden] == list(range(6))
    assert all(one.up_to_ns >= 20_000 for one in found.hidden), "the truth is not excluded"
    said = "stays hidden: it looks like a shifted clock"
    for text in (table.text(found), page.page(found, record.to_json(found, "-"))):
        assert said in text and " us of that, for any of 6 hosts." in text


def test_only_hosts_whose_clocks_leave_it_open_may_hide_an_asymmetry():
    """Hosts 0 to 2 have clocks within 1 us of each other, of paths of 100 us; host 3 has not."""
    site = Site(4, 1)
    mesh = site.mesh()
    pairs = [
        replace(p, ways=replace(p.ways, error_ns=1_000.0)) if "h3" not in (p.start, p.to) else p
        for p in mesh.pairs
    ]
    found = record.found(replace(mesh, pairs=pairs))
    assert [found.names[one.host] for one in found.hidden] == ["h3"]
    assert found.hidden[0].up_to_ns == pytest.approx(100_000, rel=0.02)
    assert "us of that, for h3." in table.text(found)


def test_one_triangle_shows_an_asymmetric_path_and_not_which_of_three():
    site = Site(3, 1)
    site.way_ns[0, 1] += 20_000.0
    found = record.found(site.mesh())
    assert found.asymmetric == [] and found.closure.median_ns == pytest.approx(10_000, rel=0.15)


def test_without_a_triangle_there_is_no_closure():
    found = record.found(Site(4, 1).mesh("fan-out", "h0"))
    assert found.closure is None and found.asymmetric == []
    assert "Closure" not in table.text(found) and "One way: known to" in table.text(found)
    assert closure(3, []) is None


def test_one_clock_at_both_ends_shows_an_asymmetric_path_by_itself():
    site = Site(3, 1)
    mesh = site.mesh("all")
    shared = [
        Measured(p.start, p.to, 1.0, p.series, ways=ways.parse(directions(*lengths), "a pair"))
        for p in mesh.pairs
        for lengths in [
            (70_000, 50_000) if (p.start, p.to) == ("h0", "h1")
            else (50_000, 70_000) if (p.start, p.to) == ("h1", "h0") else (50_000, 50_500)
        ]
    ]  # fmt: skip
    found = record.found(Mesh(mesh.settings, mesh.hosts, shared, 2, 0))
    assert said(found) == [("h0", "h1", "clocks")] and found.closure is None
    assert found.hidden == [], "one clock excludes it"
    text = table.text(found)
    assert "h0 to h1 takes 20.00 us longer than back (by both hosts' clocks)" in text
    assert "one clock stamps both ends of 6 measurements" in text and "known to" not in text


def test_the_record_and_the_page_have_both_directions_and_the_closure():
    site = Site(4, 3)
    site.way_ns[0, 2] += 30_000.0
    found = record.found(site.mesh())
    held = json.loads(json.dumps(record.to_json(found, "2026-11-26T06:00:00+00:00")))
    jsonschema.validate(held, json.loads(SCHEMA.read_text()))
    pair = next(p for p in held["pairs"] if (p["from"], p["to"]) == ("h0", "h2"))
    assert 65_000 <= pair["one_way"]["error_ns"] <= 68_000 and pair["one_way_why"] == ""
    assert [one["host"] for one in held["hidden"]] == ["h0", "h1", "h2", "h3"]
    [one] = held["asymmetric"]
    assert (one["from"], one["to"], one["by"]) == ("h0", "h2", "closure")
    for text in (table.text(found), page.page(found, held)):
        assert "asymmetric: h0 to h2 takes" in text and "of 4 triangles" in text


def test_a_record_without_both_directions_says_why():
    for broken, why in (
        ({**directions(1, 1), "void_because": ["a clock was set"]}, "is void: a clock was set"),
        (directions(None, 1), "has no two directions"),
        (directions(1, 1, {"withheld": {"forward.service": "at 3 of 9"}}), "at 3 of 9"),
        (directions(1, 1, {"error_ns": 1, "bracket": None}), "has no two directions"),
        ({"subjects": []}, "has no two directions"),
    ):
        with pytest.raises(CloudError, match=why):
            ways.parse(broken, "a to b")
