//! Orders in SBE, as docs/internals/sbe.md defines them: one session for each connection.

use crate::load::session::{
    LoadMessage, OrderProtocol, OrderStanding, ReceivedReply, Reply, only_one,
};
use crate::session::form::{CLIENT_ID_BYTES, Form};
use crate::session::web::{ClientIds, STEP_PATIENCE, nonce, read, wait_at_most};
use clock::Deadline;
use plan::process::orders::OrdersPlan;
use std::io;
use std::time::Duration;
use transport::Blocking;
use transport::echo::Inbound;
use wire::Decimal;
use wire::client_id::ClientId;
use wire::reply::{self, DoneStatus};
use wire::request::CreateOrder;
use wire::sbe::client::{
    Logon, encode_cancel_order, encode_heartbeat, encode_logon, encode_new_order,
    encode_status_request,
};
use wire::sbe::exchange::{ExchangeMessage, Names, decode_exchange};
use wire::sbe::{FRAME_HEAD_BYTES, MESSAGE_HEAD_BYTES, split};

/// Position of a request's number in its frame: the first field.
const SEQUENCE_AT: usize = FRAME_HEAD_BYTES + MESSAGE_HEAD_BYTES;
/// Position of the client id: the second.
const CLIENT_ID_AT: usize = SEQUENCE_AT + size_of::<u64>();

pub(crate) struct Sbe {
    first_token: u64,
    /// By connection, each of which has the account of the same number.
    lanes: Vec<SbeLane>,
    /// The order without its id.
    order: CreateOrder<'static>,
    replies: Replies,
}

/// One connection and its session.
struct SbeLane {
    /// The longest that each step of its set-up takes.
    patience: Duration,
    inbound: Inbound,
    /// Codes of the instruments by number.
    codes: Vec<String>,
    /// The last request's number.
    sent: u64,
    /// The same when `keep_alive` last looked, and since when nothing was sent, ns.
    pause: (u64, Option<u64>),
    /// The longest silence that the exchange accepts, ns; 0: any.
    silence_ns_max: u64,
    /// The messages without number and client id.
    order: Vec<u8>,
    cancel: Vec<u8>,
}

/// The meaning of reports, for all connections.
struct Replies {
    client_ids: ClientIds,
    /// The first rejection or unexpected message, in words.
    complaint: Option<String>,
}

impl Sbe {
    pub(crate) fn new(plan: &OrdersPlan) -> Sbe {
        let load = &plan.load;
        let decimal = |text| Decimal::parse(text).expect("the load was checked");
        let side = load.parsed_side().expect("the load was checked");
        let (price, amount) = (decimal(&load.price), decimal(&load.amount));
        let nobody = Form::client_id();
        let order = CreateOrder::limit(load.instrument.clone(), nobody, side, price, amount);
        Sbe {
            first_token: load.first_token,
            lanes: (0..load.connections).map(|_| SbeLane::new(STEP_PATIENCE)).collect(),
            order,
            replies: Replies { client_ids: ClientIds::new(nonce()), complaint: None },
        }
    }
}

impl OrderProtocol for Sbe {
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        accounts: &[usize],
    ) -> io::Result<()> {
        let account = only_one(accounts, "SBE")?;
        let lane = &mut self.lanes[lane];
        lane.log_on(stream, &(self.first_token + account as u64).to_string())?;
        let code = &self.order.instrument_code;
        let number = lane.codes.iter().position(|one| one == code).ok_or_else(|| {
            let there_are = lane.codes.join(", ");
            io::Error::other(format!("the exchange has no instrument {code}; it has {there_are}"))
        })?;
        encode_new_order(&mut lane.order, 0, number as u16, &self.order);
        encode_cancel_order(&mut lane.cancel, 0, number as u16, &self.order.client_id);
        Ok(())
    }

    fn renew(&mut self, lane: usize, _target: &str, patience: Duration) {
        self.lanes[lane] = SbeLane::new(patience);
    }

    fn standings(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        orders: &[(u64, usize)],
    ) -> io::Result<Vec<OrderStanding>> {
        let lane = &mut self.lanes[lane];
        let mut out = Vec::new();
        for &(number, _) in orders {
            let client_ids = &mut self.replies.client_ids;
            let client_id = ClientId::new(client_ids.text(number)).map_err(io::Error::other)?;
            lane.sent += 1;
            encode_status_request(&mut out, lane.sent, &client_id);
        }
        stream.write_all(&out)?;
        lane.standings(stream, orders.len())
    }

    #[inline]
    fn encode(&mut self, message: LoadMessage, number: u64, account: usize, out: &mut Vec<u8>) {
        let lane = &mut self.lanes[account];
        lane.sent += 1;
        let start = out.len();
        out.extend_from_slice(match message {
            LoadMessage::Order => &lane.order,
            LoadMessage::Cancel => &lane.cancel,
        });
        let frame = &mut out[start..];
        frame[SEQUENCE_AT..CLIENT_ID_AT].copy_from_slice(&lane.sent.to_le_bytes());
        let client_id = self.replies.client_ids.of(number);
        frame[CLIENT_ID_AT..CLIENT_ID_AT + CLIENT_ID_BYTES].copy_from_slice(client_id);
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].inbound.space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].inbound.filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, lane: usize, _: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String> {
        let SbeLane { inbound, codes, .. } = &mut self.lanes[lane];
        let taken = inbound.take_by(whole).map_err(|fault| fault.to_string())?;
        let Some((frame, first_byte_ns)) = taken else { return Ok(None) };
        // Reports name the account; the load doesn't look at it.
        let names = Names { codes, account: "" };
        let reply = match decode_exchange(&frame[FRAME_HEAD_BYTES..], names) {
            Ok(ExchangeMessage::Report { reply, .. }) => self.replies.meaning(&reply),
            Ok(ExchangeMessage::Heartbeat { .. }) => Reply::Aside,
            Ok(ExchangeMessage::Terminate { reason }) => {
                return Err(format!("the exchange ended the connection: {reason}"));
            }
            Ok(other) => self.replies.complain(format!("{other:?}")),
            Err(error) => return Err(error.to_string()),
        };
        Ok(Some(ReceivedReply { reply, first_byte_ns, bytes: frame.len() }))
    }

    fn keep_alive(&mut self, lane: usize, now_ns: u64, out: &mut Vec<u8>) -> Result<(), String> {
        let lane = &mut self.lanes[lane];
        match lane.pause {
            (sent, Some(since_ns)) if sent == lane.sent => {
                let is_long = now_ns.saturating_sub(since_ns) >= lane.silence_ns_max / 2;
                if is_long && lane.silence_ns_max > 0 {
                    encode_heartbeat(out, lane.sent + 1);
                    lane.pause.1 = Some(now_ns);
                }
            }
            _ => lane.pause = (lane.sent, Some(now_ns)),
        }
        Ok(())
    }

    fn first_complaint(&self) -> Option<&str> {
        self.replies.complaint.as_deref()
    }
}

fn ended(reason: &str) -> io::Error {
    io::Error::other(format!("the exchange says: {reason}"))
}

/// The length of the first frame, once it is whole.
fn whole(bytes: &[u8]) -> Result<Option<usize>, wire::sbe::FrameFault> {
    Ok(split(bytes)?.map(|(_, frame_bytes)| frame_bytes))
}

impl SbeLane {
    fn new(patience: Duration) -> SbeLane {
        SbeLane {
            patience,
            inbound: Inbound::default(),
            codes: Vec::new(),
            sent: 0,
            pause: (0, None),
            silence_ns_max: 0,
            order: Vec::new(),
            cancel: Vec::new(),
        }
    }

    /// Reads what has come, once something has.
    fn read(&mut self, stream: &mut dyn Blocking, deadline: Deadline) -> io::Result<()> {
        wait_at_most(stream, deadline)?;
        match read(stream, self.inbound.space())? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                self.inbound.filled(n, 0);
                Ok(())
            }
        }
    }

    /// Waits for the answers to that many questions, which come in their order.
    fn standings(
        &mut self,
        stream: &mut dyn Blocking,
        count: usize,
    ) -> io::Result<Vec<OrderStanding>> {
        let deadline = Deadline::after(self.patience);
        let mut standings = Vec::new();
        while standings.len() < count {
            let taken = self.inbound.take_by(whole).map_err(io::Error::other)?;
            let Some((frame, _)) = taken else {
                self.read(stream, deadline)?;
                continue;
            };
            let names = Names { codes: &self.codes, account: "" };
            let message = decode_exchange(&frame[FRAME_HEAD_BYTES..], names);
            match message.map_err(io::Error::other)? {
                ExchangeMessage::Status { .. } => standings.push(OrderStanding::Open),
                ExchangeMessage::Report { reply, .. } => {
                    standings.extend(OrderStanding::of(&reply))
                }
                ExchangeMessage::Terminate { reason } => return Err(ended(reason)),
                _ => {}
            }
        }
        Ok(standings)
    }

    /// Begins a session, and learns the instruments.
    fn log_on(&mut self, stream: &mut dyn Blocking, token: &str) -> io::Result<()> {
        let (mut out, cancel_on_disconnect) = (Vec::new(), false);
        let logon = Logon { session: 0, last_sequence: 0, cancel_on_disconnect, token };
        encode_logon(&mut out, &logon);
        stream.write_all(&out)?;
        let deadline = Deadline::after(self.patience);
        let mut instruments = None;
        while instruments != Some(self.codes.len()) {
            let taken = self.inbound.take_by(whole).map_err(io::Error::other)?;
            let Some((frame, _)) = taken else {
                self.read(stream, deadline)?;
                continue;
            };
            let names = Names { codes: &[], account: token };
            let message = decode_exchange(&frame[FRAME_HEAD_BYTES..], names);
            match message.map_err(io::Error::other)? {
                ExchangeMessage::LogonAccepted(accepted) => {
                    instruments = Some(usize::from(accepted.instruments));
                    self.silence_ns_max = u64::from(accepted.heartbeat_ms) * 1_000_000;
                }
                ExchangeMessage::Instrument(one) => self.codes.push(one.code.to_owned()),
                ExchangeMessage::Terminate { reason } => {
                    return Err(ended(reason));
                }
                other => return Err(io::Error::other(format!("{other:?} answers the logon"))),
            }
        }
        Ok(())
    }
}

impl Replies {
    /// An order of a load rests until its cancel: anything else is unexpected.
    #[inline]
    fn meaning(&mut self, reply: &reply::Reply<'_>) -> Reply {
        let (client_id, which) = match reply {
            reply::Reply::Booked(booked) => (&booked.client_id, Some(LoadMessage::Order)),
            reply::Reply::Done(done) if done.status == DoneStatus::Cancelled => {
                (&done.client_id, Some(LoadMessage::Cancel))
            }
            reply::Reply::Rejected(rejected) => {
                self.complaint.get_or_insert_with(|| format!("rejected: {}", rejected.reason));
                (&rejected.client_id, None)
            }
            other => return self.complain(format!("{other:?}")),
        };
        match (self.client_ids.number(client_id.as_bytes()), which) {
            (Some(number), Some(which)) => Reply::Ack(which, number),
            (Some(number), None) => Reply::Rejected(number),
            (None, _) => {
                self.complain(format!("a reply about {client_id}, which is not an order of ours"))
            }
        }
    }

    #[cold]
    fn complain(&mut self, what: String) -> Reply {
        self.complaint.get_or_insert(what);
        Reply::Unexpected
    }
}
