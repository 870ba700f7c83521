"""Checks the licence and the source of every package in the given Cargo workspaces: by deny.toml a
package has a licence that is allowed, and comes from crates.io or from this repository."""

import json
import re
import subprocess
import sys
import tomllib

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def permits(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression leaves a choice of allowed licences. `/` is an old `OR`."""
    operators = {"(": "(", ")": ")", "AND": "and", "OR": "or"}
    tokens = re.findall(r"[()]|[^\s()]+(?: WITH [^\s()]+)?", expression.replace("/", " OR "))
    # Only operators, True and False: Python's precedence is SPDX's.
    return eval(" ".join(operators.get(token) or str(token in allowed) for token in tokens))


def fault(package: dict, allowed: set[str], exceptions: dict[str, set[str]]) -> str | None:
    if package["source"] not in (None, CRATES_IO):
        return f"comes from {package['source']}, not from crates.io"
    if not package["license"]:
        return "has no licence expression"
    if not permits(package["license"], allowed | exceptions.get(package["name"], set())):
        return f"has licence {package['license']}, and deny.toml allows none of that"
    return None


def check_itself() -> None:
    allowed = {"MIT", "Zlib"}
    for expression, expected in [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0 AND MIT", False),
        ("GPL-3.0/MIT", True),
        ("Zlib AND (GPL-3.0 OR MIT)", True),
        ("Zlib AND GPL-3.0 OR MIT", True),
        ("MIT AND (GPL-3.0 OR Unlicense)", False),
        ("MIT WITH exception", False),
        ("MIT WITH exception OR Zlib", True),
    ]:
        assert permits(expression, allowed) == expected, expression
    good = {"name": "x", "source": None, "license": "MIT"}
    assert fault(good, allowed, {}) is None
    assert fault(good | {"license": "NCSA"}, allowed, {"x": {"NCSA"}}) is None
    for bad in [{"license": "NCSA"}, {"license": None}, {"source": "git+https://example.org/x"}]:
        assert fault(good | bad, allowed, {"y": {"NCSA"}}), bad


def main() -> int:
    check_itself()
    with open("deny.toml", "rb") as file:
        rules = tomllib.load(file)["licenses"]
    allowed = set(rules["allow"])
    exceptions = {one["crate"]: set(one["allow"]) for one in rules["exceptions"]}
    faults = 0
    for manifest in sys.argv[1:]:
        command = ["cargo", "metadata", "--locked", "--format-version", "1"]
        found = subprocess.run(
            [*command, "--manifest-path", manifest], check=True, stdout=subprocess.PIPE
        )
        packages = json.loads(found.stdout)["packages"]
        for package in packages:
            if why := fault(package, allowed, exceptions):
                print(f"licences: {package['name']} {package['version']} {why}", file=sys.stderr)
                faults += 1
        print(f"licences: {manifest}: {len(packages)} packages, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
