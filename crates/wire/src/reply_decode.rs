//! The decoder of what the exchange sends: ours, or the incumbent's.

use crate::json::{self, MessageFault, Object, Slot, Text};
use crate::order_id::OrderId;
use crate::reply::{Booked, Done, DoneStatus, Fill, Rejected, Reply, Subscription, Subscriptions};
use crate::request::{Side, client_id, decimal};
use serde::Deserialize;

/// A reply that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable reply: {0}")]
pub struct ReplyError(pub MessageFault);

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawReply<'a> {
    #[serde(borrow, rename = "type")]
    kind: Slot<Text<'a>>,
    #[serde(borrow)]
    client_id: Slot<Text<'a>>,
    #[serde(borrow)]
    instrument_code: Slot<Text<'a>>,
    #[serde(borrow)]
    side: Slot<Text<'a>>,
    #[serde(borrow)]
    price: Slot<Text<'a>>,
    #[serde(borrow)]
    amount: Slot<Text<'a>>,
    #[serde(borrow)]
    remaining: Slot<Text<'a>>,
    #[serde(borrow)]
    order_id: Slot<Text<'a>>,
    #[serde(borrow)]
    status: Slot<Text<'a>>,
    #[serde(borrow)]
    reason: Slot<Text<'a>>,
    #[serde(borrow)]
    uid: Slot<Text<'a>>,
    order_book_sequence: Slot<i64>,
    time: Slot<i64>,
    trade_id: Slot<i64>,
    #[serde(borrow)]
    channels: Slot<Vec<Slot<Object<RawSubscription<'a>>>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSubscription<'a> {
    #[serde(borrow)]
    account_id: Slot<Text<'a>>,
    #[serde(borrow)]
    name: Slot<Text<'a>>,
}

/// Decodes an exchange's message, ours or the incumbent's. Keys in any order, unknown keys ignored.
pub fn decode_reply(bytes: &[u8]) -> Result<Reply<'_>, ReplyError> {
    json::parse::<RawReply<'_>>(bytes).and_then(RawReply::reply).map_err(ReplyError)
}

impl<'a> RawReply<'a> {
    fn reply(mut self) -> Result<Reply<'a>, MessageFault> {
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
