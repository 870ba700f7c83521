//! From a Logon to its session.

use super::links::User;
use super::seat::{Client, OrdersLink, Seat};
use super::{COMP_ID_BYTES_MAX, Door, LOGON_BYTES_MAX, Login, Owner};
use crate::link::{Link, Purpose};
use crate::sessions::{SESSIONS_MAX, file_name};
use fix::session::{Logon, logon_of};
use std::io;
use transport::{StreamId, StreamRead};

impl Door {
    pub(super) fn read_logon(&mut self, id: StreamId) {
        // The rest waits in the socket until the client has its seat.
        let Some(waiting) = self.waiting.get_mut(&id).filter(|one| one.takes.is_none()) else {
            return;
        };
        let read = self.clients.read(id, &mut self.buffer);
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
            Ok(at) if self.seats[at].is_taken() => {
                self.counts.duplicate_logons += 1;
                self.forget_waiting(id);
            }
            Ok(at) => self.connect(id, at, &login, logon.cancels_on_disconnect),
            Err(error) => {
                self.counts.failed(&error);
                self.forget_waiting(id);
            }
        }
    }

    fn authentic(&self, logon: &Logon) -> Option<Login> {
        let is_name = (1..=COMP_ID_BYTES_MAX).contains(&logon.sender.len());
        if logon.target != self.settings.sessions.comp_id() || !is_name {
            return None;
        }
        (self.settings.login)(logon)
    }

    /// The seat of a session.
    fn seat(&mut self, login: &Login, logon: &Logon) -> io::Result<usize> {
        let name = file_name(&login.account, &logon.sender);
        if let Some(at) = self.by_name.get(&name) {
            return Ok(*at);
        }
        if self.seats.len() >= SESSIONS_MAX {
            let why = format!("{name}: more than {SESSIONS_MAX} sessions");
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, why));
        }
        let desk = self.settings.sessions.desk(&login.account, &logon.sender)?;
        self.seats.push(Seat::new(desk));
        self.by_name.insert(name, self.seats.len() - 1);
        Ok(self.seats.len() - 1)
    }

    /// Takes over the sessions that may get reports before their clients log on: connections to the
    /// exchange keep those reports. Without a token an account can't log on, and gets none.
    pub(super) fn seat_stored(&mut self) {
        for mut stored in std::mem::take(&mut self.settings.sessions.stored) {
            let token = (self.settings.token)(&stored.account);
            let at = self.seats.len();
            let has_orders = stored.desk.has_open_orders();
            if has_orders && token.is_some() {
                stored.desk.take_orders();
            }
            let mut seat = Seat::new(stored.desk);
            if let Some(token) = token.filter(|_| has_orders) {
                let link = Link::new(&token, Purpose::AbsentOrders);
                let place = self.links.open(User::Orders(at));
                seat.link = Some(OrdersLink { place, link });
                seat.token = token;
            }
            self.seats.push(seat);
            self.by_name.insert(stored.name, at);
        }
    }

    /// A client waits for the seat until the exchange has logged the session on. A connection to
    /// the exchange that is there already is used.
    fn connect(&mut self, id: StreamId, at: usize, login: &Login, cancels_on_disconnect: bool) {
        let seat = &mut self.seats[at];
        seat.read_ns = self.clock.now_ns();
        seat.token.clone_from(&login.token);
        seat.cancels_next = cancels_on_disconnect;
        if seat.link.is_some() {
            seat.desk.log_on_again(&login.token, cancels_on_disconnect);
            return self.take_seat(id, at);
        }
        // Requests for a connection that is gone.
        seat.desk.exchange_gone();
        let link = Link::new(&login.token, Purpose::Orders { cancels_on_disconnect });
        let place = self.links.open(User::Orders(at));
        seat.link = Some(OrdersLink { place, link });
        seat.awaited_by = Some(id);
        if let Some(waiting) = self.waiting.get_mut(&id) {
            waiting.takes = Some(at);
        }
        // Else a backend that sleeps would be told of its bytes again and again.
        if self.clients.watch_readable(id, false).is_err() {
            self.forget_waiting(id);
        }
    }

    /// The exchange has logged the session on.
    pub(super) fn seat_is_open(&mut self, at: usize) {
        let Some(id) = self.seats[at].awaited_by.take() else { return };
        match self.clients.watch_readable(id, true) {
            Ok(()) => self.take_seat(id, at),
            Err(_) => self.forget_waiting(id),
        }
    }

    fn take_seat(&mut self, id: StreamId, at: usize) {
        let Some(waiting) = self.waiting.remove(&id) else { return };
        self.owners.insert(id, Owner::Client(at));
        let now = self.now();
        let seat = &mut self.seats[at];
        seat.client = Some(Client::new(id));
        seat.desk.cancels_on_disconnect = seat.cancels_next;
        self.counts.logons += 1;
        let outcome = seat.desk.connected(now).and_then(|()| seat.desk.client(&waiting.bytes, now));
        self.settle(at, outcome);
    }
}
