"""HdrHistogram's V2 encoding, read without tickpath: for merges by hand."""

import base64
import re
import zlib


def counts(record):
    """Value -> count over all logs of a record's `order` series."""
    found = {}
    for log in record.glob("*.hlog"):
        for row in log.read_text().splitlines():
            tag = re.match(r"Tag=(?!floor|bare|hiccup)[^,]*order[^,]*,", row)
            if tag:
                for value, count in decode(row.rsplit(",", 1)[1]).items():
                    found[value] = found.get(value, 0) + count
    return found


def decode(text):
    data = base64.b64decode(text)
    raw = zlib.decompress(data[8:])
    digits = int.from_bytes(raw[12:16], "big")
    payload = raw[40 : 40 + int.from_bytes(raw[4:8], "big")]
    largest = 2 * 10**digits
    sub = 1 << (largest - 1).bit_length()
    found, index, at = {}, 0, 0
    while at < len(payload):
        number, shift = 0, 0
        while True:
            byte = payload[at]
            at += 1
            number |= (byte & 0x7F) << shift if shift < 56 else byte << shift
            shift += 7
            if byte < 0x80 or shift > 56:
                break
        number = (number >> 1) ^ -(number & 1)
        if number < 0:
            index -= number
            continue
        if number:
            found[highest(index, sub)] = number
        index += 1
    return found


def highest(index, sub):
    """The highest value that counts at this index."""
    half = sub // 2
    bucket, rest = (index // half) - 1, index % half + half
    if bucket < 0:
        bucket, rest = 0, index
    return (rest << bucket) + (1 << bucket) - 1


def percentile(found, share):
    total, seen = sum(found.values()), 0
    for value in sorted(found):
        seen += found[value]
        if seen >= share * total:
            return value
    raise AssertionError("nothing was counted")
