"""Hosts on one machine: a network namespace each, with an ssh server, behind a relay with delays.

Root only. Everything has this process's id in its name and goes when the context ends.
"""

import contextlib
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

SUBNET = "10.77.0"
PORT = 8888


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")


def missing():
    """Needs of these tests that this machine lacks; empty if it has all."""
    if os.geteuid() != 0:
        return "root"
    if not Path("/usr/sbin/sshd").exists():
        return "sshd"
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "ip(8) and unshare(1)"
    probe = subprocess.run(["unshare", "--net", "--pid", "--mount", "--fork", "true"], check=False)
    return "namespaces" if probe.returncode else ""


def tickpath():
    """The binary under test: TICKPATH, or what cargo built last."""
    root = Path(__file__).parents[2] / "target"
    built = [path for kind in ("release", "debug") if (path := root / kind / "tickpath").exists()]
    found = os.environ.get("TICKPATH") or max(built, key=lambda p: p.stat().st_mtime, default=None)
    return str(found) if found else shutil.which("tickpath")


def need_subnet():
    """Raises where a bridge has the subnet: with two of them no host of the second is reached."""
    words = ["ip", "-oneline", "route", "show", f"{SUBNET}.0/24"]
    routes = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    if taken := re.search(r"\bdev (\S+)", routes):
        tag = taken[1]
        raise RuntimeError(
            f"{SUBNET}.0/24 is at {tag}: of tests that run now, or that were killed. Wait for "
            f"them, or remove what is left: ip link del {tag}; "
            f"for n in $(ip netns list | grep -o '^{tag}-[0-9]*'); do ip netns del $n; done"
        )


class Hosts:
    """Namespaces in the making of `World`: it starts and ends hosts as the fake says."""

    def __init__(self, world):
        self.world = world
        self.directory = Path(tempfile.mkdtemp(prefix="tp-hosts-", dir="/var/tmp"))
        self.tag = f"tp{os.getpid() % 100000}"
        self.processes = {}
        self.numbers = {}  # instance id -> number of its namespace
        self.free = list(range(1, 40))
        self.own_boots = False  # whether each host looks like a machine of its own

    def __enter__(self):
        for name in ("id", "hostkey"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.directory / name))
        shutil.copy(self.directory / "id.pub", self.directory / "authorized_keys")
        Path("/run/sshd").mkdir(exist_ok=True)
        need_subnet()
        run("ip", "link", "add", self.tag, "type", "bridge")
        run("ip", "addr", "add", f"{SUBNET}.254/24", "dev", self.tag)
        run("ip", "link", "set", self.tag, "up")
        self.world.on_launch, self.world.on_end = self.launch, self.end
        return self

    def __exit__(self, *_):
        for instance_id in list(self.processes):
            self._stop(instance_id)
        for number in self.numbers.values():
            self._unlink(number)  # of one that could not be launched
        subprocess.run(["ip", "link", "del", self.tag], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def address(self, instance_id):
        return f"{SUBNET}.{self.numbers[instance_id]}"

    def launch(self, instance):
        number = self.free.pop(0)
        self.numbers[instance.id] = number
        address, name, link = f"{SUBNET}.{number}", f"{self.tag}-{number}", f"{self.tag}v{number}"
        instance.nics[0].private_ip_address = address
        instance.nics[0].public_ip = None
        run("ip", "netns", "add", name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", link, "master", self.tag, "up")
        run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        directory = self.directory / instance.id
        directory.mkdir()
        (directory / "user-data").write_bytes(instance.user_data.decode().encode())
        if self.own_boots:
            (directory / "boot_id").write_text(f"{uuid.uuid4()}\n")
        words = ["ip", "netns", "exec", name, "unshare", "--mount", "--pid", "--fork"]
        words += ["--kill-child", "--mount-proc", sys.executable]
        words += [str(Path(__file__).with_name("host.py")), str(directory), address]
        with (directory / "output").open("wb") as output:
            self.processes[instance.id] = subprocess.Popen(
                words, stdout=output, stderr=output, start_new_session=True
            )

    def end(self, instance):
        if instance.id in self.processes:
            self._stop(instance.id)

    def _stop(self, instance_id):
        process = self.processes.pop(instance_id)
        process.send_signal(signal.SIGKILL)  # --kill-child ends all that is in its namespaces
        process.wait()
        name = f"{self.tag}-{self.numbers[instance_id]}"
        # One that was killed while it started may have left its child behind.
        words = ["ip", "netns", "pids", name]
        while pids := subprocess.run(words, capture_output=True, check=False).stdout.split():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        self._unlink(self.numbers[instance_id])

    def _unlink(self, number):
        """The cable too: on a busy machine the kernel ends a namespace long after its name."""
        for words in (
            ["link", "del", f"{self.tag}v{number}"],
            ["netns", "del", f"{self.tag}-{number}"],
        ):
            subprocess.run(["ip", *words], check=False, stderr=subprocess.DEVNULL)

    def alive(self):
        return [i for i, process in self.processes.items() if process.poll() is None]

    def read_timers(self):
        """Commands that the hosts' own `shutdown` received; the last one counts."""
        for instance_id in self.processes:
            timer = self.directory / instance_id / "timer"
            words = timer.read_text().split() if timer.exists() else []
            self.world.ends_at.pop(instance_id, None)
            if words:
                self.world.set_timer(instance_id, f"shutdown -P {words[-1]}")


class Relay:
    """TCP to the exchange with a round-trip delay for each source address, half on each way."""

    def __init__(self, delay_of):
        self.target, self.delay_of = None, delay_of
        self.listener = socket.create_server((f"{SUBNET}.254", PORT), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, (address, _) = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client, address), daemon=True).start()

    def _serve(self, client, address):
        half = self.delay_of(address) / 2
        with client, socket.create_connection(self.target) as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            other = {client: server, server: client}
            ready = selectors.SelectSelector()  # microseconds; epoll has milliseconds
            for end in other:
                ready.register(end, selectors.EVENT_READ)
            waiting = []
            while True:
                timeout = max(waiting[0][0] - time.monotonic(), 0) if waiting else 30
                for key, _ in ready.select(timeout):
                    data = key.fileobj.recv(65536)
                    if not data:
                        return
                    waiting.append((time.monotonic() + half, other[key.fileobj], data))
                while waiting and waiting[0][0] <= time.monotonic():
                    _, end, data = waiting.pop(0)
                    end.sendall(data)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # or the thread keeps it in accept
        self.listener.close()


def exchange(binary):
    """(process, (host, port))."""
    words = [binary, "exchange", "--any-token", "--listen", "127.0.0.1:0", "--backend", "block"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = process.stdout.readline().decode()
    host, port = re.search(r'"listening":"([^"]+):(\d+)"', line).groups()
    return process, (host, int(port))
