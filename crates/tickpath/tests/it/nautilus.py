"""Gives a latency model to nautilus_trader itself, and sends orders through it.

Usage: nautilus.py FILE. Prints one JSON object: for each order how long its command and its cancel
took to the simulated exchange, which acts at the next quote, and the time between quotes, all in
nanoseconds.
"""

import json
import sys
from pathlib import Path

from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.backtest.models import LatencyModel
from nautilus_trader.config import LoggingConfig
from nautilus_trader.model.currencies import USD
from nautilus_trader.model.data import QuoteTick
from nautilus_trader.model.enums import AccountType, OmsType, OrderSide
from nautilus_trader.model.events import OrderAccepted, OrderCanceled
from nautilus_trader.model.objects import Money, Price, Quantity
from nautilus_trader.test_kit.providers import TestInstrumentProvider
from nautilus_trader.trading.strategy import Strategy

START = 1_767_225_600_000_000_000
ORDERS = 3

latencies = json.loads(Path(sys.argv[1]).read_text())
model = LatencyModel(**latencies)
longest = max(latencies.values())
step = max(longest // 50, 1)
# An order's command and its cancel each have twice their latency.
wait = 2 * longest // step
instrument = TestInstrumentProvider.default_fx_ccy("EUR/USD")


class Orders(Strategy):
    """Sends orders, and cancels each after it was accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.quotes = 0
        self.seen: list[dict[str, int]] = []
        self.order = None

    def on_start(self) -> None:
        self.subscribe_quote_ticks(instrument.id)

    def on_quote_tick(self, _tick: QuoteTick) -> None:
        if self.quotes % (2 * wait) == 0:
            self.order = self.order_factory.limit(
                instrument.id, OrderSide.BUY, instrument.make_qty(1_000), instrument.make_price(0.5)
            )
            self.seen.append({"sent": self.clock.timestamp_ns()})
            self.submit_order(self.order)
        elif self.quotes % (2 * wait) == wait:
            self.seen[-1]["cancel_sent"] = self.clock.timestamp_ns()
            self.cancel_order(self.order)
        self.quotes += 1

    def on_order_accepted(self, event: OrderAccepted) -> None:
        self.seen[-1]["accepted"] = event.ts_event

    def on_order_canceled(self, event: OrderCanceled) -> None:
        self.seen[-1]["canceled"] = event.ts_event


engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
engine.add_venue(
    instrument.id.venue,
    oms_type=OmsType.NETTING,
    account_type=AccountType.MARGIN,
    starting_balances=[Money(1_000_000, USD)],
    latency_model=model,
)
engine.add_instrument(instrument)
size = Quantity.from_int(1_000_000)
bid, ask = Price.from_str("1.00000"), Price.from_str("1.00010")
times = range(START, START + 2 * wait * ORDERS * step, step)
engine.add_data([QuoteTick(instrument.id, bid, ask, size, size, at, at) for at in times])
strategy = Orders()
engine.add_strategy(strategy)
engine.run()
taken = [
    {"insert": one["accepted"] - one["sent"], "cancel": one["canceled"] - one["cancel_sent"]}
    for one in strategy.seen
]
print(json.dumps({"step": step, "orders": taken}))
