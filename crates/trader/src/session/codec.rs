//! Decodes what an exchange sends, for loads and tick traders alike: WebSocket messages become
//! replies about our own orders.

use crate::session::web::{ClientIds, WebSession};
use wire::Decimal;
use wire::administration::{Description, FlowEnded, Notice, decode_notice};
use wire::frame::{Opcode, write_frame};
use wire::reader;
use wire::reply::{self, DoneStatus, Stamps, decode_stamped_reply};

/// A change of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderEvent {
    /// It rests.
    Booked {
        /// Its number at the exchange, as on the feed; 0 if the exchange's numbers are no numbers.
        order_id: u64,
    },
    /// It has another price or quantity.
    Amended,
    /// Some of it traded.
    Filled {
        /// At which price, ticks.
        price_ticks: i64,
        /// How much, lots.
        quantity_lots: u64,
        /// The trade.
        trade_id: u64,
    },
    /// It is no longer open.
    Done(DoneStatus),
    /// The exchange rejected the last request about it.
    Rejected,
}

/// The exchange's report about one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExecutionReport {
    /// The order.
    pub(crate) number: u64,
    pub(crate) event: OrderEvent,
    /// The exchange's stamps, on a report that answers a message of ours.
    pub(crate) stamps: Option<Stamps>,
}

/// A message from the exchange.
#[derive(Debug)]
pub(crate) enum Reply {
    /// About an order of ours.
    Execution(ExecutionReport),
    /// The flow is under way.
    FlowStarted,
    /// The flow is over.
    FlowEnded(FlowEnded),
    /// The exchange rejects our request for a replay or a snapshot.
    FeedRejected,
    /// The exchange describes itself.
    Description(Box<Description>),
    /// Nothing to act on: a ping, a subscription.
    Aside,
    /// Nobody asked for it.
    Unexpected,
}

/// A reply with its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedReply<R> {
    /// The reply.
    pub reply: R,
    /// The stamp of the read that brought its first byte, ns.
    pub first_byte_ns: u64,
    /// Its length on the stream.
    pub bytes: usize,
}

/// The decoder of a run, for all of its connections.
pub(crate) struct Codec {
    pub(crate) client_ids: ClientIds,
    /// The value of a tick, and the size of a lot. Without them fills are unexpected.
    pub(crate) units: Option<(Decimal, Decimal)>,
    /// The first rejection or unexpected message, in words.
    pub(crate) complaint: Option<String>,
}

impl Codec {
    pub(crate) fn new(nonce: u32) -> Codec {
        Codec { client_ids: ClientIds::new(nonce), units: None, complaint: None }
    }

    /// The next complete message of `session`. A pong is appended to `out`.
    ///
    /// # Errors
    /// If the stream can't be decoded any more, in words.
    #[inline]
    pub(crate) fn next(
        &mut self,
        session: &mut WebSession,
        out: &mut Vec<u8>,
    ) -> Result<Option<StampedReply<Reply>>, String> {
        let WebSession { reader, masks, .. } = session;
        let received = reader.next().map_err(|error| error.to_string())?;
        let Some(reader::ReadOutcome { message, first_byte_ns }) = received else {
            return Ok(None);
        };
        let (reply, payload_bytes) = match message {
            reader::Message::Text(text) => (self.decode(text)?, text.len()),
            reader::Message::Ping(payload) => {
                write_frame(out, true, Opcode::Pong, Some(masks.next()), payload);
                (Reply::Aside, payload.len())
            }
            reader::Message::Pong(payload) => (Reply::Aside, payload.len()),
            reader::Message::Binary(payload) => {
                (self.complain("a binary message".to_owned()), payload.len())
            }
            reader::Message::Close { code, reason } => {
                let reason = String::from_utf8_lossy(reason);
                return Err(format!("the exchange closed it ({code:?}): {reason}"));
            }
        };
        // A server's frame header has 2 bytes, or 4 from 126 bytes on.
        let bytes = payload_bytes + if payload_bytes < 126 { 2 } else { 4 };
        Ok(Some(StampedReply { reply, first_byte_ns, bytes }))
    }

    #[inline]
    pub(crate) fn decode(&mut self, text: &[u8]) -> Result<Reply, String> {
        let (reply, stamps) = decode_stamped_reply(text).map_err(|error| error.to_string())?;
        let (client_id, event) = match &reply {
            reply::Reply::Booked(booked) => {
                let order_id = booked.order_id.to_u64().unwrap_or(0);
                (&booked.client_id, OrderEvent::Booked { order_id })
            }
            reply::Reply::Done(done) => (&done.client_id, OrderEvent::Done(done.status)),
            reply::Reply::Amended(amended) => (&amended.client_id, OrderEvent::Amended),
            reply::Reply::Fill(fill) => {
                let Some((tick, lot)) = self.units else { return Ok(self.other(&reply, text)) };
                let price = fill.price.in_units_of(tick);
                let amount = fill.amount.in_units_of(lot).ok().and_then(|n| u64::try_from(n).ok());
                let (Ok(price_ticks), Some(quantity_lots)) = (price, amount) else {
                    return Err(format!(
                        "a fill of {} at {} is in no ticks and lots",
                        fill.amount, fill.price
                    ));
                };
                let trade_id = fill.trade_id.cast_unsigned();
                (&fill.client_id, OrderEvent::Filled { price_ticks, quantity_lots, trade_id })
            }
            reply::Reply::Rejected(rejected) => {
                self.complaint.get_or_insert_with(|| format!("rejected: {}", rejected.reason));
                (&rejected.client_id, OrderEvent::Rejected)
            }
            _ => return Ok(self.other(&reply, text)),
        };
        Ok(match self.client_ids.number(client_id.as_bytes()) {
            Some(number) => Reply::Execution(ExecutionReport { number, event, stamps }),
            None => {
                let stranger = client_id.as_str();
                self.complain(format!("a reply about {stranger}, which is not an order of ours"))
            }
        })
    }

    #[cold]
    fn other(&mut self, reply: &reply::Reply<'_>, text: &[u8]) -> Reply {
        match reply {
            reply::Reply::Authenticated | reply::Reply::Subscriptions(_) => return Reply::Aside,
            reply::Reply::Other { .. } => {}
            reply => return self.complain(format!("{reply:?}")),
        }
        match decode_notice(text) {
            Ok(Notice::FlowStarted) => Reply::FlowStarted,
            Ok(Notice::FlowEnded(ended)) => Reply::FlowEnded(ended),
            Ok(Notice::FeedRejected { .. }) => Reply::FeedRejected,
            Ok(Notice::Description(description)) => Reply::Description(description),
            Err(_) => self.complain(format!("{reply:?}")),
        }
    }

    #[cold]
    pub(crate) fn complain(&mut self, what: String) -> Reply {
        self.complaint.get_or_insert(what);
        Reply::Unexpected
    }
}
