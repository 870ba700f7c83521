"""Both ends of FIX by QuickFIX in Python, for tests, and an example.

    quickfix_peer.py client PORT COMP_ID TOKEN DICTIONARY STORE
    quickfix_peer.py server DICTIONARY COMP_ID...

The client makes messages of lines on stdin, and lines on stdout of those that come. The server
acknowledges orders and their cancels. Both end when stdin does.
"""

import socket
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import quickfix as fix

SOH = "\x01"


def say(line: str) -> None:
    print(line.replace(SOH, "|"), flush=True)


def message_of(line: str, dictionary: fix.DataDictionary) -> fix.Message:
    """`35=D|11=a|…`; `@` is the time now."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H:%M:%S.%f")[:-3]
    body = line.replace("=@", f"={now}").replace("|", SOH) + SOH
    head = f"8=FIX.4.4{SOH}9={len(body)}{SOH}"
    total = sum((head + body).encode()) % 256
    return fix.Message(f"{head}{body}10={total:03}{SOH}", dictionary, False)


class Peer(fix.Application):
    """Prints what happens to a session."""

    def onCreate(self, session: fix.SessionID) -> None:
        pass

    def onLogon(self, session: fix.SessionID) -> None:
        say("logon")

    def onLogout(self, session: fix.SessionID) -> None:
        say("logout")

    def toAdmin(self, message: fix.Message, session: fix.SessionID) -> None:
        pass

    def fromAdmin(self, message: fix.Message, session: fix.SessionID) -> None:
        say(f"admin {message.toString()}")

    def toApp(self, message: fix.Message, session: fix.SessionID) -> None:
        pass

    def fromApp(self, message: fix.Message, session: fix.SessionID) -> None:
        say(f"app {message.toString()}")


class Client(Peer):
    """Logs on with a token as the password."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def toAdmin(self, message: fix.Message, session: fix.SessionID) -> None:
        if message.getHeader().getField(35) == "A":
            message.setField(554, self.token)


class Server(Peer):
    """Acknowledges orders and their cancels, and has each client answer a test request."""

    def __init__(self, dictionary: fix.DataDictionary) -> None:
        super().__init__()
        self.dictionary = dictionary
        self.open: dict[str, str] = {}
        self.orders = self.cancels = self.executions = 0

    def onLogon(self, session: fix.SessionID) -> None:
        super().onLogon(session)
        self.send("35=1|112=are-you-there", session)

    def onLogout(self, session: fix.SessionID) -> None:
        client = session.getTargetCompID().getString()
        say(f"logout of {client} orders {self.orders} cancels {self.cancels}")

    def fromApp(self, message: fix.Message, session: fix.SessionID) -> None:
        name, kind = message.getField(11), message.getHeader().getField(35)
        self.executions += 1
        head = f"35=8|37={name}|17={self.executions}"
        if kind == "D":
            self.orders += 1
            order = "|".join(f"{tag}={message.getField(tag)}" for tag in (55, 54, 38))
            self.open[name] = order
            self.send(f"{head}|150=0|39=0|11={name}|{order}|151=1|14=0|6=0", session)
        elif kind == "F":
            self.cancels += 1
            original = message.getField(41)
            both, order = f"11={name}|41={original}", self.open.pop(original, None)
            if order is None:
                reject = f"35=9|37=NONE|{both}|39=8|434=1|102=1|58=no such order"
                self.send(reject, session)
            else:
                self.send(f"{head}|150=4|39=4|{both}|{order}|151=0|14=0|6=0", session)
        else:
            say(f"unexpected {message.toString()}")

    def send(self, line: str, session: fix.SessionID) -> None:
        fix.Session.sendToTarget(message_of(line, self.dictionary), session)


def settings_of(directory: str, lines: list[str]) -> fix.SessionSettings:
    """Settings, which QuickFIX reads from a file; it makes the directory for its store."""
    path = Path(directory) / "settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    always = ["[DEFAULT]", "BeginString=FIX.4.4", "StartTime=00:00:00", "EndTime=00:00:00"]
    path.write_text("\n".join([*always, "UseDataDictionary=Y", *lines, ""]))
    return fix.SessionSettings(str(path))


def client(port: str, comp_id: str, token: str, dictionary: str, store: str) -> None:
    settings = settings_of(store, [
        "ConnectionType=initiator", "HeartBtInt=5", "ReconnectInterval=1",
        f"DataDictionary={dictionary}", f"FileStorePath={store}",
        "[SESSION]", f"SenderCompID={comp_id}", "TargetCompID=TICKPATH",
        "SocketConnectHost=127.0.0.1", f"SocketConnectPort={port}",
    ])  # fmt: skip
    session = fix.SessionID("FIX.4.4", comp_id, "TICKPATH")
    application, names = Client(token), fix.DataDictionary(dictionary)
    initiator = fix.SocketInitiator(application, fix.FileStoreFactory(settings), settings)
    initiator.start()
    for line in map(str.strip, sys.stdin):
        if line == "away":
            initiator.stop()
            say("away")
        elif line == "back":
            initiator.start()
        else:
            fix.Session.sendToTarget(message_of(line, names), session)
    initiator.stop()


def server(dictionary: str, *comp_ids: str) -> None:
    # QuickFIX doesn't say which port it got for 0.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        settings = settings_of(directory, [
            "ConnectionType=acceptor", f"DataDictionary={dictionary}", "SenderCompID=TICKPATH",
            f"SocketAcceptPort={port}", "SocketReuseAddress=Y",
            *(f"[SESSION]\nTargetCompID={comp_id}" for comp_id in comp_ids),
        ])  # fmt: skip
        application = Server(fix.DataDictionary(dictionary))
        acceptor = fix.SocketAcceptor(application, fix.MemoryStoreFactory(), settings)
        acceptor.start()
        say(f"listening {port}")
        sys.stdin.read()
        acceptor.stop()


def main() -> int:
    match sys.argv[1:]:
        case ["client", port, comp_id, token, dictionary, store]:
            client(port, comp_id, token, dictionary, store)
        case ["server", dictionary, first, *more]:
            server(dictionary, first, *more)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
