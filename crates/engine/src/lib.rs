//! Limit order book and matching. Pure.
