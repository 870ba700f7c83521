"""Reads an archive of order latencies with hftbacktest itself, and sends orders through it.

Usage: backtest.py ARCHIVE. Prints one JSON object: the number of rows, and for each order what
the archive says and what the backtester did, in nanoseconds.
"""

import json
import sys

import numpy as np
from hftbacktest import (
    BUY_EVENT,
    DEPTH_EVENT,
    EXCH_EVENT,
    GTX,
    LIMIT,
    LOCAL_EVENT,
    SELL_EVENT,
    BacktestAsset,
    HashMapMarketDepthBacktest,
    event_dtype,
)

STEP_NS = 137_000_000
ORDERS = 12

archive = sys.argv[1]
rows = np.load(archive)["data"]
start = int(rows[0]["req_ts"])

# A book of two prices that is repeated every 10 ms.
events = []
for at in range(start, start + 3_000_000_000, 10_000_000):
    for side, price in ((BUY_EVENT, 100.0), (SELL_EVENT, 101.0)):
        flags = DEPTH_EVENT | side | EXCH_EVENT | LOCAL_EVENT
        events.append((flags, at, at, price, 10.0, 0, 0, 0.0))
data = np.array(events, dtype=event_dtype)

asset = (
    BacktestAsset()
    .data(data)
    .linear_asset(1.0)
    .intp_order_latency(archive)
    .risk_adverse_queue_model()
    .no_partial_fill_exchange()
    .trading_value_fee_model(0.0, 0.0)
    .tick_size(1.0)
    .lot_size(1.0)
)
backtest = HashMapMarketDepthBacktest([asset])
orders = []
for number in range(1, ORDERS + 1):
    backtest.elapse(STEP_NS)
    backtest.submit_buy_order(0, number, 99.0, 1.0, GTX, LIMIT, False)
    backtest.wait_order_response(0, number, 1_000_000_000)
    requested, exchanged, answered = (int(time) for time in backtest.order_latency(0))
    row = rows[np.searchsorted(rows["req_ts"], requested, side="right") - 1]
    orders.append(
        {
            "entry": exchanged - requested,
            "entry_expected": int(row["exch_ts"] - row["req_ts"]),
            "response": answered - exchanged,
            "response_expected": int(row["resp_ts"] - row["exch_ts"]),
        }
    )
print(json.dumps({"fields": list(rows.dtype.names), "rows": len(rows), "orders": orders}))
