"""Money: what instances have cost, and what they cost at worst. US dollars, exact decimals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal

MINIMUM_SECONDS = 60  # EC2 bills Linux by the second, at least a minute
HOUR = 3600


@dataclass(frozen=True)
class Lease:
    """One instance's time on the bill. Times are seconds since the epoch."""

    price: Decimal  # per hour
    began: float
    ended: float | None = None

    def until(self, at: float) -> Lease:
        return self if self.ended is not None else replace(self, ended=at)

    def cost(self, now: float) -> Decimal:
        end = now if self.ended is None else min(self.ended, now)
        return cost(self.price, max(end - self.began, 0))


def cost(price_per_hour: Decimal, seconds: float) -> Decimal:
    billed = Decimal(max(seconds, MINIMUM_SECONDS)).quantize(Decimal(1), ROUND_UP)
    return price_per_hour * billed / HOUR


def fee(per_hour: Decimal, seconds: float) -> Decimal:
    """A fee that is billed by whole hours, once for all instances."""
    return per_hour * -(-int(max(seconds, 1)) // HOUR)


def spent(leases: Iterable[Lease], now: float) -> Decimal:
    return sum((lease.cost(now) for lease in leases), Decimal(0))


def dollars(amount: Decimal) -> str:
    return f"${amount.quantize(Decimal('0.01'), ROUND_UP)}"
