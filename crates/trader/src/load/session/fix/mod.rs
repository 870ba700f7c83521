//! Orders in FIX 4.4, as docs/guide/fix.md defines it: one session for each connection.
//!
//! New orders and cancels are forms that are filled in place, and plain reports are read without a
//! dictionary (`fix::hot`). Everything else goes through the session: logon, heartbeats, test
//! requests, resends, logout.

mod keys;
mod replies;

use self::keys::Keys;
pub use self::keys::KeysError;
use self::replies::Replies;
use crate::load::session::{LoadMessage, OrderProtocol, OrderStanding, ReceivedReply, only_one};
use crate::session::fix::{SessionConnection, Times, initiator, password, whole_or};
use crate::session::form::CLIENT_ID_BYTES;
use crate::session::web::{ClientIds, STEP_PATIENCE, nonce};
use clock::Clock;
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::hot::{Form, Report};
use fix::session::{Event, Session};
use fix::store::MemoryStore;
use plan::process::orders::OrdersPlan;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use transport::Blocking;
use transport::echo::Inbound;
use wire::request::Side;

/// Where a client id has the digit that tells a cancel's own id from its order's.
const CANCEL_AT: usize = 12;

/// MsgType of OrderStatusRequest.
const STATUS_REQUEST: &str = "H";

const CL_ORD_ID: u32 = 11;
const ORDER_QTY: u32 = 38;
const ORD_TYPE: u32 = 40;
const ORIG_CL_ORD_ID: u32 = 41;
const PRICE: u32 = 44;
const SIDE: u32 = 54;
const SYMBOL: u32 = 55;
const TRANSACT_TIME: u32 = 60;

pub(crate) struct Fix {
    times: Times,
    first_token: u64,
    /// In place of tokens.
    keys: Option<Keys>,
    dictionary: Arc<Dictionary>,
    order: OrderFields,
    /// By connection, each of which has the account of the same number.
    lanes: Vec<FixLane>,
    replies: Replies,
}

/// The fields that all orders of the load share.
struct OrderFields {
    instrument: String,
    side: char,
    price: String,
    amount: String,
}

/// One connection and its session.
struct FixLane {
    /// The longest that each step of its set-up takes.
    patience: Duration,
    inbound: Inbound,
    /// Once it has logged on.
    session: Option<LoggedOn>,
}

impl FixLane {
    fn new(patience: Duration) -> FixLane {
        FixLane { patience, inbound: Inbound::default(), session: None }
    }
}

struct LoggedOn {
    session: Session<MemoryStore>,
    order: Form,
    cancel: Form,
}

impl Fix {
    /// # Errors
    /// The load names a file of keys that can't be used.
    pub(crate) fn new(plan: &OrdersPlan, clock: Clock) -> Result<Fix, KeysError> {
        let load = &plan.load;
        let side = match load.parsed_side().expect("the load was checked") {
            Side::Buy => '1',
            Side::Sell => '2',
        };
        let order = OrderFields {
            instrument: load.instrument.clone(),
            side,
            price: load.price.clone(),
            amount: load.amount.clone(),
        };
        let keys = match load.keys.as_str() {
            "" => None,
            file => Some(Keys::read(file, load.accounts)?),
        };
        Ok(Fix {
            times: Times::new(clock),
            first_token: load.first_token,
            keys,
            dictionary: Arc::new(Dictionary::tickpath()),
            order,
            lanes: (0..load.connections).map(|_| FixLane::new(STEP_PATIENCE)).collect(),
            replies: Replies { client_ids: ClientIds::new(nonce()), complaint: None },
        })
    }

    /// A session of its own for each account, whose numbers begin with 1 in each run.
    fn session(&self, account: usize) -> Session<MemoryStore> {
        let (name, proof) = match &self.keys {
            Some(keys) => keys.of(account),
            None => {
                let token = (self.first_token + account as u64).to_string();
                let proof = password(&token);
                (token, proof)
            }
        };
        initiator(&format!("TRADER-{name}"), proof, Arc::clone(&self.dictionary))
    }
}

impl OrderProtocol for Fix {
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        accounts: &[usize],
    ) -> io::Result<()> {
        let account = only_one(accounts, "FIX")?;
        let mut session = self.session(account);
        let times = self.times;
        let lane = &mut self.lanes[lane];
        lane.inbound.reset();
        let FixLane { inbound, patience, .. } = lane;
        SessionConnection { session: &mut session, inbound, stream, times, patience: *patience }
            .log_on()?;
        let (order, cancel) = forms(&session, &self.order);
        lane.session = Some(LoggedOn { session, order, cancel });
        Ok(())
    }

    fn renew(&mut self, lane: usize, _target: &str, patience: Duration) {
        self.lanes[lane] = FixLane::new(patience);
    }

    fn standings(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        orders: &[(u64, usize)],
    ) -> io::Result<Vec<OrderStanding>> {
        let FixLane { inbound, session, patience } = &mut self.lanes[lane];
        let Some(LoggedOn { session, .. }) = session else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let (times, patience) = (self.times, *patience);
        let mut line = SessionConnection { session, inbound, stream, times, patience };
        for &(number, _) in orders {
            let client_id = self.replies.client_ids.text(number);
            line.send(STATUS_REQUEST, |body| {
                body.text(CL_ORD_ID, client_id);
                body.text(SYMBOL, &self.order.instrument).char(SIDE, self.order.side);
            })?;
        }
        orders.iter().map(|_| line.wait_for("OrderStatusRequest", replies::standing)).collect()
    }

    #[inline]
    fn encode(&mut self, message: LoadMessage, number: u64, account: usize, out: &mut Vec<u8>) {
        let now = self.times.now();
        let Some(lane) = &mut self.lanes[account].session else { return };
        // A store in memory does not fail.
        let Ok(seq) = lane.session.sent_hot(now.steady_ns) else { return };
        let id = self.replies.client_ids.of(number);
        match message {
            LoadMessage::Order => lane.order.fill(out, seq, now.utc_ns, &[id]),
            LoadMessage::Cancel => {
                lane.cancel.fill(out, seq, now.utc_ns, &[id, &cancel_id(id)]);
            }
        }
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].inbound.space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].inbound.filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String> {
        let times = self.times;
        let FixLane { inbound, session, .. } = &mut self.lanes[lane];
        let mut is_garbled = false;
        let whole = |bytes: &[u8]| {
            whole_or(bytes, |length, _| {
                is_garbled = true;
                Ok(length)
            })
        };
        let Some((message, first_byte_ns)) = inbound.take_by(whole)? else { return Ok(None) };
        let Some(LoggedOn { session, .. }) = session else { return Ok(None) };
        let bytes = message.len();
        // A garbled message may have a plain header: the session skips it, and asks for it again.
        if !is_garbled
            && let Some(report) = Report::of(message)
            && session.take_hot(&report.header, first_byte_ns).map_err(|error| error.to_string())?
        {
            let reply = self.replies.meaning(&report);
            return Ok(Some(ReceivedReply { reply, first_byte_ns, bytes }));
        }
        let reply = self.replies.through_session(session, message, times.now(), out)?;
        Ok(Some(ReceivedReply { reply, first_byte_ns, bytes }))
    }

    fn keep_alive(&mut self, lane: usize, now_ns: u64, out: &mut Vec<u8>) -> Result<(), String> {
        let now = self.times.at(now_ns);
        let Some(LoggedOn { session, .. }) = &mut self.lanes[lane].session else { return Ok(()) };
        match session.poll(now, out).map_err(|error| error.to_string())? {
            Some(Event::End(why)) => Err(format!("the session of FIX has ended: {why}")),
            _ => Ok(()),
        }
    }

    fn log_off(&mut self, lane: usize, now_ns: u64, out: &mut Vec<u8>) {
        let now = self.times.at(now_ns);
        if let Some(LoggedOn { session, .. }) = &mut self.lanes[lane].session {
            // A store in memory does not fail.
            let _ = session.log_out("", now, out);
        }
    }

    fn first_complaint(&self) -> Option<&str> {
        self.replies.complaint.as_deref()
    }
}

/// The id of a cancel: that of its order with another digit, so that it is new and as long.
fn cancel_id(order: &[u8; CLIENT_ID_BYTES]) -> [u8; CLIENT_ID_BYTES] {
    let mut id = *order;
    id[CANCEL_AT] = b'c';
    id
}

/// A new order and a cancel without their numbers, times and ids.
fn forms(session: &Session<MemoryStore>, order: &OrderFields) -> (Form, Form) {
    let nobody = "0".repeat(CLIENT_ID_BYTES);
    let shared = |body: &mut Body<'_>| {
        body.text(SYMBOL, &order.instrument).char(SIDE, order.side).time(TRANSACT_TIME, 0);
    };
    let new_order = session.form("D", &[CL_ORD_ID], |body| {
        body.text(CL_ORD_ID, &nobody);
        shared(body);
        body.text(ORDER_QTY, &order.amount).char(ORD_TYPE, '2').text(PRICE, &order.price);
    });
    let cancel = session.form("F", &[ORIG_CL_ORD_ID, CL_ORD_ID], |body| {
        body.text(ORIG_CL_ORD_ID, &nobody).text(CL_ORD_ID, &nobody);
        shared(body);
    });
    let whole = "its fields were just written";
    (new_order.expect(whole), cancel.expect(whole))
}

#[cfg(test)]
mod tests;
