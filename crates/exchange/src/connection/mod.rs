//! The connections: an HTTP head, then WebSocket frames, or frames of SBE; and their time-outs.

mod head;
mod inspection;
mod sbe;
mod state;

use crate::account::sessions::FAILED_LOGIN;
use crate::account::tokens::Tokens;
use crate::config::{Config, ConfigError};
use crate::connection::state::{Connection, Phase, TimeOut, TimeOuts};
use crate::entry::login::CloseReason;
use crate::entry::state::OrderEntry;
use crate::entry::{requests, turn};
use crate::execution::Execution;
use crate::market_data::settings::Feed;
use crate::opening::{self, Recovery};
use crate::setup::limits::{DELIVERY_WINDOW_US_MAX, LimitsError, REPLAY_INPUTS_MAX, nanoseconds};
use std::io;
use std::net::SocketAddr;
use transport::StreamId;
use transport::serve::{Full, Outbound, Service};
use wire::frame::{FrameError, Opcode, write_close, write_frame};
use wire::http::{self, Framing};
use wire::reader::{FrameLimits, Message};

/// The order gateway and the exchange behind it: a service for [`transport::serve::serve`].
pub struct Exchange {
    /// By stream.
    connections: Vec<Connection>,
    /// Number of connections that have ever been in use: a sweep stops there.
    used: usize,
    pub(crate) entry: OrderEntry,
    pub(crate) recovery: Option<Recovery>,
    frames: FrameLimits,
    /// Codes of the instruments by number, for SBE.
    codes: Vec<String>,
    time_outs: TimeOuts,
    /// Delay of the answer to a failed login.
    failed_login_ns: u64,
    /// Rejects upgrades from web pages of another origin: if any token is valid, such a page could
    /// trade.
    rejects_foreign_origins: bool,
    wall_ns: fn() -> u64,
    full_response: Vec<u8>,
    full_of_address_response: Vec<u8>,
}

impl Exchange {
    /// Takes all memory that the limits allow for, and makes the start book.
    ///
    /// # Errors
    /// If a limit is out of range, the start book can't be made, or the journal can't be opened.
    pub fn new(config: Config) -> Result<Exchange, ConfigError> {
        config.limits.check()?;
        config.limits.engine().check(config.instruments.count())?;
        let inputs = config.replay_inputs_max as f64;
        LimitsError::check("replay_inputs_max", inputs, 0.0, REPLAY_INPUTS_MAX as f64)?;
        config.feed.iter().try_for_each(Feed::check)?;
        check_delivery_window(&config)?;
        let (entry, recovery) = opening::open(&config)?;
        let limits = config.limits;
        let frames = limits.frames();
        let mut full_response = Vec::new();
        let full = "too many connections (limit connections_max); try again later";
        let framing = Framing { keep_alive: false, is_head: false, wall_ns: None };
        http::response(&mut full_response, 503, full, framing);
        let mut full_of_address_response = Vec::new();
        let full = "too many connections from this address (limit connections_per_address_max); close some";
        http::response(&mut full_of_address_response, 503, full, framing);
        Ok(Exchange {
            connections: (0..limits.connections_max).map(|_| Connection::new(frames)).collect(),
            used: 0,
            entry,
            recovery,
            frames,
            codes: config.instruments.all().iter().map(|one| one.code.clone()).collect(),
            time_outs: TimeOuts::new(&limits),
            failed_login_ns: nanoseconds(limits.failed_login_seconds),
            rejects_foreign_origins: matches!(config.tokens, Tokens::Any),
            wall_ns: config.wall_ns,
            full_response,
            full_of_address_response,
        })
    }

    /// Answers complete messages.
    fn frames(&mut self, id: StreamId, stamp_ns: u64, outbound: &mut Outbound) {
        let connection = &mut self.connections[id.index()];
        let entry = &mut self.entry;
        let time_ns = (self.wall_ns)();
        entry.core.observed.cause_ns = stamp_ns;
        // A ping between two fragments does not extend the time for the message.
        let mut paid = false;
        loop {
            let message = match connection.reader.next() {
                Ok(Some(received)) => received.message,
                Ok(None) => break,
                Err(error) => return self.reject_frame(id, error, outbound),
            };
            let closed = match message {
                Message::Text(text) => {
                    paid = true;
                    requests::message(entry, id, text, time_ns, outbound)
                }
                Message::Ping(payload) => {
                    write_frame(outbound.to(id), true, Opcode::Pong, None, payload);
                    Ok(())
                }
                Message::Pong(_) => Ok(()),
                Message::Binary(_) => {
                    let rejections = &mut entry.core.rejections;
                    rejections.error(outbound.to(id), &"binary message; send JSON in a text frame");
                    Err(CloseReason::Now(1003, "text frames only"))
                }
                Message::Close { code, .. } => {
                    match code {
                        Some(code) => write_close(outbound.to(id), code, "", None),
                        None => write_frame(outbound.to(id), true, Opcode::Close, None, &[]),
                    }
                    return self.end(id, outbound);
                }
            };
            match closed {
                Ok(()) => {}
                Err(CloseReason::Now(code, reason)) => {
                    write_close(outbound.to(id), code, reason, None);
                    return self.end(id, outbound);
                }
                Err(CloseReason::FailedLogin) => return self.fail_login(id, stamp_ns, outbound),
            }
        }
        let owes = connection.reader.is_within_message();
        connection.owes_since_ns = match connection.owes_since_ns {
            Some(since_ns) if owes && !paid => Some(since_ns),
            _ => owes.then_some(stamp_ns),
        };
    }

    /// Delays the answer to a failed login. The connection keeps its place meanwhile, so an address
    /// that guesses tokens gets one guess per connection in that time.
    #[cold]
    fn fail_login(&mut self, id: StreamId, now_ns: u64, outbound: &mut Outbound) {
        if self.failed_login_ns == 0 {
            return self.answer_failed_login(id, outbound);
        }
        self.gone(id, outbound);
        let connection = &mut self.connections[id.index()];
        connection.phase = Phase::LoginFailed { answer_ns: now_ns + self.failed_login_ns };
        connection.head_bytes = 0;
    }

    fn answer_failed_login(&mut self, id: StreamId, outbound: &mut Outbound) {
        if self.connections[id.index()].speaks_sbe {
            return self.end_sbe(id, FAILED_LOGIN, outbound);
        }
        let out = outbound.to(id);
        self.entry.core.rejections.error(out, &FAILED_LOGIN);
        write_close(out, 1008, FAILED_LOGIN, None);
        self.end(id, outbound);
    }

    #[cold]
    fn reject_frame(&mut self, id: StreamId, error: FrameError, outbound: &mut Outbound) {
        if matches!(error, FrameError::MessageTooBig { .. }) {
            self.entry.core.rejections.limits.add("message_bytes_max");
        }
        let out = outbound.to(id);
        self.entry.core.rejections.error(out, &error);
        write_close(out, error.close_code(), "", None);
        self.end(id, outbound);
    }

    /// Ends a connection: it is not read any more and gets no more reports.
    fn end(&mut self, id: StreamId, outbound: &mut Outbound) {
        outbound.close(id);
        self.gone(id, outbound);
    }

    /// Ends a connection that has not completed its head, message or login in time.
    fn time_out(&mut self, id: StreamId, now_ns: u64, outbound: &mut Outbound) {
        let sessions = &self.entry.core.sessions;
        let is_authenticated = || sessions.is_authenticated(id);
        let connection = &self.connections[id.index()];
        match connection.time_out(&self.time_outs, now_ns, is_authenticated) {
            None => {}
            Some(TimeOut::FailedLogin) => self.answer_failed_login(id, outbound),
            // HTTP needs no answer to that.
            Some(TimeOut::Idle) => self.end(id, outbound),
            Some(TimeOut::Head) => {
                self.entry.core.rejections.limits.add("handshake_seconds_max");
                let late =
                    "the head of a request did not come in time (limit handshake_seconds_max)";
                let wall_ns = Some((self.wall_ns)());
                let framing = Framing { keep_alive: false, is_head: false, wall_ns };
                http::response(outbound.to(id), 408, late, framing);
                self.end(id, outbound);
            }
            Some(TimeOut::Message) => {
                let late = "half a message, and the rest did not come (limit message_seconds_max)";
                self.end_late(id, "message_seconds_max", late, outbound);
            }
            Some(TimeOut::Authentication) => {
                let late = "not authenticated in time (limit authentication_seconds_max)";
                self.end_late(id, "authentication_seconds_max", late, outbound);
            }
            Some(TimeOut::Silence) => {
                let late = "no message came, not even a heartbeat (limit sbe_silence_seconds_max)";
                self.end_late(id, "sbe_silence_seconds_max", late, outbound);
            }
        }
    }

    #[cold]
    fn end_late(&mut self, id: StreamId, limit: &'static str, late: &str, outbound: &mut Outbound) {
        self.entry.core.rejections.limits.add(limit);
        if self.connections[id.index()].speaks_sbe {
            return self.end_sbe(id, late, outbound);
        }
        let out = outbound.to(id);
        self.entry.core.rejections.error(out, &late);
        write_close(out, 1008, late, None);
        self.end(id, outbound);
    }

    /// Releases the state of an ended connection. A second call does nothing.
    fn gone(&mut self, id: StreamId, outbound: &mut Outbound) {
        let connection = &mut self.connections[id.index()];
        if let Phase::Sbe { session } = std::mem::take(&mut connection.phase) {
            self.gone_sbe(id, session, outbound);
        }
        self.entry.closed(id, self.wall_ns, outbound);
    }
}

/// Checks that the delivery window is in its range, and that there is a feed.
fn check_delivery_window(config: &Config) -> Result<(), ConfigError> {
    let Some(window_us) = config.delivery_window_us else { return Ok(()) };
    let (window_us, max) = (window_us as f64, DELIVERY_WINDOW_US_MAX as f64);
    LimitsError::check("delivery_window_us", window_us, 1.0, max)?;
    config.feed.map(drop).ok_or(ConfigError::NoFeed)
}

impl Service for Exchange {
    fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>, now_ns: u64) {
        // Rejected connections have ids too, so an id may be a little above connections_max.
        while self.connections.len() <= id.index() {
            self.connections.push(Connection::new(self.frames));
        }
        self.used = self.used.max(id.index() + 1);
        let connection = &mut self.connections[id.index()];
        connection.open(now_ns);
        self.entry.opened(id, peer);
    }

    #[inline]
    fn space(&mut self, id: StreamId) -> &mut [u8] {
        let connection = &mut self.connections[id.index()];
        match connection.phase {
            Phase::Frames => connection.reader.space(),
            // Never empty: a head that fills it is rejected.
            Phase::Head | Phase::Sbe { .. } | Phase::Ended | Phase::LoginFailed { .. } => {
                &mut connection.head[connection.head_bytes..]
            }
        }
    }

    #[inline]
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        let connection = &mut self.connections[id.index()];
        match connection.phase {
            Phase::Frames => {
                connection.reader.filled(n, stamp_ns);
                self.frames(id, stamp_ns, outbound);
            }
            Phase::Head => {
                connection.head_bytes += n;
                self.heads(id, stamp_ns, outbound);
            }
            Phase::Sbe { .. } => {
                connection.head_bytes += n;
                self.sbe(id, stamp_ns, outbound);
            }
            Phase::Ended | Phase::LoginFailed { .. } => {}
        }
    }

    fn closed(&mut self, id: StreamId, outbound: &mut Outbound) {
        self.gone(id, outbound);
    }

    fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound) {
        self.entry.sweep(now_ns, self.wall_ns, outbound);
        for index in 0..self.used {
            self.time_out(StreamId(index as u32), now_ns, outbound);
        }
    }

    /// Replies that wait for a failed journal would wait for ever, and the exchange takes no more
    /// messages, not even cancels. It closes the connections, so that clients know that the outcome
    /// is unknown.
    fn failure(&self) -> Option<io::Error> {
        let why = self.entry.core.sequencer.failure()?;
        Some(io::Error::other(format!(
            "the journal has failed, and the exchange ends with it: {why}"
        )))
    }

    fn is_idle(&self) -> bool {
        self.entry.core.sessions.is_empty()
    }

    #[inline]
    fn elsewhere(&mut self, outbound: &mut Outbound) -> bool {
        let mut awaits =
            self.entry.core.observed.is_on && turn::turn(&mut self.entry, self.wall_ns, outbound);
        let Execution { sequencer, plant, .. } = &mut self.entry.core;
        if !sequencer.is_sync() {
            return awaits;
        }
        let acknowledged = sequencer.acknowledged();
        outbound.release(acknowledged);
        if let Some(plant) = plant {
            awaits |= plant.release(acknowledged);
        }
        awaits
    }

    fn rejection(&self, full: Full) -> &[u8] {
        match full {
            Full::Connections => &self.full_response,
            Full::ConnectionsPerAddress => &self.full_of_address_response,
        }
    }
}
