"""`--live PORT`: a page on loopback that shows what a verb does, and is its report at the end.

The page gets the lines that the terminal gets, as Server-Sent Events. It needs no other file and
fetches nothing else. Only this machine reaches it, and a request for another host's name gets no
answer, so that no page of the web reads it by DNS. Its button does what Ctrl-C does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

from tickpath_cloud import look
from tickpath_cloud.errors import CloudError
from tickpath_cloud.playbook import LISTENERS, progress

ADDRESS = "127.0.0.1"
HOST_LINE = re.compile(r"(?P<host>\S+): (?P<task>.+?)(?<! ): (?P<how>.+)", re.DOTALL)
LINES_MAX = 10_000  # kept for pages that are opened later; older ones are dropped
CLIENTS_MAX = 16  # pages at once
BEAT_SECONDS = 10.0  # between two signs of life to a page
END_SECONDS = 3.0  # that open pages have to fetch the report


def parts(line: str) -> dict[str, str]:
    """The line, and its host, task and result if it is of a host. Tasks have " : " in them."""
    found = HOST_LINE.fullmatch(line)
    return {"line": line, **(found.groupdict() if found else {})}


class Live:
    """Lines so far, and the report once there is one. Any thread may tell."""

    def __init__(self, title: str) -> None:
        self.title, self.token = title, secrets.token_urlsafe()
        self.lines: list[str] = []
        self.dropped = 0  # lines before those that are kept
        self.report: str | None = None
        self.pages = 0  # open ones that wait for lines
        self.reports = 0  # that were sent
        self.changed = threading.Condition()

    def tell(self, line: str) -> None:
        with self.changed:
            self.lines.append(line)
            if len(self.lines) > LINES_MAX:
                del self.lines[0]
                self.dropped += 1
            self.changed.notify_all()

    def end(self, report: str) -> None:
        """The report takes the page's place; open pages have a moment to fetch it."""
        with self.changed:
            self.report, pages = report, self.pages
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.reports >= pages, END_SECONDS)

    def after(self, number: int) -> tuple[int, list[str], bool]:
        """Lines from this number on, when there are any or a beat is over; and whether it ended."""
        with self.changed:
            self.changed.wait_for(
                lambda: self.dropped + len(self.lines) > number or self.report is not None,
                BEAT_SECONDS,
            )
            fresh = self.lines[max(number - self.dropped, 0) :]
            return self.dropped + len(self.lines), fresh, self.report is not None

    def page(self) -> str:
        if self.report is not None:
            return self.report
        text = resources.files("tickpath_cloud").joinpath("live.html").read_text()
        text = text.replace("{{palette}}", look.PALETTE).replace("{{token}}", self.token)
        return text.replace("{{title}}", escape(self.title))


def report_of(title: str, text: str) -> str:
    """A page for verbs whose report is a table of text."""
    text = f"<pre>{escape(text)}</pre>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        f"content='width=device-width, initial-scale=1'><style>{look.STYLE}</style>"
        f"<title>{escape(title)}</title><h1>{escape(title)}</h1>{text}"
    )


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--live", type=int, metavar="PORT",
        help=f"show what happens at http://{ADDRESS}:PORT/ meanwhile; 0: any free port",
    )  # fmt: skip


@contextmanager
def serve(port: int | None, title: str) -> Iterator[Live | None]:
    """None without a port. 0 takes a free one."""
    if port is None:
        yield None
        return
    live = Live(title)
    try:
        server = Server((ADDRESS, port), Handler)
    except (OSError, OverflowError) as error:
        raise CloudError(
            f"--live {port}: can't listen on {ADDRESS}: {error}; choose another port, or 0 for a "
            "free one"
        ) from error
    server.live = live
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    progress(f"live: http://{ADDRESS}:{server.server_port}/")
    LISTENERS.append(live.tell)
    try:
        yield live
    finally:
        LISTENERS.remove(live.tell)
        server.shutdown()
        server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    live: Live


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal has the verb's own lines."""

    def _is_ours(self) -> bool:
        """The Host of a page elsewhere whose name was made to mean this machine is its own."""
        port = self.server.server_port
        return self.headers.get("Host") in (f"{ADDRESS}:{port}", f"localhost:{port}")

    def do_GET(self) -> None:
        if not self._is_ours():
            self.send_error(403)
        elif self.path == "/":
            self._page()
        elif self.path == "/events":
            self._follow()
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        if not self._is_ours() or self.headers.get("X-Token") != self.server.live.token:
            self.send_error(403)
        elif self.path != "/stop":
            self.send_error(404)
        else:
            self._answer("")
            os.kill(os.getpid(), signal.SIGINT)

    def _page(self) -> None:
        live = self.server.live
        is_report = live.report is not None
        self._answer(live.page())
        with live.changed:
            live.reports += is_report
            live.changed.notify_all()

    def _answer(self, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(data)

    def _follow(self) -> None:
        live = self.server.live
        with live.changed:
            if live.pages >= CLIENTS_MAX:
                self.send_error(503)
                return
            live.pages += 1
        try:
            self._events()
        except OSError:
            pass  # the page was closed
        finally:
            with live.changed:
                live.pages -= 1

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        number, ended = 0, False
        while not ended:
            number, fresh, ended = self.server.live.after(number)
            for line in fresh:
                self.wfile.write(f"data: {json.dumps(parts(line))}\n\n".encode())
            self.wfile.write(b"event: end\ndata: 1\n\n" if ended else b": beat\n\n")
            self.wfile.flush()
