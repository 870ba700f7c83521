"""A source and a receiver of AWS's multicast tunnel, written from the description of its wire:

    UDP payload: magic 0x4D324355, group (4 bytes), then the application's header of four numbers
    of 8 bytes: sequence, time of sending, time of receipt by the replicator, time just before it
    sent the copy. All are big-endian; times are ns of CLOCK_REALTIME; 0: not stamped.

A stream is a UDP port and a group. Nothing here is taken from tickpath's code.

    stranger.py send IP:PORT GROUP COUNT      sends that many
    stranger.py receive IP GROUP COUNT        prints its port, then what came, as JSON
"""

import json
import socket
import struct
import sys
import time

MAGIC = b"M2CU"
APPLICATION = struct.Struct("!QQQQ")
CONTENT = b"the rest"
PATIENCE_SECONDS = 20.0


def send(to: str, group: str, count: int) -> None:
    host, port = to.rsplit(":", 1)
    source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for sequence in range(count):
        stamps = APPLICATION.pack(sequence, time.time_ns(), 0, 0)
        datagram = MAGIC + socket.inet_aton(group) + stamps + CONTENT
        source.sendto(datagram, (host, int(port)))
        # Few enough at a time for any receive buffer.
        time.sleep(0.001)


def receive(own: str, group: str, count: int) -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind((own, 0))
    receiver.settimeout(PATIENCE_SECONDS)
    print(receiver.getsockname()[1], flush=True)
    sequences, hops, foreign = [], [], 0
    while len(sequences) < count:
        try:
            datagram = receiver.recv(65_535)
        except TimeoutError:
            break
        received = time.time_ns()
        magic, its_group, rest = datagram[:4], datagram[4:8], datagram[8:]
        is_ours = magic == MAGIC and socket.inet_ntoa(its_group) == group
        if not is_ours or rest[APPLICATION.size :] != CONTENT:
            foreign += 1
            continue
        sequence, sent, replicator, resent = APPLICATION.unpack_from(rest)
        sequences.append(sequence)
        if replicator:
            hops.append([replicator - sent, resent - replicator, received - resent, received - sent])
    print(json.dumps({"sequences": sequences, "hops": hops, "foreign": foreign}))


if __name__ == "__main__":
    verb, where, stream, number = sys.argv[1:5]
    {"send": send, "receive": receive}[verb](where, stream, int(number))
