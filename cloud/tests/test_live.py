"""The page of --live: lines as they come, the report at the end, and nobody else's business."""

import json
import signal
import threading
import time
import urllib.error
import urllib.request

import pytest
from test_mesh import mesh, planted

from tickpath_cloud import cli, live, playbook
from tickpath_cloud.errors import CloudError
from tickpath_cloud.mesh import command

WAIT_SECONDS = 60


@pytest.fixture
def shown(capsys):
    """A page and its address."""
    with live.serve(0, "Mesh of <hosts>") as made:
        yield made, capsys.readouterr().err.removeprefix("live: ").strip()
    assert made.tell not in playbook.LISTENERS


def get(url, path="", **headers):
    request = urllib.request.Request(
        url + path, headers=headers, method=headers.pop("method", None)
    )
    return urllib.request.urlopen(request, timeout=WAIT_SECONDS)


def status(url, path, **headers):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(url, path, **headers)
    return error.value.code


def events(response, count):
    """Data of `count` events, or all until the end."""
    found = []
    for line in response:
        if line.startswith(b"event: end"):
            return [*found, None]
        if line.startswith(b"data: "):
            found.append(json.loads(line.removeprefix(b"data: "))["line"])
            if len(found) == count:
                return found
    return found


def test_a_page_gets_earlier_lines_and_then_each_as_it_comes(shown, capsys):
    made, url = shown
    playbook.progress("a: Install: ok")
    with get(url, "events") as first, get(url, "events") as second:
        assert events(first, 1) == events(second, 1) == ["a: Install: ok"]
        playbook.listen("b: Install: </script>\nFAILED")
        assert events(first, 1) == events(second, 1) == ["b: Install: </script>\nFAILED"]
    assert capsys.readouterr().err == "a: Install: ok\n", "listeners alone heard the second"


def test_a_host_s_line_has_its_task_and_result():
    """A role's task was cut at its own colon, and "ok" was taken for a failure."""
    task = "tickpath.fleet.install : Copy tickpath"
    assert live.parts(f"a: {task}: ok") == {
        "line": f"a: {task}: ok", "host": "a", "task": task, "how": "ok",
    }  # fmt: skip
    assert live.parts("b: Wait: FAILED: ssh: no")["how"] == "FAILED: ssh: no"
    for line in ("10 rounds of 3.2 s with 6 hosts", "resume it: x", "live: http://127.0.0.1:1/"):
        assert live.parts(line) == {"line": line}


def test_the_page_becomes_the_report_and_waits_until_it_was_fetched(shown):
    made, url = shown
    with get(url) as response:
        page = response.read().decode()
    assert "<title>Mesh of &lt;hosts&gt;</title>" in page and made.token in page
    assert "src=" not in page and "http:" not in page and "{{" not in page
    with get(url, "events") as open_page:
        playbook.listen("once")
        assert events(open_page, 1) == ["once"]
        ending = threading.Thread(target=made.end, args=("the <b>report</b>",))
        ending.start()
        assert events(open_page, 2) == [None]
        with get(url) as response:
            assert response.read() == b"the <b>report</b>"
        ending.join(WAIT_SECONDS)
        assert not ending.is_alive() and made.reports == 1


def test_only_this_machine_s_page_may_read_or_stop(shown, monkeypatch):
    """A page elsewhere may name this machine by its own DNS, or send it a form."""
    made, url = shown
    killed = []
    monkeypatch.setattr(live.os, "kill", lambda pid, number: killed.append(number))
    for path in ("", "events"):
        assert status(url, path, Host="evil.example") == 403
    assert status(url, "stop", method="POST") == 403
    assert status(url, "stop", method="POST", **{"X-Token": "guess"}) == 403
    assert status(url, "stop", method="POST", Host="evil.example", **{"X-Token": made.token}) == 403
    assert status(url, "other") == 404 and not killed
    with get(url, "stop", method="POST", **{"X-Token": made.token}):
        until = time.monotonic() + 10
        while not killed and time.monotonic() < until:  # it answers first
            time.sleep(0.01)
        assert killed == [signal.SIGINT]


def test_lines_and_pages_have_a_limit(shown, monkeypatch):
    made, url = shown
    monkeypatch.setattr(live, "LINES_MAX", 3)
    monkeypatch.setattr(live, "CLIENTS_MAX", 1)
    for number in range(5):
        made.tell(str(number))
    with get(url, "events") as response:
        assert events(response, 3) == ["2", "3", "4"]
        made.tell("5")
        assert events(response, 1) == ["5"], "the numbers go on after lines were dropped"
        assert status(url, "events") == 503


def test_a_port_that_is_taken_is_said(shown):
    taken = int(shown[1].rstrip("/").rpartition(":")[2])
    for wrong in (taken, 70_000):
        with pytest.raises(CloudError, match="choose another port"), live.serve(wrong, "x"):
            pass
    with live.serve(None, "x") as nothing:
        assert nothing is None


def test_a_mesh_is_followed_to_its_report(tmp_path, monkeypatch, capsys):
    seen = []

    class Runner:
        def __init__(self, settings, directory, tell):
            directory.mkdir(parents=True)

        def run(self):
            url = capsys.readouterr().err.removeprefix("live: ").strip()
            response = get(url, "events")

            def follow():
                with response:
                    seen.extend(events(response, 2))
                with get(url) as last:
                    seen.append(last.read().decode())

            self.follower = threading.Thread(target=follow)
            self.follower.start()
            playbook.listen("a: Install: ok")
            return mesh(planted())

    monkeypatch.setattr(command, "Runner", Runner)
    assert cli.main(["fleet", "mesh", "x.ini", "--out", str(tmp_path), "--live", "0"]) == 0
    line, end, report = seen
    assert (line, end) == ("a: Install: ok", None)
    [file] = tmp_path.glob("*/mesh.html")
    assert report == file.read_text() and "Best place" in report
