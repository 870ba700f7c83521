//! An order session with tickpath's exchange: JSON in WebSocket text frames.

use crate::load::addresses::PATIENCE;
use crate::load::dialler::Dialler;
use crate::session::codec::Codec;
use crate::session::form::{Blanks, Form};
use crate::session::standing;
use crate::session::web::{STEP_PATIENCE, WebSession, nonce};
use crate::strategy::OrderIntent;
use crate::tick::clock_source;
use crate::tick::session::{Join, JoinedSession, OrderSession, Request, StampedReply};
use feed::RecoveryRequest;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use transport::Blocking;
use wire::administration::{Description, Notice, decode_notice};
use wire::frame::{Opcode, write_frame_with};
use wire::reply::{self, FeedSubscription};
use wire::request::{
    self, AmendOrder, CancelOrder, Channel, CreateOrder, DeliveryClock, Depth, OrderStatus,
    PostOnly, TimeInForce, encode_amend_order, encode_cancel_order, encode_create_order,
    encode_describe, encode_feed_replay, encode_feed_snapshot, encode_start_flow, encode_subscribe,
};
use wire::{ClientId, Decimal};

/// One logged-on connection.
pub(crate) struct ExchangeSession {
    web: WebSession,
    codec: Codec,
    forms: Arc<Forms>,
    /// The run's number in its client ids.
    run: u32,
    /// Whether the exchange orders answers to one tick by their delivery clocks.
    has_window: bool,
    /// The delivery clock of the orders that are about to be encoded.
    delivery: Option<DeliveryClock>,
}

impl ExchangeSession {
    /// To `HOST:PORT`, for orders of that instrument.
    pub(crate) fn new(target: &str, instrument: &str) -> ExchangeSession {
        ExchangeSession::with(target, Arc::new(Forms::new(instrument)))
    }

    fn with(target: &str, forms: Arc<Forms>) -> ExchangeSession {
        let nonce = nonce();
        let (web, codec) = (WebSession::new(target, nonce.into()), Codec::new(nonce));
        let (has_window, delivery) = (false, None);
        ExchangeSession { web, codec, forms, run: nonce, has_window, delivery }
    }

    /// A session to nowhere that shares the forms, so that encoding keeps them in the caches.
    pub(crate) fn twin(&self) -> ExchangeSession {
        let mut twin = ExchangeSession::with("nowhere:0", self.forms.clone());
        twin.codec.units = self.codec.units;
        twin.has_window = self.has_window;
        twin
    }

    /// The run's number in its client ids.
    pub(crate) fn run(&self) -> u32 {
        self.run
    }

    /// Sets the units of prices and amounts, which the feed tells.
    pub(crate) fn count_in(&mut self, tick: Decimal, lot: Decimal) {
        self.codec.units = Some((tick, lot));
    }

    /// Makes a fresh connection ready to trade; replies will carry stamps. If the connection ends,
    /// the exchange cancels all open orders.
    pub(crate) fn log_on(&mut self, stream: &mut dyn Blocking, token: u64) -> io::Result<()> {
        self.web.upgrade(stream)?;
        self.web.authenticate(stream, token, [Some(true); 2])
    }

    /// Asks the exchange to describe itself.
    pub(crate) fn describe(&mut self, stream: &mut dyn Blocking) -> io::Result<Box<Description>> {
        self.web.send(stream, encode_describe)?;
        self.web.wait_for(stream, "DESCRIBE", |_, text| match decode_notice(text) {
            Ok(Notice::Description(description)) => Some(description),
            _ => None,
        })
    }

    /// Subscribes to reports of orders alone.
    pub(crate) fn subscribe_orders(&mut self, stream: &mut dyn Blocking) -> io::Result<()> {
        self.web.send(stream, |out| encode_subscribe(out, &[Channel::named("ORDERS")]))?;
        self.web.wait_for(stream, "SUBSCRIBE", |reply, _| {
            matches!(reply, reply::Reply::Subscriptions(_)).then_some(())
        })
    }

    /// Subscribes to reports of orders, and to the feed: at this address, or with the exchange's
    /// group. Its kernel stamps one of `stamp_every` datagrams on its way out (0: none).
    pub(crate) fn subscribe(
        &mut self,
        stream: &mut dyn Blocking,
        address: Option<SocketAddr>,
        stamp_every: u64,
    ) -> io::Result<FeedSubscription> {
        let depth = Some(Depth::Orders);
        let stamped = u32::try_from(stamp_every).unwrap_or(u32::MAX);
        let stamp_every = Some(stamped).filter(|every| *every > 0);
        let feed = Channel { address, depth, stamp_every, ..Channel::named("FEED") };
        let channels = [Channel::named("ORDERS"), feed];
        self.web.send(stream, |out| encode_subscribe(out, &channels))?;
        let feed = self.web.wait_for(stream, "SUBSCRIBE", |reply, _| match reply {
            reply::Reply::Subscriptions(subscriptions) => {
                Some(subscriptions.channels.iter().find_map(|channel| match channel {
                    reply::Subscription::Feed(feed) => Some(*feed),
                    _ => None,
                }))
            }
            _ => None,
        })?;
        let none = "it has no feed; start it with --feed unicast, or a multicast group";
        let feed = feed.ok_or_else(|| io::Error::other(none))?;
        self.has_window = feed.delivery_window_us.is_some();
        Ok(feed)
    }

    /// Sends a request on a connection that still blocks.
    pub(crate) fn want(
        &mut self,
        stream: &mut dyn Blocking,
        want: RecoveryRequest,
    ) -> io::Result<()> {
        self.web.send(stream, |out| encode_want(want, out))
    }
}

/// In the engine's order.
const SIDES: [request::Side; 2] = [request::Side::Buy, request::Side::Sell];
/// The unit of a delivery clock's numbers.
const ONE: Decimal = Decimal::ONE;

/// All order messages of one instrument.
struct Forms {
    /// By side, and whether it is to rest.
    enter: [[Form; 2]; 2],
    /// The same with a delivery clock.
    answer: [[Form; 2]; 2],
    amend: Form,
    /// The same with a delivery clock.
    amend_answer: Form,
    cancel: Form,
}

impl Forms {
    fn new(instrument: &str) -> Forms {
        let instrument_code = Cow::Borrowed(instrument);
        let enter = |side, to_rest, is_answer: bool| {
            let (time_in_force, post_only) = match to_rest {
                true => (TimeInForce::GoodTillCancelled, Some(PostOnly::Reject)),
                false => (TimeInForce::ImmediateOrCancelled, None),
            };
            Form::new(|out, Blanks { client_id, price, amount, delivery }| {
                let delivery = is_answer.then_some(delivery);
                let order = CreateOrder::limit(instrument, client_id, side, price, amount);
                encode_create_order(
                    out,
                    &CreateOrder { time_in_force, post_only, delivery, ..order },
                );
            })
        };
        let amend = |is_answer: bool| {
            Form::new(|out, Blanks { client_id, price, amount, delivery }| {
                let amend = AmendOrder {
                    client_id,
                    new_client_id: None,
                    instrument_code: instrument_code.clone(),
                    price: Some(price),
                    amount,
                    delivery: is_answer.then_some(delivery),
                    account_id: None,
                };
                encode_amend_order(out, &amend);
            })
        };
        Forms {
            enter: SIDES.map(|side| [enter(side, false, false), enter(side, true, false)]),
            answer: SIDES.map(|side| [enter(side, false, true), enter(side, true, true)]),
            amend: amend(false),
            amend_answer: amend(true),
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

impl OrderSession for ExchangeSession {
    #[inline]
    fn encode(&mut self, intent: &OrderIntent, number: u64, out: &mut Vec<u8>) {
        let (tick, lot) = self.codec.units.unwrap_or((Decimal::ZERO, Decimal::ZERO));
        let terms = |price_ticks, lots: u64| [(price_ticks, tick), (lots.cast_signed(), lot)];
        let mask = self.web.masks.next();
        let client_id = self.codec.client_ids.of(number);
        let (forms, delivery) = (&self.forms, self.delivery);
        let clock = delivery.map(|DeliveryClock { tick, response_ns }| {
            [tick, response_ns].map(|term| (term.cast_signed(), ONE))
        });
        write_frame_with(out, Opcode::Text, Some(mask), |out| match *intent {
            OrderIntent::New { side, price_ticks, quantity_lots, to_rest } => {
                let place = (side as usize, usize::from(to_rest));
                let [price, amount] = terms(price_ticks, quantity_lots);
                match clock {
                    None => forms.enter[place.0][place.1].fill(out, client_id, &[price, amount]),
                    Some([tick, response_ns]) => {
                        let terms = [price, amount, tick, response_ns];
                        forms.answer[place.0][place.1].fill(out, client_id, &terms);
                    }
                }
            }
            OrderIntent::Amend { price_ticks, quantity_lots, .. } => {
                let [price, amount] = terms(price_ticks, quantity_lots);
                match clock {
                    None => forms.amend.fill(out, client_id, &[price, amount]),
                    Some([tick, response_ns]) => {
                        let terms = [price, amount, tick, response_ns];
                        forms.amend_answer.fill(out, client_id, &terms);
                    }
                }
            }
            OrderIntent::Cancel { .. } => forms.cancel.fill(out, client_id, &[]),
        });
    }

    #[inline]
    fn carries_clocks(&self) -> bool {
        self.has_window
    }

    #[inline]
    fn answers(&mut self, delivery: Option<DeliveryClock>) {
        self.delivery = delivery;
    }

    #[cold]
    fn encode_request(&mut self, request: Request, out: &mut Vec<u8>) {
        let mask = Some(self.web.masks.next());
        write_frame_with(out, Opcode::Text, mask, |out| match request {
            Request::StartFlow => encode_start_flow(out),
            Request::Describe => encode_describe(out),
            Request::Feed(want) => encode_want(want, out),
        });
    }

    fn join(&mut self, join: &Join<'_>) -> io::Result<JoinedSession> {
        let Join { plan, target, feed, orders } = *join;
        let dialler = Dialler::new(target, plan.tls.as_ref()).map_err(io::Error::other)?;
        let mut stream = dialler.patient_for(PATIENCE).connect()?;
        self.web = WebSession::new(target, nonce().into());
        self.web.patience = PATIENCE;
        self.log_on(&mut stream, plan.first_token)?;
        let client_id = |number: &u64| ClientId::new(self.codec.client_ids.text(*number));
        let asked = orders.iter().map(client_id).map(|client_id| {
            client_id.map(|client_id| OrderStatus { client_id, account_id: None, takes: false })
        });
        let asked: Vec<OrderStatus<'_>> =
            asked.collect::<Result<_, _>>().map_err(io::Error::other)?;
        let standings = standing::ask(&mut self.web, &mut stream, &asked)?;
        // It has answered, and a large book takes time.
        self.web.patience = STEP_PATIENCE;
        let clock = clock_source::of_this_machine(&*self.describe(&mut stream)?);
        self.subscribe(&mut stream, Some(feed), 0)?;
        Ok(JoinedSession { stream, standings, clock })
    }

    fn space(&mut self) -> &mut [u8] {
        self.web.reader.space()
    }

    fn filled(&mut self, n: usize, stamp_ns: u64) {
        self.web.reader.filled(n, stamp_ns);
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<StampedReply>, String> {
        self.codec.next(&mut self.web, out)
    }

    fn first_complaint(&self) -> Option<&str> {
        self.codec.complaint.as_deref()
    }
}

fn encode_want(want: RecoveryRequest, out: &mut Vec<u8>) {
    match want {
        RecoveryRequest::Replay { from, count } => encode_feed_replay(out, from, count),
        RecoveryRequest::Snapshot => encode_feed_snapshot(out),
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
