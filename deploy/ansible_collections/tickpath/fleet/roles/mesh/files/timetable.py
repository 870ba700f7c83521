"""Keeps one host's timetable: in each of its rounds it measures to one other host.

    timetable.py BEGINS SENT TICKPATH DIRECTORY < timetable.json

BEGINS is the instant of round 0 and SENT the one at which the controller sent this, both in
seconds since the epoch by the controller's clock. Records stay below DIRECTORY. Prints JSON: for
each turn the figures of its record, or why there are none. Nobody is asked between rounds, and a
host that is late loses its round, so that it disturbs no other.
"""

import json
import os
import signal
import subprocess
import sys
import time

# Parts of a record that reports of many hosts read.
KEPT = ("scenario", "started", "void_because", "smoke_test")
KEPT_OF_SERIES = (
    "name", "kind", "pooled", "interval", "holds_to", "not_judged", "uncertain", "regimes",
)  # fmt: skip
DONE = (0, 3)  # 3: the record is there, and says how far its figures hold


def main(begins, sent, tickpath, directory):
    asked = json.load(sys.stdin)
    received = time.time()
    # The time of the way, and how far this clock is ahead. No way takes a negative time.
    after = received - sent
    if after < -asked["late_seconds"]:
        sys.exit(
            f"this host's clock is {-after:.1f} s behind the controller's: set both by NTP "
            f"(rounds allow for {asked['late_seconds']:g} s)"
        )
    held = [turn(asked, one, begins, tickpath, directory) for one in asked["turns"]]
    json.dump({"after_sent_seconds": round(after, 3), "turns": held}, sys.stdout)


def turn(asked, one, begins, tickpath, directory):
    starts = begins + one["round"] * asked["slot_seconds"]
    late = time.time() - starts
    if late > asked["late_seconds"]:
        return {**one, "why": f"late by {late:.1f} s", "late": True}
    time.sleep(max(-late, 0.0))
    at = time.time()
    words = [tickpath, "run", asked["scenario"], "--json", "--quiet", "--no-wait"]
    words += ["--out", directory, "--connect", one["address"]]
    for pair in asked["set"]:
        words += ["--set", pair]
    try:
        found = {"record": reduced(json.loads(run(words, asked["turn_seconds"])))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        found = {"why": str(error) or repr(error)}
    return {**one, "at": round(at, 3), **found}


def run(words, seconds):
    """Output of a command. It is ended, with all that it started, if it takes longer."""
    environment = {**os.environ, "TICKPATH_SETTLE_SECONDS": "0"}
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=environment,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise OSError(f"it took longer than its turn of {seconds:g} s") from None
    if process.returncode not in DONE:
        said = err.strip().splitlines() or [f"tickpath ended with {process.returncode}"]
        raise OSError(said[-1][:200])
    return out


def reduced(record):
    held = {key: record[key] for key in KEPT if key in record}
    held["subjects"] = [
        {
            "name": subject["name"],
            "between": (subject.get("load") or {}).get("between"),  # what is known of both clocks
            "series": [
                {key: series[key] for key in KEPT_OF_SERIES if key in series}
                for series in subject["series"]
            ],
        }
        for subject in record["subjects"]
    ]
    return held


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4])
