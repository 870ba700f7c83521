//! One FIX session without its sockets: bytes of the client in, bytes for the exchange out, and
//! back.

mod codes;
mod fields;
mod market;
mod number;
mod orders;
mod pending;
mod recover;
mod recovery;
mod reply;
mod report;
mod request;
mod requests;
mod state;
mod status;

use crate::link::put_frame;
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::message::Message;
use fix::session::{End, Event, Now, Role, Session, Settings};
use fix::store::FileStore;
pub(crate) use market::securities::Securities;
pub use market::securities::Security;
use market::state::Market;
use orders::Orders;
pub use recovery::PastReport;
use recovery::{Recovery, Remembered};
use request::{Problem, Request};
pub(crate) use state::Desk;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use wire::frame::FrameError;
use wire::reader::{Message as Frame, MessageReader};
use wire::reply::decode_reply;
use wire::request::{MassCancel, encode_authenticate, encode_mass_cancel};

/// The parts that all sessions share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub dictionary: Arc<Dictionary>,
    pub securities: Arc<Securities>,
    /// Whether the exchange has a journal.
    pub has_journal: bool,
}

impl Desk {
    /// The session of `account` between `ours` and `theirs`, with its store in `path`. Orders come
    /// back from the reports that the store still has.
    pub fn open(
        account: &str,
        (ours, theirs): (&str, &str),
        shared: &Shared,
        path: &Path,
    ) -> io::Result<Desk> {
        let Shared { dictionary, securities, has_journal } = shared.clone();
        let (orders, recovery) = (Orders::default(), Recovery::default());
        let mut remembered = Remembered { securities: &securities, orders, recovery };
        let data_of = |tag| dictionary.data_of(tag);
        let store = FileStore::open_with(path, &mut |kept| remembered.take(kept, data_of))?;
        let Remembered { orders, recovery, .. } = remembered;
        let settings = Settings::new(Role::Acceptor, ours, theirs);
        Ok(Desk {
            account: account.to_owned(),
            session: Session::new(settings, dictionary, store),
            pending: VecDeque::new(),
            message: Default::default(),
            executions: 0,
            highest: recovery.highest(),
            recovery: recovery.is_needed(&orders).then(|| Box::new(recovery)),
            orders,
            notes: has_journal,
            note: Vec::new(),
            happened_ns: None,
            securities,
            market: Market::default(),
            to_client: Vec::new(),
            to_exchange: Vec::new(),
            cancels_on_disconnect: false,
        })
    }

    /// Whether it may lack reports of the exchange's journal.
    pub fn may_lack_reports(&self) -> bool {
        self.recovery.is_some()
    }

    /// A client has connected.
    pub fn connected(&mut self, now: Now) -> io::Result<()> {
        self.to_client.clear();
        self.session.connected(now, &mut self.to_client)
    }

    /// Another Logon over the connection to the exchange that is there.
    pub fn log_on_again(&mut self, token: &str, cancels_on_disconnect: bool) {
        let cancels = Some(cancels_on_disconnect);
        put_frame(&mut self.to_exchange, |out| encode_authenticate(out, token, cancels, None));
    }

    /// The connection to the exchange is gone: nobody answers requests that wait, and whether the
    /// exchange took them is unknown.
    pub fn exchange_gone(&mut self) {
        self.pending.clear();
        self.to_exchange.clear();
    }

    /// The client's connection is gone.
    pub fn disconnected(&mut self) {
        self.session.disconnected();
        self.to_client.clear();
        self.market.clear();
        if std::mem::take(&mut self.cancels_on_disconnect) {
            let all = MassCancel::default();
            put_frame(&mut self.to_exchange, |out| encode_mass_cancel(out, &all));
        }
    }

    /// Bytes of the client, or none if only time has passed. `Some` if its connection must end.
    pub fn client(&mut self, mut bytes: &[u8], now: Now) -> io::Result<Option<End>> {
        loop {
            let n = self.session.receive(bytes);
            bytes = &bytes[n..];
            loop {
                match self.session.poll(now, &mut self.to_client)? {
                    None => break,
                    Some(Event::End(why)) => return Ok(Some(why)),
                    Some(Event::Application(message)) => {
                        let (bytes, fields) = &mut self.message;
                        message.bytes().clone_into(bytes);
                        message.fields().clone_into(fields);
                        self.application(now)?;
                    }
                    Some(Event::LoggedOn | Event::Garbled(_)) => {}
                }
            }
            if bytes.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Acts on the client's message.
    fn application(&mut self, now: Now) -> io::Result<()> {
        // A request borrows from it while the desk changes.
        let (bytes, fields) = std::mem::take(&mut self.message);
        let message = Message::new(&bytes, &fields);
        let done = match Request::of(message, &self.account, &self.securities) {
            Ok(request) => self.request(request, now),
            Err(problem) => self.reject(&problem, now),
        };
        self.message = (bytes, fields);
        done
    }

    /// Messages of the exchange that are in the reader.
    ///
    /// # Errors
    /// The store failed, or the exchange closed the connection.
    pub fn exchange(&mut self, reader: &mut MessageReader, now: Now) -> io::Result<()> {
        let framing = |error: FrameError| io::Error::other(error);
        while let Some(received) = reader.next().map_err(framing)? {
            match received.message {
                Frame::Text(text) => {
                    let reply = decode_reply(text).map_err(io::Error::other)?;
                    self.reply(&reply, now)?;
                }
                Frame::Close { .. } => return Err(io::ErrorKind::ConnectionAborted.into()),
                Frame::Binary(_) | Frame::Ping(_) | Frame::Pong(_) => {}
            }
        }
        Ok(())
    }

    /// Sends a Logout, if the client is logged on.
    pub fn log_out(&mut self, text: &str, now: Now) -> io::Result<()> {
        self.session.log_out(text, now, &mut self.to_client)
    }

    /// When [`client`](Desk::client) has something to do although no bytes come, on the steady
    /// clock.
    pub fn poll_at_ns(&self) -> Option<u64> {
        self.session.poll_at_ns()
    }

    fn send(
        &mut self,
        msg_type: &str,
        now: Now,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        self.session.send(msg_type, now, &mut self.to_client, fill).map(drop)
    }

    /// A BusinessMessageReject.
    fn reject(&mut self, problem: &Problem, now: Now) -> io::Result<()> {
        self.send("j", now, |body| {
            if problem.seq > 0 {
                body.number(45, problem.seq);
            }
            body.text(372, &problem.msg_type);
            if let Some(id) = &problem.id {
                body.text(379, id);
            }
            body.number(380, problem.reason).text(58, &problem.text);
        })
    }
}

#[cfg(test)]
mod tests;
