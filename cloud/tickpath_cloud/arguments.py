"""Types of arguments: each rejects a wrong value with a message, also nan and infinity."""

from __future__ import annotations

from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation


def dollars(text: str) -> Decimal:
    try:
        found = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        found = Decimal(0)
    if not (found.is_finite() and found > 0):
        raise ArgumentTypeError(f"{text!r}: write US dollars above 0, such as 20")
    return found


def positive(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1e6:
        raise ArgumentTypeError(f"{text!r}: write a number above 0, at most 1000000")
    return found


def whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 10**9):
        raise ArgumentTypeError(f"{text!r}: write a whole number, 1 or more")
    return int(text)
