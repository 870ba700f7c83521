"""The release workflow: each path and command that it names exists, and a tag is one version."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FLOW = ROOT / ".github" / "workflows" / "release.yml"


def steps():
    [job] = yaml.safe_load(FLOW.read_text())["jobs"].values()
    return job, "\n".join(step.get("run", "") for step in job["steps"])


def test_paths_and_targets_that_the_workflow_names_exist():
    _, commands = steps()
    paths = re.findall(r"(?:\./|\b)((?:cloud|deploy|scripts)/[\w/.-]+|Containerfile)", commands)
    assert {"scripts/versions", "cloud/requirements.txt", "Containerfile"} <= set(paths)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    for target in re.findall(r"\bmake (\w+)", commands):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_job_may_write_releases_and_packages_and_nothing_else():
    job, _ = steps()
    assert job["permissions"] == {"contents": "write", "packages": "write"}
    assert yaml.safe_load(FLOW.read_text())["permissions"] == {"contents": "read"}


def test_its_commands_are_shell():
    for step in steps()[0]["steps"]:
        if "run" in step:
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


@pytest.mark.parametrize(("version", "status"), [(None, 0), ("9.9.9", 1)])
def test_a_tag_is_the_version_of_every_package(version, status):
    now = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    words = [ROOT / "scripts" / "versions", version or now]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == status
    assert done.stderr.count("9.9.9 is wanted") == (3 if status else 0)
