//! The exchange's own line: JSON in WebSocket text frames.

use crate::form::{Blanks, Form};
use crate::line::{Answer, Ask, Heard, Line, News, Reply};
use crate::signal::Wish;
use crate::web_session::{ClientIds, Session, nonce};
use feed::Want;
use std::borrow::Cow;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use wire::Decimal;
use wire::administration::{Description, Notice, decode_notice};
use wire::frame::{Opcode, write_frame, write_frame_with};
use wire::reader;
use wire::reply::{self, DoneStatus, FeedSubscription, Stamps, decode_stamped_reply};
use wire::request::{
    self, AmendOrder, CancelOrder, Channel, CreateOrder, Depth, PostOnly, TimeInForce,
    encode_amend_order, encode_authenticate, encode_cancel_order, encode_create_order,
    encode_describe, encode_feed_replay, encode_feed_snapshot, encode_start_flow, encode_subscribe,
};

/// One logged-on connection.
pub(crate) struct ExchangeLine {
    session: Session,
    dialect: Dialect,
}

/// What is said, and what is understood.
struct Dialect {
    client_ids: ClientIds,
    forms: Arc<Forms>,
    /// A tick's worth, and a lot's size.
    units: (Decimal, Decimal),
    complaint: Option<String>,
}

impl ExchangeLine {
    /// To `HOST:PORT`, for orders of that instrument.
    pub(crate) fn new(target: &str, instrument: &str) -> ExchangeLine {
        ExchangeLine::with(target, Arc::new(Forms::new(instrument)))
    }

    fn with(target: &str, forms: Arc<Forms>) -> ExchangeLine {
        let nonce = nonce();
        let (client_ids, units) = (ClientIds::new(nonce), (Decimal::ZERO, Decimal::ZERO));
        ExchangeLine {
            session: Session::new(target, nonce.into()),
            dialect: Dialect { client_ids, forms, units, complaint: None },
        }
    }

    /// A line to nowhere that says the same by the same forms, which stay near while it does.
    pub(crate) fn twin(&self) -> ExchangeLine {
        let line = ExchangeLine::with("nowhere:0", self.dialect.forms.clone());
        ExchangeLine { dialect: Dialect { units: self.dialect.units, ..line.dialect }, ..line }
    }

    /// What prices and amounts are counted in: known from the feed.
    pub(crate) fn count_in(&mut self, tick: Decimal, lot: Decimal) {
        self.dialect.units = (tick, lot);
    }

    /// Makes a fresh connection ready to trade; replies are to have stamps. However it ends, what is open is cancelled.
    pub(crate) fn log_on(&mut self, stream: &mut TcpStream, token: u64) -> io::Result<()> {
        let session = &mut self.session;
        session.upgrade(stream)?;
        let token = token.to_string();
        session.say(stream, |out| encode_authenticate(out, &token, Some(true), Some(true)))?;
        session.hear(stream, |reply, _| matches!(reply, reply::Reply::Authenticated).then_some(()))
    }

    /// What the exchange says of itself.
    pub(crate) fn describe(&mut self, stream: &mut TcpStream) -> io::Result<Box<Description>> {
        self.session.say(stream, encode_describe)?;
        self.session.hear(stream, |_, text| match decode_notice(text) {
            Ok(Notice::Description(description)) => Some(description),
            _ => None,
        })
    }

    /// Asks for reports of orders, and for the feed: to this address, or to the exchange's group.
    pub(crate) fn subscribe(
        &mut self,
        stream: &mut TcpStream,
        address: Option<SocketAddr>,
    ) -> io::Result<FeedSubscription> {
        let depth = Some(Depth::Orders);
        let feed = Channel { address, depth, ..Channel::named("FEED") };
        let channels = [Channel::named("ORDERS"), feed];
        self.session.say(stream, |out| encode_subscribe(out, &channels))?;
        let feed = self.session.hear(stream, |reply, _| match reply {
            reply::Reply::Subscriptions(subscriptions) => {
                Some(subscriptions.channels.iter().find_map(|channel| match channel {
                    reply::Subscription::Feed(feed) => Some(*feed),
                    _ => None,
                }))
            }
            _ => None,
        })?;
        let none = "it has no feed; start it with --feed unicast, or a multicast group";
        feed.ok_or_else(|| io::Error::other(none))
    }

    /// Asks on a connection that still blocks.
    pub(crate) fn want(&mut self, stream: &mut TcpStream, want: Want) -> io::Result<()> {
        self.session.say(stream, |out| encode_want(want, out))
    }
}

/// All that can be wished of one instrument.
struct Forms {
    /// By side, and whether it is to rest.
    enter: [[Form; 2]; 2],
    amend: Form,
    cancel: Form,
}

impl Forms {
    fn new(instrument: &str) -> Forms {
        let instrument_code = Cow::Borrowed(instrument);
        let enter = |side, to_rest| {
            let (time_in_force, post_only) = match to_rest {
                true => (TimeInForce::GoodTillCancelled, Some(PostOnly::Reject)),
                false => (TimeInForce::ImmediateOrCancelled, None),
            };
            Form::new(|out, Blanks { client_id, price, amount }| {
                let order = CreateOrder::limit(instrument, client_id, side, price, amount);
                encode_create_order(out, &CreateOrder { time_in_force, post_only, ..order });
            })
        };
        Forms {
            // As the engine counts sides.
            enter: [request::Side::Buy, request::Side::Sell]
                .map(|side| [enter(side, false), enter(side, true)]),
            amend: Form::new(|out, Blanks { client_id, price, amount }| {
                let (price, instrument_code) = (Some(price), instrument_code.clone());
                let (new_client_id, account_id) = (None, None);
                let amend = AmendOrder {
                    client_id,
                    new_client_id,
                    instrument_code,
                    price,
                    amount,
                    account_id,
                };
                encode_amend_order(out, &amend);
            }),
            cancel: Form::new(|out, Blanks { client_id, .. }| {
                let instrument_code = instrument_code.clone();
                encode_cancel_order(
                    out,
                    &CancelOrder { client_id, instrument_code, account_id: None },
                );
            }),
        }
    }
}

impl Dialect {
    #[inline]
    fn say(&mut self, wish: &Wish, number: u64, mask: [u8; 4], out: &mut Vec<u8>) {
        let (tick, lot) = self.units;
        let terms = |price_ticks, lots: u64| [(price_ticks, tick), (lots.cast_signed(), lot)];
        let client_id = self.client_ids.of(number);
        let forms = &self.forms;
        write_frame_with(out, Opcode::Text, Some(mask), |out| match *wish {
            Wish::Enter { side, price_ticks, quantity_lots, to_rest } => {
                let form = &forms.enter[side as usize][usize::from(to_rest)];
                form.fill(out, client_id, &terms(price_ticks, quantity_lots));
            }
            Wish::Move { price_ticks, quantity_lots, .. } => {
                forms.amend.fill(out, client_id, &terms(price_ticks, quantity_lots));
            }
            Wish::End { .. } => forms.cancel.fill(out, client_id, &[]),
        });
    }

    #[inline]
    fn understand(&mut self, text: &[u8]) -> Result<Heard, String> {
        let (reply, stamps) = decode_stamped_reply(text).map_err(|error| error.to_string())?;
        let (client_id, news) = match &reply {
            reply::Reply::Booked(booked) => {
                let order_id = booked.order_id.to_u64().unwrap_or(0);
                (&booked.client_id, News::Booked { order_id })
            }
            reply::Reply::Done(done) => {
                (&done.client_id, News::Ended { filled: done.status == DoneStatus::Filled })
            }
            reply::Reply::Amended(amended) => (&amended.client_id, News::Moved),
            reply::Reply::Fill(fill) => {
                let (tick, lot) = self.units;
                let price = fill.price.in_units_of(tick);
                let amount = fill.amount.in_units_of(lot).ok().and_then(|n| u64::try_from(n).ok());
                let (Ok(price_ticks), Some(quantity_lots)) = (price, amount) else {
                    return Err(format!(
                        "a fill of {} at {} is in no ticks and lots",
                        fill.amount, fill.price
                    ));
                };
                let trade_id = fill.trade_id.cast_unsigned();
                (&fill.client_id, News::Filled { price_ticks, quantity_lots, trade_id })
            }
            reply::Reply::Rejected(rejected) => {
                self.complaint.get_or_insert_with(|| format!("rejected: {}", rejected.reason));
                (&rejected.client_id, News::Refused)
            }
            _ => return Ok(self.other(&reply, text)),
        };
        Ok(self.answer(client_id, news, stamps))
    }

    #[inline]
    fn answer(&mut self, client_id: &wire::ClientId, news: News, stamps: Option<Stamps>) -> Heard {
        match self.client_ids.number(client_id) {
            Some(number) => Heard::Answer(Answer { number, news, stamps }),
            None => {
                let stranger = client_id.as_str();
                self.complain(format!("a reply about {stranger}, which is not an order of ours"))
            }
        }
    }

    #[cold]
    fn other(&mut self, reply: &reply::Reply<'_>, text: &[u8]) -> Heard {
        match reply {
            reply::Reply::Authenticated | reply::Reply::Subscriptions(_) => return Heard::Aside,
            reply::Reply::Other { .. } => {}
            reply => return self.complain(format!("{reply:?}")),
        }
        match decode_notice(text) {
            Ok(Notice::FlowStarted) => Heard::FlowStarted,
            Ok(Notice::FlowEnded(ended)) => Heard::FlowEnded { sequence: ended.feed_sequence },
            Ok(Notice::FeedRefused { .. }) => Heard::FeedRefused,
            Ok(Notice::Description(description)) => Heard::Description(description),
            Err(_) => self.complain(format!("{reply:?}")),
        }
    }

    #[cold]
    fn complain(&mut self, what: String) -> Heard {
        self.complaint.get_or_insert(what);
        Heard::Unexpected
    }
}

impl Line for ExchangeLine {
    #[inline]
    fn say(&mut self, wish: &Wish, number: u64, out: &mut Vec<u8>) {
        let mask = self.session.masks.next();
        self.dialect.say(wish, number, mask, out);
    }

    #[cold]
    fn ask(&mut self, ask: Ask, out: &mut Vec<u8>) {
        let mask = Some(self.session.masks.next());
        write_frame_with(out, Opcode::Text, mask, |out| match ask {
            Ask::StartFlow => encode_start_flow(out),
            Ask::Describe => encode_describe(out),
            Ask::Feed(want) => encode_want(want, out),
        });
    }

    fn space(&mut self) -> &mut [u8] {
        self.session.reader.space()
    }

    fn filled(&mut self, n: usize, stamp_ns: u64) {
        self.session.reader.filled(n, stamp_ns);
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<Reply>, String> {
        let Session { reader, masks, .. } = &mut self.session;
        let received = reader.next().map_err(|error| error.to_string())?;
        let Some(reader::Received { message, first_byte_ns }) = received else { return Ok(None) };
        let dialect = &mut self.dialect;
        let (heard, payload_bytes) = match message {
            reader::Message::Text(text) => (dialect.understand(text)?, text.len()),
            reader::Message::Ping(payload) => {
                write_frame(out, true, Opcode::Pong, Some(masks.next()), payload);
                (Heard::Aside, payload.len())
            }
            reader::Message::Pong(payload) => (Heard::Aside, payload.len()),
            reader::Message::Binary(payload) => {
                (dialect.complain("a binary message".to_owned()), payload.len())
            }
            reader::Message::Close { code, reason } => {
                let reason = String::from_utf8_lossy(reason);
                return Err(format!("the exchange closed it ({code:?}): {reason}"));
            }
        };
        // A server's header has 2 bytes, 4 from 126 on.
        let bytes = payload_bytes + if payload_bytes < 126 { 2 } else { 4 };
        Ok(Some(Reply { heard, first_byte_ns, bytes }))
    }

    fn first_complaint(&self) -> Option<&str> {
        self.dialect.complaint.as_deref()
    }
}

fn encode_want(want: Want, out: &mut Vec<u8>) {
    match want {
        Want::Replay { from, count } => encode_feed_replay(out, from, count),
        Want::Snapshot => encode_feed_snapshot(out),
    }
}

#[cfg(test)]
#[path = "exchange_line_tests.rs"]
mod tests;
