"""Both ends of FIX by QuickFIX in Python, for tests, and an example.

    quickfix_peer.py client PORT COMP_ID TOKEN DICTIONARY STORE
    quickfix_peer.py server DICTIONARY ORDERS ANSWERED COMP_ID...

The client makes messages of lines on stdin, and lines on stdout of those that come. The server
acknowledges orders and their cancels, says which orders are open, and lists any symbol. ORDERS is a
directory with a file for each open order: servers with the same one know each other's orders. After
ANSWERED orders it answers no further one, and keeps only the first of those. Both end when stdin
does.
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


def fields_of(message: fix.Message, *tags: int) -> str:
    return "|".join(f"{tag}={message.getField(tag)}" for tag in tags)


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
    """Answers orders, their cancels and questions, and has each client answer a test request."""

    def __init__(self, dictionary: fix.DataDictionary, orders: Path, answered: int) -> None:
        super().__init__()
        self.dictionary = dictionary
        self.open, self.answered = orders, answered
        self.orders = self.cancels = self.executions = 0

    def onLogon(self, session: fix.SessionID) -> None:
        super().onLogon(session)
        self.send("35=1|112=are-you-there", session)

    def onLogout(self, session: fix.SessionID) -> None:
        client = session.getTargetCompID().getString()
        say(f"logout of {client} orders {self.orders} cancels {self.cancels}")

    def fromApp(self, message: fix.Message, session: fix.SessionID) -> None:
        kind = message.getHeader().getField(35)
        if kind in ("D", "F"):
            answer = self.order(message) if kind == "D" else self.cancel(message)
        elif kind in ("H", "x", "V"):
            say(f"asked {message.toString()}")
            answer = self.told(kind, message)
        else:
            say(f"unexpected {message.toString()}")
            answer = None
        if answer is not None:
            self.send(answer, session)

    def order(self, message: fix.Message) -> str | None:
        name, order = message.getField(11), fields_of(message, 55, 54, 38)
        self.orders += 1
        if self.orders <= self.answered + 1:
            (self.open / name).write_text(order)
        if self.orders > self.answered:
            say(f"silent about {name}")
            return None
        return f"{self.report(name)}|150=0|39=0|{order}|151=1|14=0|6=0"

    def cancel(self, message: fix.Message) -> str:
        self.cancels += 1
        original = message.getField(41)
        file, both = self.open / original, fields_of(message, 11, 41)
        if not file.exists():
            return f"35=9|37=NONE|{both}|39=8|434=1|102=1|58=no such order"
        order = file.read_text()
        file.unlink()
        head = self.report(message.getField(11))
        return f"{head}|150=4|39=4|41={original}|{order}|151=0|14=0|6=0"

    def told(self, kind: str, message: fix.Message) -> str:
        """The answer to a question."""
        if kind == "V":
            return f"35=Y|{fields_of(message, 262)}|58=no market data of this server"
        if kind == "x":
            entry = f"{fields_of(message, 55)}|561=1|58=MinPriceIncrement=1"
            return f"35=y|{fields_of(message, 320)}|322=1|560=0|146=1|{entry}"
        name = message.getField(11)
        file, head = self.open / name, self.report(name)
        if file.exists():
            return f"{head}|150=I|39=0|{file.read_text()}|151=1|14=0|6=0"
        order = fields_of(message, 55, 54)
        return f"{head}|150=I|39=8|103=5|{order}|151=0|14=0|6=0|58=no such order"

    def report(self, name: str) -> str:
        """The first fields of an ExecutionReport about an order; its OrderID is its ClOrdID."""
        self.executions += 1
        return f"35=8|37={name}|11={name}|17={self.executions}"

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


def server(dictionary: str, orders: str, answered: str, *comp_ids: str) -> None:
    # QuickFIX doesn't say which port it got for 0.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        settings = settings_of(directory, [
            "ConnectionType=acceptor", f"DataDictionary={dictionary}", "SenderCompID=TICKPATH",
            f"SocketAcceptPort={port}", "SocketReuseAddress=Y", "ValidateUserDefinedFields=N",
            *(f"[SESSION]\nTargetCompID={comp_id}" for comp_id in comp_ids),
        ])  # fmt: skip
        application = Server(fix.DataDictionary(dictionary), Path(orders), int(answered))
        acceptor = fix.SocketAcceptor(application, fix.MemoryStoreFactory(), settings)
        acceptor.start()
        say(f"listening {port}")
        sys.stdin.read()
        acceptor.stop()


def main() -> int:
    match sys.argv[1:]:
        case ["client", port, comp_id, token, dictionary, store]:
            client(port, comp_id, token, dictionary, store)
        case ["server", dictionary, orders, answered, first, *more]:
            server(dictionary, orders, answered, first, *more)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
