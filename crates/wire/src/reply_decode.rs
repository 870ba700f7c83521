//! The decoder of what the exchange sends: ours, or the incumbent's.

use crate::fault::MessageFault;
use crate::json::{self, Fields, Object, Scanner, Slot, Text};
use crate::order_id::OrderId;
use crate::reply::{
    Amended, Applied, Booked, Decremented, Done, DoneStatus, Fill, Rejected, Reply, Subscription,
    Subscriptions, Triggered, Waiting,
};
use crate::request::Side;
use crate::request_decode::{client_id, decimal, optional};

/// A reply that can't be read.
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
            _ => value.skip(),
        }
    }
}

#[derive(Default)]
struct RawSubscription<'a> {
    account_id: Slot<Text<'a>>,
    name: Slot<Text<'a>>,
}

impl<'a> Fields<'a> for RawSubscription<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "account_id" => value.text(&mut self.account_id),
            "name" => value.text(&mut self.name),
            _ => value.skip(),
        }
    }
}

/// Decodes an exchange's message, ours or the incumbent's. Keys in any order, unknown keys ignored.
pub fn decode_reply(bytes: &[u8]) -> Result<Reply<'_>, ReplyError> {
    let mut raw = RawReply::default();
    json::parse(bytes, &mut raw).and_then(|()| raw.reply()).map_err(ReplyError)
}

impl<'a> RawReply<'a> {
    fn reply(&mut self) -> Result<Reply<'a>, MessageFault> {
        let kind = self.kind.take("type")?;
        Ok(match &*kind {
            "BOOKED" => Reply::Booked(self.booked()?),
            "DONE" => Reply::Done(self.done()?),
            "FILL" => Reply::Fill(self.fill()?),
            "REJECTED" => Reply::Rejected(Rejected {
                client_id: client_id(&self.client_id, "client_id")?,
                reason: self.reason.take("reason")?,
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

    fn booked(&mut self) -> Result<Booked<'a>, MessageFault> {
        Ok(Booked {
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

    fn done(&mut self) -> Result<Done<'a>, MessageFault> {
        Ok(Done {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            status: DoneStatus::read(self.status.get("status")?)?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn amended(&mut self) -> Result<Amended<'a>, MessageFault> {
        let replaced = optional(&self.replaced_client_id, "replaced_client_id", client_id)?;
        Ok(Amended {
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

    fn waiting(&mut self) -> Result<Waiting<'a>, MessageFault> {
        Ok(Waiting {
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

    fn triggered(&mut self) -> Result<Triggered<'a>, MessageFault> {
        Ok(Triggered {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: self.instrument_code.take("instrument_code")?,
            order_id: self.order_id()?,
            order_book_sequence: self.order_book_sequence.take("order_book_sequence")?,
            time_ms: self.time.take("time")?,
            uid: self.uid.take("uid")?,
        })
    }

    fn decremented(&mut self) -> Result<Decremented<'a>, MessageFault> {
        Ok(Decremented {
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

    fn applied(&mut self) -> Result<Applied<'a>, MessageFault> {
        Ok(Applied {
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
            let Object(mut channel) = channel.take("channels[]")?;
            let account_id = channel.account_id.take("channels[].account_id")?;
            channels.push(Subscription { account_id, name: channel.name.take("channels[].name")? });
        }
        Ok(Subscriptions { channels, time_ms: self.time.take("time")? })
    }
}
