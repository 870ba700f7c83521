//! Messages of the session layer that are in sequence, and the application's: cases 4 to 13.

use super::header::Header;
use super::{End, Now, RejectReason, Session, State, Step};
use crate::message::Message;
use crate::store::Store;
use crate::tag;
use std::io;

impl<S: Store> Session<S> {
    pub(super) fn in_sequence(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        let next = self.store.next_in() + 1;
        match header.msg_type {
            b"4" => return self.sequence_reset(message, header, now, out),
            b"2" => {
                self.next_in(next)?;
                self.serve_resend(message, true, now, out)?;
            }
            b"5" => {
                self.next_in(next)?;
                return self.logout(now, out);
            }
            b"1" => {
                self.next_in(next)?;
                self.send_heartbeat(message.get(tag::TEST_REQ_ID), now, out)?;
            }
            // Heartbeat and Reject.
            b"0" | b"3" => self.next_in(next)?,
            // Stored before the caller acts on it; see the module.
            _ => {
                self.next_in(next)?;
                return Ok(Step::Application);
            }
        }
        Ok(Step::Nothing)
    }

    /// Case 13: the answer to our Logout, or a Logout that is answered.
    pub(super) fn logout(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<Step> {
        if !matches!(self.state, State::LogoutSent { .. }) {
            self.send_logout("", now, out)?;
        }
        Ok(Step::End(End::LoggedOut))
    }

    /// Case 8. `may_reject`: whether the request is in sequence.
    pub(super) fn serve_resend(
        &mut self,
        message: Message<'_>,
        may_reject: bool,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let last_sent = self.store.next_out() - 1;
        let first = message.number(tag::BEGIN_SEQ_NO).unwrap_or(0);
        let last = match message.number(tag::END_SEQ_NO) {
            // 0, and in older versions 999999, is all that was sent.
            Some(0) | None => last_sent,
            Some(last) => last.min(last_sent),
        };
        if first == 0 || first > last {
            if may_reject {
                let reason = RejectReason::ValueIncorrect;
                let text = format!("BeginSeqNo {first} is not 1 to {last}");
                self.send_reject(message, (tag::BEGIN_SEQ_NO, reason, &text), now, out)?;
            }
            return Ok(());
        }
        self.resend(first, last, now, out)
    }

    /// Cases 10 and 11.
    fn sequence_reset(
        &mut self,
        message: Message<'_>,
        header: &Header<'_>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<Step> {
        let new = message.number(tag::NEW_SEQ_NO).unwrap_or(0);
        let expected = self.store.next_in();
        if message.is_set(tag::GAP_FILL_FLAG) {
            if new > header.seq.unwrap_or(0) {
                self.next_in(new)?;
                return Ok(Step::Nothing);
            }
            // The number of this one is used: case 10e.
            self.next_in(expected + 1)?;
        } else if new >= expected {
            self.next_in(new)?;
            return Ok(Step::Nothing);
        }
        let reason = RejectReason::ValueIncorrect;
        let text = format!("attempt to lower sequence number, invalid value NewSeqNo={new}");
        self.send_reject(message, (tag::NEW_SEQ_NO, reason, &text), now, out)?;
        Ok(Step::Nothing)
    }

    /// Whether our Logout waits for its answer.
    pub fn is_logging_out(&self) -> bool {
        matches!(self.state, State::LogoutSent { .. })
    }
}
