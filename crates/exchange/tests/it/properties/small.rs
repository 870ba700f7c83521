//! The small exchange that properties are tried on.

use crate::driven::config;
use exchange::{Config, Limits};
use std::sync::LazyLock;

/// The stream whose bytes are tried.
pub const STRANGER: u32 = 0;
/// A stream that must feel nothing of it.
pub const NEIGHBOUR: u32 = 1;

/// Small enough that a few messages reach each limit, and that a fuzzer makes many exchanges a
/// second.
pub static SMALL: LazyLock<Config> = LazyLock::new(|| {
    let config = config();
    let limits = Limits {
        connections_max: 2,
        message_bytes_max: 1024,
        accounts_max: 4,
        accounts_per_connection_max: 2,
        open_orders_max: 16,
        price_levels_max: 4,
        sbe_session_bytes_max: 64 << 10,
        ..config.limits
    };
    Config { limits, replay_inputs_max: 1 << 10, ..config }
});
