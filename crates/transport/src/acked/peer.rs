//! One connection, after its handshake: both directions of its bytes.
//!
//! - Every datagram acknowledges all that arrived in order. An answer carries the acknowledgement
//!   of its question, so that orders and their replies need no other datagrams.
//! - A datagram that is not acknowledged in time is sent again, at growing intervals.
//! - Both sides show that they live, and a side that is silent is given up.

use crate::acked::datagram::{DatagramKind, HEADER_BYTES, Header, PAYLOAD_BYTES_MAX};
use crate::acked::receive::{Arrival, ReceiveWindow, ReceivedBytes};
use crate::acked::round_trip::RoundTrip;
use crate::acked::send::{SendWindow, WINDOW_DATAGRAMS};

/// The longest that an acknowledgement waits for a datagram that carries it, ns.
pub const ACK_DELAY_NS: u64 = 2_000_000;
/// After this many datagrams an acknowledgement does not wait.
pub const ACK_EVERY: u32 = 16;
/// A side that has sent nothing for this long says that it lives, ns.
pub const KEEP_ALIVE_NS: u64 = 1_000_000_000;
/// A side that was silent for this long is given up, ns.
pub const SILENCE_NS: u64 = 10_000_000_000;
/// The same where the system reports that the other end's port is closed, ns. Such a report can be
/// forged; one that is true comes again with each datagram.
pub const REFUSED_NS: u64 = 2 * KEEP_ALIVE_NS;
/// A connection is given up when one datagram was sent again this many times.
pub const RETRANSMISSIONS_MAX: u32 = 16;
/// Datagrams that are sent again at once when none was acknowledged in time.
const RETRANSMITTED_AT_ONCE: u64 = 8;
const NEVER_NS: u64 = u64::MAX;

/// Why a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndReason {
    /// The other end said so.
    #[error("the other end has reset the connection")]
    Reset,
    /// Nothing came for [`SILENCE_NS`].
    #[error("nothing came from the other end for {} s", SILENCE_NS / 1_000_000_000)]
    Silent,
    /// Its port is closed, and nothing came for [`REFUSED_NS`].
    #[error("the other end's port is closed")]
    Refused,
    /// A datagram was sent again [`RETRANSMISSIONS_MAX`] times.
    #[error(
        "the other end did not acknowledge a datagram that was sent again {RETRANSMISSIONS_MAX} times"
    )]
    Unacknowledged,
}

/// One connection, without its socket. Datagrams to send go to the `send` of each call, in order.
/// Times are ns of the caller's clock.
pub struct Peer {
    connection: u64,
    sent: SendWindow,
    received: ReceiveWindow,
    round_trip: RoundTrip,
    end: Option<EndReason>,
    /// It shall send its end as soon as there is room.
    ending: bool,
    /// It has sent its end.
    ended: bool,
    heard_ns: u64,
    said_ns: u64,
    ack_due_ns: u64,
    /// Datagrams that no acknowledgement was sent for.
    unacknowledged: u32,
    /// The room that the other end was told of.
    told_room: u16,
    retransmit_at_ns: u64,
    retransmitted: u64,
}

impl Peer {
    /// One end of the connection of that number.
    pub fn new(connection: u64, now_ns: u64) -> Peer {
        Peer {
            connection,
            sent: SendWindow::new(),
            received: ReceiveWindow::new(),
            round_trip: RoundTrip::default(),
            end: None,
            ending: false,
            ended: false,
            heard_ns: now_ns,
            said_ns: now_ns,
            ack_due_ns: NEVER_NS,
            unacknowledged: 0,
            told_room: WINDOW_DATAGRAMS as u16,
            retransmit_at_ns: NEVER_NS,
            retransmitted: 0,
        }
    }

    /// Its number.
    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// Why it was lost; `None`: it was not.
    pub fn end(&self) -> Option<EndReason> {
        self.end
    }

    /// Datagrams that were sent again so far.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// Whether [`read`](Peer::read) has something.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.received.is_readable()
    }

    /// Whether [`write`](Peer::write) takes at least a byte.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.sent.has_room() && !self.ending && self.end.is_none()
    }

    /// Whether the other end has all that was sent, and the end.
    pub fn is_done(&self) -> bool {
        self.ended && self.sent.is_empty()
    }

    /// Sends as much of `from` as there is room for. Gives how many bytes that is.
    ///
    /// # Errors
    /// The connection was lost.
    #[inline]
    pub fn write(
        &mut self,
        from: &[u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> Result<usize, EndReason> {
        if let Some(end) = self.end {
            return Err(end);
        }
        let mut n = 0;
        while n < from.len() && self.is_writable() {
            let payload = &from[n..from.len().min(n + PAYLOAD_BYTES_MAX)];
            let sequence = self.sent.push(payload, false);
            self.transmit(sequence, now_ns, send);
            n += payload.len();
        }
        Ok(n)
    }

    /// Sends the end, after all that was written: no more is.
    pub fn finish(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        self.ending = true;
        self.send_end(now_ns, send);
    }

    /// Ends the connection at once, and says so to the other end once.
    pub fn reset(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        if self.end.is_none() {
            self.give_up(EndReason::Reset, now_ns, send);
        }
    }

    /// Reads into `into`, which is not empty. What arrived before the connection was lost can still
    /// be read.
    #[inline]
    pub fn read(
        &mut self,
        into: &mut [u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> ReceivedBytes {
        let read = self.received.read(into);
        let window = WINDOW_DATAGRAMS as u16;
        if self.told_room < window / 4 && self.received.room() >= window / 2 && self.end.is_none() {
            self.send_bare(DatagramKind::Ack, now_ns, send);
        }
        read
    }

    /// Takes a datagram of this connection that was received at `now_ns`. Gives whether it made
    /// sense.
    #[inline]
    pub fn receive(
        &mut self,
        header: &Header,
        payload: &[u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> bool {
        if self.end.is_some() || header.ack > self.sent.next {
            return false;
        }
        self.heard_ns = now_ns;
        self.acknowledge(header, now_ns);
        match header.kind {
            DatagramKind::Data => self.receive_data(header, payload, now_ns, send),
            DatagramKind::Reset => self.end = Some(EndReason::Reset),
            _ => {}
        }
        if self.end.is_none() {
            if header.gap {
                self.fill_gap(now_ns, send);
            }
            if self.ending {
                self.send_end(now_ns, send);
            }
        }
        true
    }

    /// Does what is due: sends again, acknowledges, shows that it lives, gives up.
    pub fn poll(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        if self.end.is_some() {
            return;
        }
        if now_ns >= self.heard_ns + SILENCE_NS {
            return self.give_up(EndReason::Silent, now_ns, send);
        }
        if now_ns >= self.retransmit_at_ns {
            if self.sent.of(self.sent.first).0.again >= RETRANSMISSIONS_MAX {
                return self.give_up(EndReason::Unacknowledged, now_ns, send);
            }
            self.round_trip.back_off();
            let until = self.sent.next.min(self.sent.first + RETRANSMITTED_AT_ONCE);
            for sequence in self.sent.first..until {
                self.sent.of(sequence).0.again += 1;
                self.send_again(sequence, now_ns, send);
            }
            self.retransmit_at_ns = now_ns + self.round_trip.retransmit_ns();
        }
        if now_ns >= self.ack_due_ns.min(self.said_ns + KEEP_ALIVE_NS) {
            self.send_bare(DatagramKind::Ack, now_ns, send);
        }
    }

    /// When [`poll`](Peer::poll) has something to do.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        if self.end.is_some() {
            return NEVER_NS;
        }
        let lives_ns = (self.said_ns + KEEP_ALIVE_NS).min(self.heard_ns + SILENCE_NS);
        self.retransmit_at_ns.min(self.ack_due_ns).min(lives_ns)
    }

    /// The system says that the other end's port is closed.
    pub fn refused(&mut self, now_ns: u64) {
        if self.end.is_none() && now_ns >= self.heard_ns + REFUSED_NS {
            self.end = Some(EndReason::Refused);
        }
    }

    #[inline]
    fn acknowledge(&mut self, header: &Header, now_ns: u64) {
        let Some(last) = self.sent.acknowledge(header.ack, header.room) else { return };
        if !last.resent {
            self.round_trip.sample(now_ns.saturating_sub(last.sent_ns));
        }
        self.round_trip.recovered();
        self.retransmit_at_ns = match self.sent.is_empty() {
            true => NEVER_NS,
            false => now_ns + self.round_trip.retransmit_ns(),
        };
    }

    #[inline]
    fn receive_data(
        &mut self,
        header: &Header,
        payload: &[u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) {
        self.unacknowledged += 1;
        let arrival = self.received.insert(header.sequence, payload, header.ends, now_ns);
        let waits =
            arrival == Arrival::Next && !self.received.has_gap() && self.unacknowledged < ACK_EVERY;
        match waits {
            true => self.ack_due_ns = self.ack_due_ns.min(now_ns + ACK_DELAY_NS),
            false => self.send_bare(DatagramKind::Ack, now_ns, send),
        }
    }

    /// The other end misses a datagram before others that it has.
    #[cold]
    fn fill_gap(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        if self.sent.is_empty() {
            return;
        }
        let (first, smoothed_ns) = (self.sent.first, self.round_trip.smoothed_ns);
        // Once a round trip: each later arrival reports the same gap.
        let (sent, _) = self.sent.of(first);
        if now_ns.saturating_sub(sent.sent_ns) >= smoothed_ns {
            self.send_again(first, now_ns, send);
        }
    }

    fn send_end(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        if !self.ended && self.end.is_none() && self.sent.has_room() {
            self.ended = true;
            let sequence = self.sent.push(&[], true);
            self.transmit(sequence, now_ns, send);
        }
    }

    #[cold]
    fn send_again(&mut self, sequence: u64, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        self.retransmitted += 1;
        self.sent.of(sequence).0.resent = true;
        self.transmit(sequence, now_ns, send);
    }

    #[inline]
    fn transmit(&mut self, sequence: u64, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        let header = self.header(DatagramKind::Data, sequence);
        let (sent, datagram) = self.sent.of(sequence);
        sent.sent_ns = now_ns;
        Header { ends: sent.ends, ..header }.seal(datagram);
        send(datagram);
        if self.retransmit_at_ns == NEVER_NS {
            self.retransmit_at_ns = now_ns + self.round_trip.retransmit_ns();
        }
        self.said(now_ns);
    }

    fn send_bare(&mut self, kind: DatagramKind, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        let mut datagram = [0; HEADER_BYTES];
        self.header(kind, 0).seal(&mut datagram);
        send(&datagram);
        self.said(now_ns);
    }

    #[inline]
    fn header(&mut self, kind: DatagramKind, sequence: u64) -> Header {
        let room = self.received.room();
        self.told_room = room;
        Header {
            kind,
            ends: false,
            gap: self.received.has_gap(),
            room,
            connection: self.connection,
            sequence,
            ack: self.received.next,
        }
    }

    #[inline]
    fn said(&mut self, now_ns: u64) {
        (self.said_ns, self.ack_due_ns, self.unacknowledged) = (now_ns, NEVER_NS, 0);
    }

    #[cold]
    fn give_up(&mut self, why: EndReason, now_ns: u64, send: &mut impl FnMut(&[u8])) {
        self.end = Some(why);
        self.send_bare(DatagramKind::Reset, now_ns, send);
    }
}
