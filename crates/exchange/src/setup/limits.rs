//! Every limit of the exchange, by name. Beyond a limit the exchange rejects with an error that
//! names it, and counts under that name.
//!
//! See docs/decisions/002-exchange-hot-path.md.

use engine::EngineLimits;
use serde::Deserialize;
use wire::reader::FrameLimits;

/// The longest HTTP head, in bytes. Not configurable: the decoder in `wire` has a buffer for it.
pub const HTTP_HEAD_BYTES_MAX: usize = wire::http::HTTP_HEAD_BYTES_MAX;
/// The longest client id, in bytes. Not configurable: an open order keeps it in one cache line.
pub const CLIENT_ID_BYTES_MAX: usize = wire::client_id::CLIENT_ID_BYTES_MAX;
/// The longest report of an order's end, in bytes; a mass cancel sends one for each order.
pub const REPORT_BYTES_MAX: usize = 512;
/// The most instruments.
pub const INSTRUMENTS_MAX: usize = 1024;
/// The largest log for the replay check, in inputs of 80 bytes.
pub const REPLAY_INPUTS_MAX: usize = 1 << 28;
/// The longest delivery window, us.
pub const DELIVERY_WINDOW_US_MAX: u64 = fair::window::WINDOW_NS_MAX / 1_000;
/// The longest time-out: more than an hour is probably a mistake in the unit.
const SECONDS_MAX: f64 = 3600.0;

/// The limits of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open connections. The exchange answers a further one with 503 and closes it.
    pub connections_max: usize,
    /// Open connections from one address (IPv6: from one /64 network). Loopback
    /// addresses are exempt unless [`Limits::limits_loopback`] is set.
    pub connections_per_address_max: usize,
    /// Whether [`Limits::connections_per_address_max`] holds for loopback addresses too.
    pub limits_loopback: bool,
    /// Bytes that wait for a client that does not read. Beyond this the number must fall within
    /// half a second, or the exchange closes the connection. It closes at once if the answer to a
    /// mass cancel of all open orders ([`REPORT_BYTES_MAX`] each) waits on top.
    pub outbound_bytes_max: usize,
    /// Bytes that wait for a client before its login. Beyond this the exchange closes the
    /// connection at once.
    pub outbound_bytes_before_login_max: usize,
    /// Bytes that wait for all clients together, at least what one connection may have. Beyond this
    /// the exchange closes the connection with the most.
    pub outbound_bytes_total_max: usize,
    /// How long the answer to a failed login is delayed.
    pub failed_login_seconds: f64,
    /// Bytes that wait for one client until the journal is durable, in mode `Sync`; beyond this the
    /// exchange closes the connection. More than the answers to all inputs that the journal takes
    /// before it is full, because rejections and pongs do not pass the journal.
    pub held_bytes_max: usize,
    /// The longest message, its fragments together; a longer one is closed with 1009.
    pub message_bytes_max: usize,
    /// From the connection, or the last plain request, to a whole HTTP head.
    pub handshake_seconds_max: f64,
    /// From a message's first byte to its last.
    pub message_seconds_max: f64,
    /// From the upgrade to WebSocket to the first `AUTHENTICATED`.
    pub authentication_seconds_max: f64,
    /// Messages before authentication; with the last of them the connection is closed.
    pub unauthenticated_messages_max: u32,
    /// Accounts since the exchange's start. The engine's memory is about 100 bytes each and 40
    /// bytes for each of an account's instruments: 2.6 MB for 10 000 accounts in four instruments.
    pub accounts_max: u32,
    /// Accounts authenticated on one connection.
    pub accounts_per_connection_max: usize,
    /// Sessions of SBE, with a connection or without one. A new session takes the place of the one
    /// that has been without a connection for longest.
    pub sbe_sessions_max: usize,
    /// Sessions of SBE of one account, likewise.
    pub sbe_sessions_per_account_max: usize,
    /// Bytes of reports kept for each session of SBE, taken when it begins: those that its client
    /// gets again after a lost connection.
    pub sbe_session_bytes_max: usize,
    /// Silence of a client that speaks SBE after which the exchange closes the connection. It sends
    /// a heartbeat after half of that time.
    pub sbe_silence_seconds_max: f64,
    /// Resting orders and waiting stops, including the start book. About 250 bytes each, including
    /// the client id. Risk settings limit them per account.
    pub open_orders_max: u32,
    /// Ended orders whose end `ORDER_STATUS` knows: the latest ones. 24 to 32 bytes each.
    pub ended_orders_max: u32,
    /// After a start from a journal: how long an account has to come back, one of whose connections
    /// had asked for `cancel_on_disconnect`. Then its orders are cancelled.
    pub reconnect_seconds: f64,
    /// Prices per side and instrument.
    pub price_levels_max: u32,
    /// Prices per side and instrument for which stops wait; 0 is an exchange without stops.
    pub stop_levels_max: u32,
    /// Orders that are open until a date; 0 is an exchange without them.
    pub expiring_orders_max: u32,
    /// Connections that are subscribed to the feed.
    pub feed_subscribers_max: usize,
    /// Datagrams of the feed kept for replays, for each depth. Each takes the memory of a longest
    /// one.
    pub feed_replay_packets_max: usize,
    /// Datagrams of snapshots and replays that are sent in a second, to all subscribers together.
    pub feed_resent_per_second_max: u32,
    /// Subscriptions to market data as JSON.
    pub market_data_subscriptions_max: usize,
    /// Bytes that wait for a subscriber of market data; beyond this it is skipped until it has read
    /// them.
    pub market_data_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1024,
            connections_per_address_max: 256,
            limits_loopback: false,
            outbound_bytes_max: 1 << 20,
            outbound_bytes_before_login_max: 64 << 10,
            outbound_bytes_total_max: 256 << 20,
            failed_login_seconds: 1.0,
            held_bytes_max: 64 << 20,
            message_bytes_max: 16 * 1024,
            handshake_seconds_max: 5.0,
            message_seconds_max: 10.0,
            authentication_seconds_max: 10.0,
            unauthenticated_messages_max: 10,
            accounts_max: 10_000,
            accounts_per_connection_max: 1024,
            sbe_sessions_max: 1024,
            sbe_sessions_per_account_max: 16,
            // Some two thousand reports.
            sbe_session_bytes_max: 256 * 1024,
            sbe_silence_seconds_max: 30.0,
            // The tables that find an order are made for this many and hit at random: with 65 536
            // they fit a core's caches, with a million every message waits for memory.
            open_orders_max: 65_536,
            // More than a second of 200 000 orders each second.
            ended_orders_max: 1 << 18,
            reconnect_seconds: 5.0,
            price_levels_max: 16_384,
            stop_levels_max: 4_096,
            expiring_orders_max: 65_536,
            feed_subscribers_max: 16,
            feed_replay_packets_max: 16_384,
            // About 70 MB/s: new datagrams do not wait for them, and a follower with the system's
            // usual receive buffer loses none while it reads.
            feed_resent_per_second_max: 50_000,
            market_data_subscriptions_max: 256,
            market_data_bytes_max: 256 * 1024,
        }
    }
}

/// A limit is out of its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("limit {name} is {value}, but must be from {min} to {max}: set it in this range")]
pub struct LimitsError {
    name: &'static str,
    value: f64,
    min: f64,
    max: f64,
}

impl LimitsError {
    /// Checks a value against its range.
    pub(crate) fn check(name: &'static str, value: f64, min: f64, max: f64) -> Result<(), Self> {
        match (min..=max).contains(&value) {
            true => Ok(()),
            false => Err(LimitsError { name, value, min, max }),
        }
    }
}

impl Limits {
    /// Checks that all limits are in range.
    ///
    /// # Errors
    /// The first limit that is out of its range.
    pub fn check(&self) -> Result<(), LimitsError> {
        let orders_max = f64::from(engine::OPEN_ORDERS_MAX - 1);
        for (name, value, min, max) in [
            ("connections_max", self.connections_max as f64, 1.0, 65_536.0),
            ("outbound_bytes_max", self.outbound_bytes_max as f64, 1024.0, (1u64 << 40) as f64),
            ("connections_per_address_max", self.connections_per_address_max as f64, 1.0, 65_536.0),
            (
                "outbound_bytes_before_login_max",
                self.outbound_bytes_before_login_max as f64,
                16_384.0,
                (1u64 << 40) as f64,
            ),
            (
                "outbound_bytes_total_max",
                self.outbound_bytes_total_max as f64,
                65_536.0,
                (1u64 << 40) as f64,
            ),
            ("failed_login_seconds", self.failed_login_seconds, 0.0, 60.0),
            ("feed_resent_per_second_max", self.feed_resent_per_second_max.into(), 100.0, 1e7),
            ("held_bytes_max", self.held_bytes_max as f64, 1024.0, (1u64 << 40) as f64),
            ("message_bytes_max", self.message_bytes_max as f64, 256.0, (1u64 << 24) as f64),
            ("handshake_seconds_max", self.handshake_seconds_max, 0.001, SECONDS_MAX),
            ("message_seconds_max", self.message_seconds_max, 0.001, SECONDS_MAX),
            ("authentication_seconds_max", self.authentication_seconds_max, 0.001, SECONDS_MAX),
            ("unauthenticated_messages_max", self.unauthenticated_messages_max.into(), 1.0, 1e6),
            ("accounts_max", self.accounts_max.into(), 1.0, 1e7),
            ("accounts_per_connection_max", self.accounts_per_connection_max as f64, 1.0, 1e7),
            ("sbe_sessions_max", self.sbe_sessions_max as f64, 1.0, 65_536.0),
            (
                "sbe_sessions_per_account_max",
                self.sbe_sessions_per_account_max as f64,
                1.0,
                65_536.0,
            ),
            (
                "sbe_session_bytes_max",
                self.sbe_session_bytes_max as f64,
                4096.0,
                f64::from(1 << 30),
            ),
            ("sbe_silence_seconds_max", self.sbe_silence_seconds_max, 1.0, SECONDS_MAX),
            ("open_orders_max", self.open_orders_max.into(), 1.0, orders_max),
            ("reconnect_seconds", self.reconnect_seconds, 0.0, SECONDS_MAX),
            ("ended_orders_max", self.ended_orders_max.into(), 1.0, f64::from(1 << 28)),
            ("price_levels_max", self.price_levels_max.into(), 1.0, orders_max),
            ("stop_levels_max", self.stop_levels_max.into(), 0.0, orders_max),
            ("expiring_orders_max", self.expiring_orders_max.into(), 0.0, orders_max),
            ("feed_subscribers_max", self.feed_subscribers_max as f64, 1.0, 4096.0),
            ("feed_replay_packets_max", self.feed_replay_packets_max as f64, 2.0, 1e6),
            (
                "market_data_subscriptions_max",
                self.market_data_subscriptions_max as f64,
                0.0,
                65_536.0,
            ),
            (
                "market_data_bytes_max",
                self.market_data_bytes_max as f64,
                1024.0,
                (1u64 << 40) as f64,
            ),
        ] {
            LimitsError::check(name, value, min, max)?;
        }
        Ok(())
    }

    /// The limits of the server loop.
    pub fn serve(&self) -> transport::serve::Limits {
        let answer_bytes_max = self.open_orders_max as usize * REPORT_BYTES_MAX;
        let of_one = self.outbound_bytes_max + answer_bytes_max;
        transport::serve::Limits {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            limits_loopback: self.limits_loopback,
            outbound_bytes_max: self.outbound_bytes_max,
            answer_bytes_max,
            outbound_bytes_before_login_max: self.outbound_bytes_before_login_max,
            outbound_bytes_total_max: self.outbound_bytes_total_max.max(of_one),
            held_bytes_max: self.held_bytes_max,
        }
    }

    pub(crate) fn engine(&self) -> EngineLimits {
        EngineLimits {
            open_orders_max: self.open_orders_max,
            price_levels_max: self.price_levels_max,
            stop_levels_max: self.stop_levels_max,
            expiring_orders_max: self.expiring_orders_max,
            // And the exchange's own account.
            accounts_max: self.accounts_max + 1,
        }
    }

    pub(crate) fn frames(&self) -> FrameLimits {
        FrameLimits { message_bytes_max: self.message_bytes_max }
    }
}

/// A time-out in nanoseconds.
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_out_of_range_is_named() {
        assert_eq!(Limits::default().check(), Ok(()));
        for (text, name) in [
            ("connections_max = 0", "connections_max"),
            ("message_bytes_max = 1", "message_bytes_max"),
            ("handshake_seconds_max = nan", "handshake_seconds_max"),
            ("message_seconds_max = -1.0", "message_seconds_max"),
            ("open_orders_max = 16777216", "open_orders_max"),
            ("price_levels_max = 0", "price_levels_max"),
        ] {
            let limits: Limits = toml::from_str(text).unwrap();
            assert_eq!(limits.check().unwrap_err().name, name);
        }
    }

    #[test]
    fn a_limit_that_does_not_exist_is_an_error() {
        let error = toml::from_str::<Limits>("conections_max = 1").unwrap_err().to_string();
        assert!(error.contains("conections_max"), "{error}");
    }
}
