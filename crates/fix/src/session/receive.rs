//! Checks of a received message: cases 1, 2 and 14 of the session layer.

use super::header::Header;
use super::{End, Now, RejectReason, Role, Session, State, Step};
use crate::message::{Fault, Message};
use crate::store::Store;
use crate::tag;
use crate::time::parse_timestamp;
use std::io;

impl<S: Store> Session<S> {
    /// A message of another version: case 2i.
    pub(super) fn other_version(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<Step> {
        if matches!(self.state, State::LogonAwaited { .. }) {
            return Ok(Step::End(End::NoLogon));
        }
        self.violation("Incorrect BeginString", now, out)
    }

    /// Says in a Logout why the session can't go on.
    pub(super) fn violation(
        &mut self,
        text: &str,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        self.send_logout(text, now, out)?;
        Ok(Step::End(End::Violation))
    }

    pub(super) fn message(
        &mut self,
        message: Message<'_>,
        fault: Option<Fault>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        let header = Header::of(message);
        let Some(seq) = header.seq else {
            if matches!(self.state, State::LogonAwaited { .. }) {
                return Ok(Step::End(End::NoLogon));
            }
            return self.violation("MsgSeqNum (34) is missing or no number", now, out);
        };
        if matches!(self.state, State::LogonAwaited { .. }) {
            return self.first(message, &header, fault, now, out);
        }
        let is_reset = header.msg_type == b"4" && !message.is_set(tag::GAP_FILL_FLAG);
        if let Some(step) = self.identity(message, &header, now, out)? {
            return Ok(step);
        }
        if header.msg_type == b"A" {
            return self.logon_again(message, fault, now, out);
        }
        let expected = self.store.next_in();
        if seq > expected && !is_reset {
            return self.too_high(message, &header, fault, now, out);
        }
        if seq < expected && !is_reset {
            return self.too_low(message, &header, now, out);
        }
        if header.is_poss_dup
            && let Some((tag, reason)) = dup_fault(&header)
        {
            return self.reject(message, tag, reason, now, out);
        }
        if let Some(Fault { tag, reason }) = fault {
            return self.reject(message, tag, reason, now, out);
        }
        if let Some(tag) = header.third_party {
            return self.reject(message, tag, RejectReason::CompId, now, out);
        }
        self.in_sequence(message, &header, now, out)
    }

    /// The first message of a connection: case 1.
    fn first(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        fault: Option<Fault>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        if header.msg_type != b"A" || !self.is_ours(header) {
            return Ok(Step::End(End::NoLogon));
        }
        if let Some(Fault { tag, reason }) = fault {
            self.send_logout(&format!("invalid Logon: {reason}, tag {tag}"), now, out)?;
            return Ok(Step::End(End::NoLogon));
        }
        if !self.is_timely(header, now) {
            self.send_logout(RejectReason::SendingTime.words(), now, out)?;
            return Ok(Step::End(End::NoLogon));
        }
        let seconds = message.number(tag::HEART_BT_INT);
        let Some(seconds) = seconds.filter(|s| *s <= super::HEARTBEAT_SECONDS_MAX) else {
            let most = super::HEARTBEAT_SECONDS_MAX;
            let text = format!("HeartBtInt (108) is not 0 to {most} (limit HEARTBEAT_SECONDS_MAX)");
            self.send_logout(&text, now, out)?;
            return Ok(Step::End(End::NoLogon));
        };
        self.logged_on(message, header, seconds, now, out)
    }

    /// A valid Logon, as the first message of a connection.
    fn logged_on(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        seconds: u64,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        let seq = header.seq.unwrap_or(0);
        let is_acceptor = self.settings.role == Role::Acceptor;
        if message.is_set(tag::RESET_SEQ_NUM_FLAG) {
            if seq != 1 {
                let text = "MsgSeqNum of a Logon with ResetSeqNumFlag is not 1";
                self.send_logout(text, now, out)?;
                return Ok(Step::End(End::NoLogon));
            }
            if is_acceptor {
                self.store.reset()?;
                self.resets = true;
            } else if self.resets {
                self.store.set_next_in(1)?;
            } else {
                return self.violation("ResetSeqNumFlag was not asked for", now, out);
            }
        }
        let expected = self.store.next_in();
        if seq < expected && !header.is_poss_dup {
            return self.violation(&too_low_text(expected, seq), now, out);
        }
        self.heartbeat_ns = seconds * super::SECOND;
        if is_acceptor {
            self.send_logon(seconds, now, out)?;
        }
        self.state = State::Active;
        if seq > expected {
            self.gap = Some((seq, now.steady_ns));
            self.send_resend_request(expected, now, out)?;
        } else if seq == expected {
            self.store.set_next_in(seq + 1)?;
        }
        Ok(Step::LoggedOn)
    }

    /// A Logon within a session: with ResetSeqNumFlag the numbers begin anew, without it the
    /// session ends.
    fn logon_again(
        &mut self,
        message: Message<'_>,
        fault: Option<Fault>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        let is_valid = fault.is_none() && message.number(tag::MSG_SEQ_NUM) == Some(1);
        let is_acceptor = self.settings.role == Role::Acceptor;
        if is_valid && is_acceptor && message.is_set(tag::RESET_SEQ_NUM_FLAG) {
            self.store.reset()?;
            (self.resets, self.gap) = (true, None);
            self.send_logon(self.heartbeat_ns / super::SECOND, now, out)?;
            self.store.set_next_in(2)?;
            return Ok(Step::Nothing);
        }
        // A Logon that comes again fills its gap.
        if message.is_set(tag::POSS_DUP_FLAG) {
            return Ok(Step::Nothing);
        }
        self.violation("a second Logon", now, out)
    }

    fn is_ours(&self, header: &Header<'_>) -> bool {
        header.sender == self.settings.target.as_bytes()
            && header.target == self.settings.sender.as_bytes()
    }

    fn is_timely(&self, header: &Header<'_>, now: Now) -> bool {
        let sent_ns = header.sending_time.and_then(parse_timestamp);
        sent_ns.is_some_and(|ns| ns.abs_diff(now.utc_ns) <= self.settings.sending_time_ns_max)
    }

    /// CompIDs and SendingTime: cases 2k and 2o.
    fn identity(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Option<Step>> {
        let (tag, reason) = match (self.is_ours(header), self.is_timely(header, now)) {
            (true, true) => return Ok(None),
            (false, _) => (0, RejectReason::CompId),
            (true, false) => (tag::SENDING_TIME, RejectReason::SendingTime),
        };
        // A time that is missing or none at all is a fault like any other.
        if reason == RejectReason::SendingTime
            && header.sending_time.and_then(parse_timestamp).is_none()
        {
            return Ok(None);
        }
        self.reject(message, tag, reason, now, out)?;
        self.send_logout(reason.words(), now, out)?;
        Ok(Some(Step::End(End::Violation)))
    }

    /// Requests what is missing, once: case 2b.
    fn too_high(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        fault: Option<Fault>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        // A resend request is served at once, or two sides with a gap would wait for each other:
        // case 20. A Logout ends the session; its number is asked for after the next Logon.
        match (fault, header.msg_type) {
            (None, b"2") => self.serve_resend(message, false, now, out)?,
            (None, b"5") => return self.logout(now, out),
            _ => {}
        }
        let seq = header.seq.unwrap_or(0);
        let retry_ns = self.heartbeat_ns.max(super::SECOND);
        let (last, at_ns) = self.gap.unwrap_or((0, 0));
        let is_new = self.gap.is_none() || now.steady_ns.saturating_sub(at_ns) > retry_ns;
        self.gap = Some((last.max(seq), if is_new { now.steady_ns } else { at_ns }));
        if is_new {
            self.send_resend_request(self.store.next_in(), now, out)?;
        }
        Ok(Step::Nothing)
    }

    /// Cases 2c and 2e.
    fn too_low(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        if !header.is_poss_dup {
            let text = too_low_text(self.store.next_in(), header.seq.unwrap_or(0));
            return self.violation(&text, now, out);
        }
        if header.orig_sending_time.is_none() {
            let (tag, reason) = (tag::ORIG_SENDING_TIME, RejectReason::RequiredTagMissing);
            self.send_reject(message, (tag, reason, reason.words()), now, out)?;
        }
        Ok(Step::Nothing)
    }

    /// Rejects a message; its number counts if it is the expected one.
    pub(super) fn reject(
        &mut self,
        message: Message<'_>,
        tag: u32,
        reason: RejectReason,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        if message.number(tag::MSG_SEQ_NUM) == Some(self.store.next_in()) {
            self.next_in(self.store.next_in() + 1)?;
        }
        // Two sides that reject each other's rejects would never end.
        if message.msg_type() != b"3" {
            self.send_reject(message, (tag, reason, reason.words()), now, out)?;
        }
        Ok(Step::Nothing)
    }

    /// Moves the expected number, and forgets a gap that is filled.
    pub(super) fn next_in(&mut self, next_in: u64) -> io::Result<()> {
        if self.gap.is_some_and(|(last, _)| next_in > last) {
            self.gap = None;
        }
        self.store.set_next_in(next_in)
    }
}

fn too_low_text(expected: u64, seq: u64) -> String {
    format!("MsgSeqNum too low, expecting {expected} but received {seq}")
}

/// Cases 2f and 2g.
fn dup_fault(header: &Header<'_>) -> Option<(u32, RejectReason)> {
    let Some(original) = header.orig_sending_time else {
        return Some((tag::ORIG_SENDING_TIME, RejectReason::RequiredTagMissing));
    };
    let (original, sent) = (parse_timestamp(original)?, parse_timestamp(header.sending_time?)?);
    (original > sent).then_some((tag::ORIG_SENDING_TIME, RejectReason::SendingTime))
}
