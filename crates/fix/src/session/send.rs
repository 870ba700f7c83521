//! Messages that a session sends.

use super::{Now, Proof, RejectReason, Session, State};
use crate::encode::{Body, seal};
use crate::message::{Message, split};
use crate::store::Store;
use crate::{SOH, tag};
use std::io;

impl<S: Store> Session<S> {
    /// Sends a message of the application: `fill` adds its fields after the header. Without a
    /// connection, or while the peer has not logged on, it is only stored, and the peer requests
    /// it later. Returns its number.
    ///
    /// # Errors
    /// If the store fails: the message was not sent, and the session must end.
    pub fn send(
        &mut self,
        msg_type: &str,
        now: Now,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<u64> {
        self.put(msg_type, true, now, out, fill)
    }

    /// Sends a message of the application that is worth nothing later, such as market data: a
    /// resend has a gap fill in its place. Without a connection, or while the peer has not logged
    /// on, only its number is used up. Returns its number.
    ///
    /// # Errors
    /// As [`send`](Session::send).
    pub fn send_once(
        &mut self,
        msg_type: &str,
        now: Now,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<u64> {
        let start = out.len();
        let sent = self.put(msg_type, false, now, out, fill);
        if !self.is_active() {
            out.truncate(start);
        }
        sent
    }

    /// Keeps a note in the session's store.
    ///
    /// # Errors
    /// If the store fails: the session must end.
    pub fn note(&mut self, text: &[u8]) -> io::Result<()> {
        self.store.note(text)
    }

    /// Sends a Logout; its answer, or its time-out, ends the connection.
    ///
    /// # Errors
    /// If the store fails.
    pub fn log_out(&mut self, text: &str, now: Now, out: &mut Vec<u8>) -> io::Result<()> {
        if self.state == State::Active {
            self.state = State::LogoutSent { since_ns: now.steady_ns };
            self.send_logout(text, now, out)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        msg_type: &str,
        is_kept: bool,
        now: Now,
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<u64> {
        let seq = self.store.next_out();
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let mut fields = Body::new(&mut body);
        self.header(&mut fields, msg_type.as_bytes(), seq).time(tag::SENDING_TIME, now.utc_ns);
        fill(&mut fields);
        let start = out.len();
        seal(out, self.dictionary.begin_string().as_bytes(), &body);
        self.body = body;
        let stored = self.store.sent(if is_kept { &out[start..] } else { &[] });
        let is_connected = !matches!(self.state, State::Apart | State::Ended);
        let awaits_logon = matches!(self.state, State::LogonAwaited { .. });
        if stored.is_err() || !is_connected || (is_kept && awaits_logon) {
            out.truncate(start);
        } else {
            self.sent_ns = now.steady_ns;
        }
        stored.map(|()| seq)
    }

    pub(super) fn header<'a, 'b>(
        &self,
        fields: &'a mut Body<'b>,
        msg_type: &[u8],
        seq: u64,
    ) -> &'a mut Body<'b> {
        fields
            .bytes(tag::MSG_TYPE, msg_type)
            .text(tag::SENDER_COMP_ID, &self.settings.sender)
            .text(tag::TARGET_COMP_ID, &self.settings.target)
            .number(tag::MSG_SEQ_NUM, seq)
    }

    pub(super) fn send_logon(
        &mut self,
        heartbeat_seconds: u64,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let resets = self.resets;
        // The signed text has the number and the time of this Logon.
        let mut signed = Vec::new();
        let mut fields = Body::new(&mut signed);
        self.header(&mut fields, b"A", self.store.next_out()).time(tag::SENDING_TIME, now.utc_ns);
        let proof = std::mem::replace(&mut self.settings.proof, Proof::None);
        let cancels = self.settings.cancels_on_disconnect;
        let sent = self.put("A", false, now, out, |body| {
            body.number(tag::ENCRYPT_METHOD, 0).number(tag::HEART_BT_INT, heartbeat_seconds);
            if let Proof::Signed { sign, .. } = &proof {
                let signature = sign(&text_to_sign(&signed));
                body.data(tag::RAW_DATA_LENGTH, tag::RAW_DATA, &signature);
            }
            if resets {
                body.flag(tag::RESET_SEQ_NUM_FLAG, true);
            }
            if cancels {
                body.flag(tag::CANCEL_ORDERS_ON_DISCONNECT, true);
            }
            match &proof {
                Proof::None => {}
                Proof::Password { username, password } => {
                    if let Some(username) = username {
                        body.text(tag::USERNAME, username);
                    }
                    body.text(tag::PASSWORD, password);
                }
                Proof::Signed { username, .. } => {
                    body.text(tag::USERNAME, username);
                }
            }
        });
        self.settings.proof = proof;
        sent.map(drop)
    }

    pub(super) fn send_heartbeat(
        &mut self,
        test: Option<&[u8]>,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let fill = |body: &mut Body<'_>| {
            if let Some(test) = test {
                body.bytes(tag::TEST_REQ_ID, test);
            }
        };
        self.put("0", false, now, out, fill).map(drop)
    }

    pub(super) fn send_test_request(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<()> {
        self.tests += 1;
        let test = self.tests;
        let fill = |body: &mut Body<'_>| {
            body.number(tag::TEST_REQ_ID, test);
        };
        self.put("1", false, now, out, fill).map(drop)
    }

    pub(super) fn send_logout(
        &mut self,
        text: &str,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let fill = |body: &mut Body<'_>| {
            if !text.is_empty() {
                body.text(tag::TEXT, text);
            }
        };
        self.put("5", false, now, out, fill).map(drop)
    }

    /// Requests everything from `from` on.
    pub(super) fn send_resend_request(
        &mut self,
        from: u64,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let fill = |body: &mut Body<'_>| {
            body.number(tag::BEGIN_SEQ_NO, from).number(tag::END_SEQ_NO, 0);
        };
        self.put("2", false, now, out, fill).map(drop)
    }

    pub(super) fn send_reject(
        &mut self,
        message: Message<'_>,
        (tag, reason, text): (u32, RejectReason, &str),
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let seq = message.number(tag::MSG_SEQ_NUM).unwrap_or(0);
        let fill = |body: &mut Body<'_>| {
            body.number(tag::REF_SEQ_NUM, seq);
            if tag > 0 {
                body.number(tag::REF_TAG_ID, u64::from(tag));
            }
            if !message.msg_type().is_empty() {
                body.bytes(tag::REF_MSG_TYPE, message.msg_type());
            }
            body.number(tag::SESSION_REJECT_REASON, reason.code()).text(tag::TEXT, text);
        };
        self.put("3", false, now, out, fill).map(drop)
    }

    /// Sends the messages of the range again, and gap fills for those of the session layer and for
    /// those that the store no longer has.
    pub(super) fn resend(
        &mut self,
        first: u64,
        last: u64,
        now: Now,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut again: Vec<(u64, Vec<u8>)> = Vec::new();
        self.store.read(first..=last, &mut |seq, bytes| again.push((seq, bytes.to_vec())))?;
        let mut next = first;
        for (seq, bytes) in &again {
            if next < *seq {
                self.put_gap_fill(next, *seq, now, out);
            }
            self.put_again(*seq, bytes, now, out);
            next = seq + 1;
        }
        if next <= last {
            self.put_gap_fill(next, last + 1, now, out);
        }
        self.sent_ns = now.steady_ns;
        Ok(())
    }

    /// A SequenceReset with GapFillFlag in place of the messages from `seq` to before `new_seq`.
    fn put_gap_fill(&mut self, seq: u64, new_seq: u64, now: Now, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let mut fields = Body::new(&mut body);
        self.header(&mut fields, b"4", seq)
            .flag(tag::POSS_DUP_FLAG, true)
            .time(tag::SENDING_TIME, now.utc_ns)
            .time(tag::ORIG_SENDING_TIME, now.utc_ns)
            .flag(tag::GAP_FILL_FLAG, true)
            .number(tag::NEW_SEQ_NO, new_seq);
        seal(out, self.dictionary.begin_string().as_bytes(), &body);
    }

    /// A stored message with PossDupFlag, its old time in OrigSendingTime, and a new SendingTime.
    fn put_again(&mut self, seq: u64, bytes: &[u8], now: Now, out: &mut Vec<u8>) {
        let mut split_fields = Vec::new();
        // We wrote it, so it can be split.
        let _ = split(bytes, |tag| self.dictionary.data_of(tag), &mut split_fields);
        let message = Message::new(bytes, &split_fields);
        let mut body = Vec::new();
        let mut fields = Body::new(&mut body);
        self.header(&mut fields, message.msg_type(), seq)
            .flag(tag::POSS_DUP_FLAG, true)
            .time(tag::SENDING_TIME, now.utc_ns)
            .bytes(tag::ORIG_SENDING_TIME, message.get(tag::SENDING_TIME).unwrap_or_default());
        let rest = split_fields.iter().position(|field| field.tag == tag::SENDING_TIME);
        let rest = rest.and_then(|at| split_fields.get(at + 1));
        if let Some(start) = rest.map(|field| message.start(*field)) {
            // From the first field of the body to before `10=ddd` and its separator.
            body.extend_from_slice(&bytes[start..bytes.len() - 7]);
        }
        seal(out, self.dictionary.begin_string().as_bytes(), &body);
    }
}

/// [`super::signed_text`] of a header that was just written.
fn text_to_sign(header: &[u8]) -> Vec<u8> {
    let mut fields = Vec::new();
    debug_assert_eq!(header.last(), Some(&SOH));
    let _ = split(header, |_| None, &mut fields);
    super::signed_text(Message::new(header, &fields))
}
