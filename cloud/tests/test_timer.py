"""The timer that ends a host: it survives a reboot, and a host without it is ended."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tickpath_cloud import instances
from tickpath_cloud.ansible import AnsibleHosts
from tickpath_cloud.tiers import stacks

PLAYBOOKS = Path(instances.__file__).parent / "playbooks"


class Host:
    """Runs the user data as cloud-init does, with another root and a `shutdown` that notes."""

    def __init__(self, path):
        self.path = path
        (path / "etc/systemd/system").mkdir(parents=True)
        (path / "bin").mkdir()
        shutdown = path / "bin" / "shutdown"
        shutdown.write_text(f'#!/bin/sh\necho "$@" >> {path}/planned\n')
        shutdown.chmod(0o755)

    def run(self, script):
        for directory in ("/var/lib/tickpath-end", "/etc/systemd/system"):
            script = script.replace(directory, f"{self.path}{directory}")
        path = {"PATH": f"{self.path / 'bin'}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", script], env=path, check=True)
        return (self.path / "planned").read_text().splitlines()[-1]

    def reboot(self):
        """The boot unit's command, if the unit is enabled."""
        unit = self.path / "etc/systemd/system/multi-user.target.wants/tickpath-end.service"
        [command] = [w for w in unit.read_text().splitlines() if w.startswith("ExecStart=")]
        return self.run(command.removeprefix("ExecStart=").replace(str(self.path), ""))

    def passes(self, seconds):
        at = self.path / "var/lib/tickpath-end/at"
        at.write_text(str(int(at.read_text()) - seconds))


def test_a_reboot_does_not_lose_the_timer(tmp_path):
    """`shutdown -P` is forgotten at a reboot; the instance then ran until somebody looked."""
    host = Host(tmp_path)
    assert host.run(instances.user_data(4 * 3600)) == "-P +240"
    host.passes(3600)
    assert host.reboot() == "-P +180"
    host.passes(4 * 3600)
    assert host.reboot() == "-P +0", "its time passed while it was down"


def test_a_reboot_of_a_kept_host_keeps_its_later_end(tmp_path):
    host = Host(tmp_path)
    host.run(instances.user_data(3600))
    assert host.run(f"sh {instances.TIMER} 1440") == "-P +1440"
    host.passes(3600)
    assert host.reboot() == "-P +1380"


@pytest.mark.parametrize("lacks", ["nothing", "unit", "timer"])
def test_settle_rejects_a_host_that_nothing_ends(tmp_path, lacks):
    """The playbook's own check, on a host that lacks one of the two."""
    tasks = yaml.safe_load((PLAYBOOKS / "settle.yml").read_text())[0]["tasks"]
    [check] = [task for task in tasks if task["name"].startswith("the host ends itself")]
    script = check["ansible.builtin.raw"]
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    scheduled = tmp_path / "run/systemd/shutdown"
    wants.mkdir(parents=True)
    scheduled.mkdir(parents=True)
    if lacks != "unit":
        (wants / "tickpath-end.service").touch()
    if lacks != "timer":
        (scheduled / "scheduled").write_text("USEC=1\nMODE=poweroff\n")
    for directory in ("/etc/systemd", "/run/systemd"):
        script = script.replace(directory, f"{tmp_path}{directory}")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    said = {"nothing": "", "unit": "no boot unit", "timer": "no timer"}[lacks]
    assert said in done.stdout and done.returncode == (0 if lacks == "nothing" else 1)


def test_a_kept_host_gets_its_end_by_the_same_timer(hunt, monkeypatch, tmp_path):
    hosts = AnsibleHosts(replace(hunt.config, tickpath="true"), hunt.cloud, tmp_path)
    asked = {}
    monkeypatch.setattr(hosts, "_play", lambda *words: asked.update(words[2]) or {})
    assert set(hosts.keep(["arm-01"], 7200)) == {"arm-01"}
    assert asked == {"minutes": 120, "timer": instances.TIMER}


@pytest.mark.parametrize("name", sorted({*stacks.names()} - {"way-back"}))  # it makes no host
def test_hosts_of_stacks_keep_their_timer_over_reboots(tmp_path, name):
    """A reboot lost `shutdown -P`, and the host of a stack ran until somebody looked."""
    text = stacks.template(name)
    found = [part.split("Fn::Base64")[1] for part in re.split("(?=UserData:)", text)[1:]]
    assert found and len(found) == text.count("tickpath-end/plan ${TtlMinutes}")
    for number, part in enumerate(found):
        lines = part.split("#!/bin/sh\n")[1].splitlines(keepends=True)
        deep = len(lines[0]) - len(lines[0].lstrip())
        body = "".join(
            line[deep:]
            for line in lines[
                : lines.index(
                    next(
                        line
                        for line in lines
                        if "multi-user.target.wants/\n" in line and "ln" in line
                    )
                )
                + 1
            ]
        )
        (tmp_path / str(number)).mkdir()
        host = Host(tmp_path / str(number))
        assert host.run(body.replace("${TtlMinutes}", "240")) == "-P +240"
        host.passes(3600)
        assert host.reboot() == "-P +180"
