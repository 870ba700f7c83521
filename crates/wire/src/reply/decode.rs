//! Decodes messages of the exchange: ours, or the incumbent's.

use crate::fault::MessageFault;
use crate::json::{self, Fields, Object, Scanner, Slot, Text};
use crate::order_id::OrderId;
use crate::reply::{
    DoneStatus, FeedSubscription, Fill, OrderAmended, OrderBooked, OrderDone, OrderEnded,
    OrderOpen, Reply, RequestApplied, RequestRejected, Stamps, StopTriggered, StopWaiting,
    Subscription, Subscriptions, TradePrevented, form,
};
use crate::request::decode::{address, client_id, decimal, optional};
use crate::request::{Depth, Side};

/// An unreadable reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable reply: {0}")]
pub struct ReplyError(pub MessageFault);

#[derive(Default)]
struct RawReply<'a> {
    kind: Slot<Text<'a>>,
    client_id: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    side: Slot<Text<'a>>,
    price: Slot<Text<'a>>,
    amount: Slot<Text<'a>>,
    remaining: Slot<Text<'a>>,
    order_id: Slot<Text<'a>>,
    status: Slot<Text<'a>>,
    reason: Slot<Text<'a>>,
    uid: Slot<Text<'a>>,
    order_book_sequence: Slot<i64>,
    time: Slot<i64>,
    trade_id: Slot<i64>,
    channels: Slot<Vec<Slot<Object<RawSubscription<'a>>>>>,
    stop_price: Slot<Text<'a>>,
    replaced_client_id: Slot<Text<'a>>,
    place_kept: Slot<bool>,
    count: Slot<i64>,
    stamps: Slot<Stamps>,
}

impl<'a> Fields<'a> for RawReply<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "type" => value.text(&mut self.kind),
            "client_id" => value.text(&mut self.client_id),
            "instrument_code" => value.text(&mut self.instrument_code),
            "side" => value.text(&mut self.side),
            "price" => value.text(&mut self.price),
            "amount" => value.text(&mut self.amount),
            "remaining" => value.text(&mut self.remaining),
            "order_id" => value.text(&mut self.order_id),
            "status" => value.text(&mut self.status),
            "reason" => value.text(&mut self.reason),
            "uid" => value.text(&mut self.uid),
            "order_book_sequence" => value.integer(&mut self.order_book_sequence),
            "time" => value.integer(&mut self.time),
            "trade_id" => value.integer(&mut self.trade_id),
            "channels" => value.array(&mut self.channels),
            "stop_price" => value.text(&mut self.stop_price),
            "replaced_client_id" => value.text(&mut self.replaced_client_id),
            "place_kept" => value.boolean(&mut self.place_kept),
            "count" => value.integer(&mut self.count),
            "stamps" => value.naturals(&mut self.stamps),
            _ => value.skip(),
        }
    }
}

#[derive(Default)]
struct RawSubscription<'a> {
    account_id: Slot<Text<'a>>,
    name: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    address: Slot<Text<'a>>,
    depth: Slot<Text<'a>>,
    session: Slot<Text<'a>>,
    sequence: Slot<i64>,
    delivery_window_us: Slot<i64>,
    tick: Slot<Text<'a>>,
    lot: Slot<Text<'a>>,
}

impl<'a> Fields<'a> for RawSubscription<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "account_id" => value.text(&mut self.account_id),
            "name" => value.text(&mut self.name),
            "instrument_code" => value.text(&mut self.instrument_code),
            "address" => value.text(&mut self.address),
            "depth" => value.text(&mut self.depth),
            "session" => value.text(&mut self.session),
            "sequence" => value.integer(&mut self.sequence),
            "delivery_window_us" => value.integer(&mut self.delivery_window_us),
            "tick" => value.text(&mut self.tick),
            "lot" => value.text(&mut self.lot),
            _ => value.skip(),
        }
    }
}

/// Decodes an exchange's message, ours or the incumbent's. Keys in any order, unknown keys ignored.
pub fn decode_reply(bytes: &[u8]) -> Result<Reply<'_>, ReplyError> {
    decode_stamped_reply(bytes).map(|(reply, _)| reply)
}

/// As [`decode_reply`], with the exchange's stamps if present.
pub fn decode_stamped_reply(bytes: &[u8]) -> Result<(Reply<'_>, Option<Stamps>), ReplyError> {
    if let Some(read) = form::read(bytes) {
        return Ok(read);
    }
    let mut raw = RawReply::default();
    let read = json::parse(bytes, &mut raw).and_then(|()| raw.reply());
    let reply = read.map_err(ReplyError)?;
    let stamps = raw.stamps.take_optional("stamps").map_err(ReplyError)?;
    Ok((reply, stamps))
}

impl<'a> RawReply<'a> {
    fn reply(&mut self) -> Result<Reply<'a>, MessageFault> {
        let kind = self.kind.take("type")?;
        Ok(match &*kind {
            "BOOKED" => Reply::Booked(self.booked()?),
            "DONE" => Reply::Done(self.done()?),
            "FILL" => Reply::Fill(self.fill()?),
            "REJECTED" => Reply::Rejected(RequestRejected {
                client_id: client_id(&self.client_id, "client_id")?,
                reason: self.reason.take("reason")?,
                time_ms: self.time.take("time")?,
                uid: self.uid.take("uid")?,
            }),
            "OPEN" => Reply::Open(OrderOpen {
                client_id: client_id(&self.client_id, "client_id")?,
                order_id: self.order_id()?,
                time_ms: self.time.take("time")?,
                uid: self.uid.take("uid")?,
            }),
            "ENDED" => Reply::Ended(OrderEnded {
                client_id: client_id(&self.client_id, "client_id")?,
                status: DoneStatus::read(self.status.get("status")?)?,
                order_id: self.order_id()?,
                time_ms: self.time.take("time")?,
                uid: self.uid.take("uid")?,
            }),
            "ERROR" => Reply::Error { reason: self.reason.take("reason")? },
            "AUTHENTICATED" => Reply::Authenticated,
            "SUBSCRIPTIONS" => Reply::Subscriptions(self.subscriptions()?),
            "AMENDED" => Reply::Amended(self.amended()?),
            "WAITING" => Reply::Waiting(self.waiting()?),
            "TRIGGERED" => Reply::Triggered(self.triggered()?),
            "DECREMENTED" => Reply::Decremented(self.decremented()?),
            "MASS_CANCELLED" => Reply::MassCancelled(self.applied()?),
            "APPLIED" => Reply::Applied(self.applied()?),
            _ => Reply::Other { kind },
        })
    }

    fn booked(&mut self) -> Result<OrderBooked<'a>, MessageFault> {
        Ok(OrderBooked {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: decimal(&self.price, "price")?,
            amount: decimal(&self.amount, "amount")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn fill(&mut self) -> Result<Fill<'a>, MessageFault> {
        Ok(Fill {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: decimal(&self.price, "price")?,
            amount: decimal(&self.amount, "amount")?,
            remaining: decimal(&self.remaining, "remaining")?,
            order_id: self.order_id()?,
            trade_id: self.trade_id.take("trade_id")?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn done(&mut self) -> Result<OrderDone<'a>, MessageFault> {
        Ok(OrderDone {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            status: DoneStatus::read(self.status.get("status")?)?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn amended(&mut self) -> Result<OrderAmended<'a>, MessageFault> {
        let replaced = optional(&self.replaced_client_id, "replaced_client_id", client_id)?;
        Ok(OrderAmended {
            client_id: client_id(&self.client_id, "client_id")?,
            replaced_client_id: replaced,
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: optional(&self.price, "price", decimal)?,
            amount: decimal(&self.amount, "amount")?,
            place_kept: self.place_kept.take("place_kept")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn waiting(&mut self) -> Result<StopWaiting<'a>, MessageFault> {
        Ok(StopWaiting {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            stop_price: decimal(&self.stop_price, "stop_price")?,
            amount: decimal(&self.amount, "amount")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn triggered(&mut self) -> Result<StopTriggered<'a>, MessageFault> {
        Ok(StopTriggered {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn decremented(&mut self) -> Result<TradePrevented<'a>, MessageFault> {
        Ok(TradePrevented {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            side: Side::read(self.side.get("side")?, "side")?,
            price: decimal(&self.price, "price")?,
            amount: decimal(&self.amount, "amount")?,
            remaining: decimal(&self.remaining, "remaining")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn applied(&mut self) -> Result<RequestApplied<'a>, MessageFault> {
        Ok(RequestApplied {
            client_id: optional(&self.client_id, "client_id", client_id)?,
            count: self.count.take("count")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn order_id(&self) -> Result<OrderId, MessageFault> {
        let (field, expected) = ("order_id", "a UUID's text");
        OrderId::parse(self.order_id.get(field)?).ok_or(MessageFault::WrongKind { field, expected })
    }

    fn subscriptions(&mut self) -> Result<Subscriptions<'a>, MessageFault> {
        let mut channels = Vec::new();
        for mut channel in self.channels.take("channels")? {
            let Object(channel) = channel.take("channels[]")?;
            channels.push(channel.subscription()?);
        }
        Ok(Subscriptions { channels, time_ms: self.time.take("time")? })
    }
}

impl<'a> RawSubscription<'a> {
    fn subscription(mut self) -> Result<Subscription<'a>, MessageFault> {
        let name = self.name.take("channels[].name")?;
        if let Some(account_id) = self.account_id.take_optional("channels[].account_id")? {
            return Ok(Subscription::Account { account_id, name });
        }
        if name != "FEED" {
            let instrument_code = self.instrument_code.take("channels[].instrument_code")?;
            let tick = optional(&self.tick, "channels[].tick", decimal)?;
            let lot = optional(&self.lot, "channels[].lot", decimal)?;
            let units = tick.zip(lot).map(|(tick, lot)| [tick, lot]);
            return Ok(Subscription::MarketData { name, instrument_code, units });
        }
        let wrong = |field, expected| MessageFault::WrongKind { field, expected };
        let session = self.session.get("channels[].session")?.parse();
        let sequence = u64::try_from(*self.sequence.get("channels[].sequence")?);
        let field = "channels[].delivery_window_us";
        let window_us = self.delivery_window_us.take_optional(field)?.map(u64::try_from);
        let window_us = window_us.transpose().map_err(|_| wrong(field, "microseconds"))?;
        Ok(Subscription::Feed(FeedSubscription {
            depth: Depth::read(self.depth.get("channels[].depth")?, "channels[].depth")?,
            address: address(&self.address, "channels[].address")?,
            session: session.map_err(|_| wrong("channels[].session", "digits"))?,
            sequence: sequence.map_err(|_| wrong("channels[].sequence", "a message's number"))?,
            delivery_window_us: window_us,
        }))
    }
}
