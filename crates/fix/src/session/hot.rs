//! Messages that the caller writes or reads itself, for a measured path: see [`crate::hot`].

use super::{Session, State};
use crate::encode::{Body, seal};
use crate::hot::{Form, Header};
use crate::store::Store;
use crate::tag;
use std::io;

impl<S: Store> Session<S> {
    /// A form of a message of the application, as [`send`](Session::send) would write it; `ids` are
    /// the tags of its ids. `None` as [`Form::new`].
    pub fn form(
        &self,
        msg_type: &str,
        ids: &[u32],
        fill: impl FnOnce(&mut Body<'_>),
    ) -> Option<Form> {
        let (mut body, mut message) = (Vec::new(), Vec::new());
        let mut fields = Body::new(&mut body);
        self.header(&mut fields, msg_type.as_bytes(), 1).time(tag::SENDING_TIME, 0);
        fill(&mut fields);
        seal(&mut message, self.dictionary.begin_string().as_bytes(), &body);
        Form::new(message, ids)
    }

    /// Counts a message that the caller sends itself; its number. It is not kept: if the peer
    /// requests it again, it gets a gap fill, so that no order enters late.
    ///
    /// # Errors
    /// If the store fails: the message must not be sent.
    #[inline]
    pub fn sent_hot(&mut self, steady_ns: u64) -> io::Result<u64> {
        let seq = self.store.next_out();
        self.store.sent(&[])?;
        self.sent_ns = steady_ns;
        Ok(seq)
    }

    /// Takes a message that the caller read itself. `false`: it is not the plain next one of the
    /// peer, and [`receive`](Session::receive) must get its bytes. Neither SendingTime nor the
    /// dictionary is looked at.
    ///
    /// # Errors
    /// If the store fails: the session must end.
    #[inline]
    pub fn take_hot(&mut self, header: &Header<'_>, steady_ns: u64) -> io::Result<bool> {
        let is_plain = self.state == State::Active
            && self.read == self.inbound.len()
            && self.gap.is_none()
            && header.seq == self.store.next_in()
            && header.begin_string == self.dictionary.begin_string().as_bytes()
            && header.sender == self.settings.target.as_bytes()
            && header.target == self.settings.sender.as_bytes()
            && !header.is_poss_dup;
        if is_plain {
            self.store.set_next_in(header.seq + 1)?;
            self.received_ns = steady_ns;
            self.test_sent_ns = None;
        }
        Ok(is_plain)
    }
}
