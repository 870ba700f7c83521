//! From a Logon to its session.

use super::seat::{Client, Link, Seat};
use super::{COMP_ID_BYTES_MAX, Desk, Door, LOGON_BYTES_MAX, Login, Owner, SESSIONS_MAX};
use crate::link::{self, Purpose};
use fix::session::{Logon, logon_of};
use std::io;
use std::sync::Arc;
use transport::{StreamId, StreamRead};

/// The longest name of a store's file, without the ending of one that is written anew.
const FILE_NAME_BYTES_MAX: usize = 240;

impl Door<'_> {
    pub(super) fn read_logon(&mut self, id: StreamId) {
        let read = self.streams.read(id, &mut self.buffer);
        let Some(waiting) = self.waiting.get_mut(&id) else { return };
        let n = match read {
            StreamRead::Bytes { n, .. } => n,
            StreamRead::Empty => return,
            StreamRead::Closed | StreamRead::Failed(_) => return self.forget_waiting(id),
        };
        if waiting.close_at_ns.is_some() {
            return;
        }
        waiting.bytes.extend_from_slice(&self.buffer[..n]);
        match logon_of(&waiting.bytes, &self.dictionary) {
            Ok(None) if waiting.bytes.len() < LOGON_BYTES_MAX => {}
            Ok(Some(logon)) => self.admit(id, &logon),
            Ok(None) | Err(_) => {
                self.counts.no_logon += 1;
                self.forget_waiting(id);
            }
        }
    }

    fn admit(&mut self, id: StreamId, logon: &Logon) {
        let login = match self.authentic(logon) {
            Some(login) => login,
            None => {
                self.counts.failed_logins += 1;
                let close_at_ns = self.clock.now_ns() + self.settings.limits.failed_login_ns;
                if let Some(waiting) = self.waiting.get_mut(&id) {
                    waiting.close_at_ns = Some(close_at_ns);
                    waiting.bytes = Vec::new();
                }
                return;
            }
        };
        match self.seat(&login, logon) {
            Ok(at) if self.seats[at].client.is_some() => {
                self.counts.duplicate_logons += 1;
                self.forget_waiting(id);
            }
            Ok(at) => self.take_seat(id, at, logon),
            Err(_) => {
                self.counts.unavailable += 1;
                self.forget_waiting(id);
            }
        }
    }

    fn authentic(&self, logon: &Logon) -> Option<Login> {
        let is_name = (1..=COMP_ID_BYTES_MAX).contains(&logon.sender.len());
        if logon.target != self.settings.comp_id || !is_name {
            return None;
        }
        (self.settings.login)(logon)
    }

    /// The seat of a session, with a connection to the exchange.
    fn seat(&mut self, login: &Login, logon: &Logon) -> io::Result<usize> {
        let name = file_name(&login.account, &logon.sender);
        let at = match self.by_name.get(&name) {
            Some(at) => *at,
            None if self.seats.len() >= SESSIONS_MAX || name.len() > FILE_NAME_BYTES_MAX => {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            None => {
                let path = self.settings.store.join(&name);
                let names = (self.settings.comp_id.as_str(), logon.sender.as_str());
                let shared = (Arc::clone(&self.dictionary), Arc::clone(&self.securities));
                let desk = Desk::open(&login.account, names, shared, &path)?;
                self.seats.push(Seat::new(desk));
                self.by_name.insert(name, self.seats.len() - 1);
                self.seats.len() - 1
            }
        };
        self.seats[at].token.clone_from(&login.token);
        let cancels = logon.cancels_on_disconnect;
        if self.seats[at].link.is_some() {
            self.seats[at].desk.log_on_again(&login.token, cancels);
            return Ok(at);
        }
        // Requests for a connection that is gone.
        self.seats[at].desk.exchange_gone();
        let Self { exchange, streams, .. } = self;
        let purpose = Purpose::Orders { cancels_on_disconnect: cancels };
        let (stream, reader) =
            link::open(exchange.address, &exchange.secure, &login.token, purpose)?;
        let id = streams.add(stream)?;
        self.owners.insert(id, Owner::Exchange(at));
        self.seats[at].link = Some(Link::new(id, reader));
        self.take_replies(at, self.now());
        Ok(at)
    }

    fn take_seat(&mut self, id: StreamId, at: usize, logon: &Logon) {
        let Some(waiting) = self.waiting.remove(&id) else { return };
        self.owners.insert(id, Owner::Client(at));
        let now = self.now();
        let seat = &mut self.seats[at];
        seat.client = Some(Client::new(id));
        seat.desk.cancels_on_disconnect = logon.cancels_on_disconnect;
        self.counts.logons += 1;
        let outcome = seat.desk.connected(now).and_then(|()| seat.desk.client(&waiting.bytes, now));
        self.settle(at, outcome);
    }
}

/// The file of a session's store. Letters and digits stand for themselves.
fn file_name(account: &str, sender: &str) -> String {
    let mut name = String::new();
    for (part, end) in [(account, "@"), (sender, ".fix")] {
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => name.push(char::from(byte)),
                _ => name.push_str(&format!("%{byte:02x}")),
            }
        }
        name.push_str(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a CompID could name any file, or another account's.
    #[test]
    fn names_of_files_are_one_to_one_and_stay_in_their_folder() {
        assert_eq!(file_name("fund_1", "DESK"), "fund_1@DESK.fix");
        assert_eq!(file_name("../../etc", "a/b"), "%2e%2e%2f%2e%2e%2fetc@a%2fb.fix");
        assert_ne!(file_name("a@b", "c"), file_name("a", "b@c"));
    }
}
