"""A real browser for tests of pages: Chromium without a window, by its DevTools protocol."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

WAIT_SECONDS = 60
NAMES = ("chromium", "chromium-browser", "google-chrome")


def browser():
    """Its name, if this machine has one."""
    return next(filter(shutil.which, NAMES), None)


class Page:
    """The one page of a browser."""

    def __init__(self, read, write):
        self.answers, self.write = iter_messages(read), write
        self.number, self.session = 0, {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}

    def call(self, method, **params):
        self.number += 1
        call = {"id": self.number, "method": method, "params": params, **self.session}
        os.write(self.write, json.dumps(call).encode() + b"\0")
        answer = next(one for one in self.answers if one.get("id") == self.number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def open(self, url, width, scheme):
        """Shows it so many pixels wide, to somebody who asked for light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        wish = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[wish])
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, expression):
        until = time.monotonic() + WAIT_SECONDS
        while not self.value(expression):
            assert time.monotonic() < until, f"never: {expression}"
            time.sleep(0.05)


def iter_messages(read):
    waiting = b""
    while data := os.read(read, 65536):
        *whole, waiting = (waiting + data).split(b"\0")
        yield from map(json.loads, whole)
    raise AssertionError("the browser has ended")


@contextlib.contextmanager
def opened():
    """The page of a new browser."""
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # It reads from descriptor 3 and writes to 4.
        words = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', browser()]
        words += ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        words += ["--no-first-run", "--disable-sync", f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            words, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(ours_in, ours_out)
        finally:
            process.kill()
            process.wait()
            os.close(ours_in)
            os.close(ours_out)
