"""Delays what one host sends to some others: `slow_path.py ADDRESS=SECONDS…`, in its namespace.

This kernel may have no netem. So packets to these addresses go into a TUN device, which this
process reads, and leave by a raw socket on eth0 when their time has come. Ends with the namespace.
"""

import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
QUEUE_MAX = 1024  # packets; more are dropped, as a full queue does

delays = {socket.inet_aton(a): float(s) for a, s in (one.split("=") for one in sys.argv[1:])}
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"slow", IFF_TUN | IFF_NO_PI))
source = subprocess.run(
    ["sh", "-c", "ip -4 -o addr show dev eth0 | awk '{print $4}' | cut -d/ -f1"],
    capture_output=True, text=True, check=True,
).stdout.strip()  # fmt: skip
subprocess.run(["ip", "link", "set", "slow", "up"], check=True)
for address in delays:
    words = ["ip", "route", "add", f"{socket.inet_ntoa(address)}/32", "dev", "slow", "src", source]
    subprocess.run(words, check=True)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # on a busy machine it woke 50 ms late
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
waiting = {seconds: deque() for seconds in delays.values()}  # each in the order of its times
while True:
    due = min((queue[0][0] for queue in waiting.values() if queue), default=None)
    timeout = None if due is None else max(due - time.monotonic(), 0)
    if select.select([tun], [], [], timeout)[0]:
        packet = os.read(tun, 65536)
        seconds = delays.get(packet[16:20])
        if packet[0] >> 4 == 4 and seconds is not None and len(waiting[seconds]) < QUEUE_MAX:
            waiting[seconds].append((time.monotonic() + seconds, packet))
    for queue in waiting.values():
        while queue and queue[0][0] <= time.monotonic():
            _, packet = queue.popleft()
            out.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))
