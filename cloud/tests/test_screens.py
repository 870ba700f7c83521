"""The live page and the reports in a real browser: on a phone and a wide screen, light and dark."""

import signal
import threading
from pathlib import Path

import pytest
from browser import browser, opened
from conftest import skip
from test_mesh import mesh, planted
from test_tiers import row

from tickpath_cloud import live, playbook
from tickpath_cloud.hunt import page as hunt_page
from tickpath_cloud.mesh import page as mesh_page
from tickpath_cloud.mesh import record
from tickpath_cloud.tiers import measure
from tickpath_cloud.tiers import page as tiers_page

WIDTHS = (400, 1400)
SCHEMES = ("light", "dark")
CONTRAST_MIN = 4.5  # WCAG 2.2, 1.4.3, for text of this size

# A function of the least contrast.
FAINT = Path(__file__).with_name("faint.js").read_text()

LIGHT_PAPER = """(() => {
  const paper = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
  return paper[3] === 0 ? null : (paper[0] + paper[1] + paper[2]) / 3 > 128;
})()"""


@pytest.fixture(scope="module")
def shown():
    if browser() is None:
        skip("browser", "no chromium here (scripts/setup installs it where it may)")
    with opened() as made:
        yield made


def check(shown, url, has):
    """Nothing is cut off or needs scrolling sideways, and all text can be read."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            shown.open(url, width, scheme)
            shown.wait_for(has)
            at = f"{url} at {width}, {scheme}"
            assert shown.value("document.documentElement.scrollWidth") <= width, at
            assert shown.value(f"({FAINT})({CONTRAST_MIN})") == [], at
            assert shown.value(LIGHT_PAPER) in (None, scheme == "light"), at


def test_a_live_page_is_read_on_every_screen_and_becomes_the_report(shown, capsys):
    with live.serve(0, "Mesh of <hosts>") as made:
        url = capsys.readouterr().err.removeprefix("live: ").strip()
        playbook.listen("10.0.0.1: tickpath.fleet.install : Copy tickpath: ok")
        playbook.listen(f"a-host-with-a-name-as-AWS-gives-them: Wait: FAILED: {'no-space' * 40}")
        hosts = "document.querySelectorAll('#hosts tr').length === 2"
        check(shown, url, hosts)
        cells = "[...document.querySelectorAll('#hosts td')].map(cell => cell.textContent)"
        assert shown.value(cells)[:3] == [
            "10.0.0.1",
            "tickpath.fleet.install : Copy tickpath",
            "ok",
        ]
        playbook.listen("10.0.0.1: Measure: ok")
        shown.wait_for("document.querySelector('#hosts td + td').textContent === 'Measure'")
        assert "name-as-AWS" in shown.value("document.getElementById('lines').textContent")
        ending = threading.Thread(target=made.end, args=(live.report_of("Done", "a | 1 us"),))
        ending.start()
        shown.wait_for("document.title === 'Done'")
        ending.join()
        check(shown, url, "document.title === 'Done'")


def test_its_button_does_what_ctrl_c_does(shown, capsys, monkeypatch):
    stopped = threading.Event()
    monkeypatch.setattr(
        live.os, "kill", lambda pid, number: number == signal.SIGINT and stopped.set()
    )
    with live.serve(0, "Hunt"):
        url = capsys.readouterr().err.removeprefix("live: ").strip()
        shown.open(url, WIDTHS[0], "dark")
        shown.value("document.getElementById('stop').click()")
        assert stopped.wait(10)


def test_reports_are_read_on_every_screen(shown, tmp_path, hunt):
    found = record.found(mesh(planted(), "dead", {(0, 1), (1, 0)}))
    loads = [measure.Load("low", [row("edge", 900_000), row("shared-group", 60_000)], 0.97)]
    reports = {
        "mesh": mesh_page.page(found, record.to_json(found, "2026-11-26T06:00:00+00:00")),
        "tiers": tiers_page.page(loads, "shared-group, i-1 to 10.0.0.1:8888:\n  client\n  target"),
        "hunt": hunt_page.page(hunt.run(lambda *_: None), hunt.world.now()),
    }
    for name, text in reports.items():
        file = tmp_path / f"{name}.html"
        file.write_text(text)
        check(shown, file.as_uri(), "document.querySelectorAll('table, svg').length > 0")
