//! Decodes clients' messages.

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
use crate::json::{self, Fields, Object, Scanner, Slot, Text, bounded};
use crate::request::raw_order::RawOrder;
use crate::request::{
    ACCOUNT_ID_BYTES_MAX, API_TOKEN_BYTES_MAX, AmendOrder, CHANNEL_NAME_BYTES_MAX, CHANNELS_MAX,
    CancelOrder, Channel, CreateOrder, DeliveryClock, Depth, INSTRUMENT_CODE_BYTES_MAX,
    InstrumentState, KillSwitch, MassCancel, OrderStatus, Request, RequestError,
    SetInstrumentState, Side, form,
};
use std::net::SocketAddr;

#[derive(Default)]
struct RawRequest<'a> {
    kind: Slot<Text<'a>>,
    order: Slot<Object<RawOrder<'a>>>,
    client_id: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    account_id: Slot<Text<'a>>,
    api_token: Slot<Text<'a>>,
    cancel_on_disconnect: Slot<bool>,
    stamps: Slot<bool>,
    absent: Slot<bool>,
    take: Slot<bool>,
    channels: Slot<Vec<Slot<Object<RawChannel<'a>>>>>,
    new_client_id: Slot<Text<'a>>,
    price: Slot<Text<'a>>,
    amount: Slot<Text<'a>>,
    side: Slot<Text<'a>>,
    state: Slot<Text<'a>>,
    on: Slot<bool>,
    action: Slot<Text<'a>>,
    from: Slot<i64>,
    count: Slot<i64>,
    tick: Slot<i64>,
    response_ns: Slot<i64>,
}

impl<'a> Fields<'a> for RawRequest<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "type" => value.text(&mut self.kind),
            "order" => value.object(&mut self.order),
            "client_id" => value.text(&mut self.client_id),
            "instrument_code" => value.text(&mut self.instrument_code),
            "account_id" => value.text(&mut self.account_id),
            "api_token" => value.text(&mut self.api_token),
            "cancel_on_disconnect" => value.boolean(&mut self.cancel_on_disconnect),
            "stamps" => value.boolean(&mut self.stamps),
            "absent" => value.boolean(&mut self.absent),
            "take" => value.boolean(&mut self.take),
            "channels" => value.array(&mut self.channels),
            "new_client_id" => value.text(&mut self.new_client_id),
            "price" => value.text(&mut self.price),
            "amount" => value.text(&mut self.amount),
            "side" => value.text(&mut self.side),
            "state" => value.text(&mut self.state),
            "on" => value.boolean(&mut self.on),
            "action" => value.text(&mut self.action),
            "from" => value.integer(&mut self.from),
            "count" => value.integer(&mut self.count),
            "tick" => value.integer(&mut self.tick),
            "response_ns" => value.integer(&mut self.response_ns),
            _ => value.skip(),
        }
    }
}

#[derive(Default)]
struct RawChannel<'a> {
    name: Slot<Text<'a>>,
    address: Slot<Text<'a>>,
    depth: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    stamp_every: Slot<i64>,
    stamps: Slot<bool>,
}

impl<'a> Fields<'a> for RawChannel<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "name" => value.text(&mut self.name),
            "address" => value.text(&mut self.address),
            "depth" => value.text(&mut self.depth),
            "instrument_code" => value.text(&mut self.instrument_code),
            "stamp_every" => value.integer(&mut self.stamp_every),
            "stamps" => value.boolean(&mut self.stamps),
            _ => value.skip(),
        }
    }
}

/// Decodes a client's message. Keys in any order, unknown keys ignored; `null` counts as absent.
pub fn decode_request(bytes: &[u8]) -> Result<Request<'_>, RequestError> {
    if let Some(request) = form::read(bytes) {
        return Ok(request);
    }
    let mut raw = RawRequest::default();
    json::parse(bytes, &mut raw).map_err(|fault| RequestError { fault, client_id: None })?;
    raw.request().map_err(|fault| RequestError { fault, client_id: raw.any_client_id() })
}

impl<'a> RawRequest<'a> {
    fn request(&mut self) -> Result<Request<'a>, MessageFault> {
        match &**self.kind.get("type")? {
            "CREATE_ORDER" => self.create_order().map(Request::CreateOrder),
            "CANCEL_ORDER" => self.cancel_order().map(Request::CancelOrder),
            "ORDER_STATUS" => self.order_status().map(Request::OrderStatus),
            "AMEND_ORDER" => self.amend_order().map(Request::AmendOrder),
            "MASS_CANCEL" => self.mass_cancel().map(Request::MassCancel),
            "AUTHENTICATE" => {
                let token = self.api_token.take("api_token")?;
                let api_token =
                    bounded(token, "api_token", "api_token_bytes_max", API_TOKEN_BYTES_MAX)?;
                let cancel_on_disconnect =
                    self.cancel_on_disconnect.take_optional("cancel_on_disconnect")?;
                let stamps = self.stamps.take_optional("stamps")?;
                let is_absent = self.absent.take_optional("absent")?.unwrap_or(false);
                Ok(Request::Authenticate { api_token, cancel_on_disconnect, stamps, is_absent })
            }
            "SUBSCRIBE" => self.channels().map(|channels| Request::Subscribe { channels }),
            "INSTRUMENT_STATE" => self.instrument_state().map(Request::InstrumentState),
            "KILL_SWITCH" => self.kill_switch().map(Request::KillSwitch),
            "FEED_REPLAY" => self.feed_replay(),
            "FEED_SNAPSHOT" => Ok(Request::FeedSnapshot),
            "FLOW" => match &**self.action.get("action")? {
                "START" => Ok(Request::StartFlow),
                _ => Err(MessageFault::UnknownValue { field: "action", allowed: "START" }),
            },
            "DESCRIBE" => Ok(Request::Describe),
            _ => Err(MessageFault::UnknownType),
        }
    }

    fn feed_replay(&mut self) -> Result<Request<'a>, MessageFault> {
        let wrong = |field, expected| MessageFault::WrongKind { field, expected };
        let from = u64::try_from(*self.from.get("from")?);
        let count = u32::try_from(*self.count.get("count")?);
        Ok(Request::FeedReplay {
            from: from.map_err(|_| wrong("from", "a message number"))?,
            count: count.map_err(|_| wrong("count", "a number of messages"))?,
        })
    }

    fn create_order(&mut self) -> Result<CreateOrder<'a>, MessageFault> {
        let account_id = self.account_id()?;
        let Object(order) = self.order.get_mut("order")?;
        order.create_order(account_id)
    }

    fn cancel_order(&mut self) -> Result<CancelOrder<'a>, MessageFault> {
        Ok(CancelOrder {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: instrument_code(&mut self.instrument_code, "instrument_code")?,
            account_id: self.account_id()?,
        })
    }

    fn order_status(&mut self) -> Result<OrderStatus<'a>, MessageFault> {
        Ok(OrderStatus {
            client_id: client_id(&self.client_id, "client_id")?,
            account_id: self.account_id()?,
            takes: self.take.take_optional("take")?.unwrap_or(false),
        })
    }

    fn amend_order(&mut self) -> Result<AmendOrder<'a>, MessageFault> {
        Ok(AmendOrder {
            client_id: client_id(&self.client_id, "client_id")?,
            new_client_id: optional(&self.new_client_id, "new_client_id", client_id)?,
            instrument_code: instrument_code(&mut self.instrument_code, "instrument_code")?,
            price: optional(&self.price, "price", decimal)?,
            amount: decimal(&self.amount, "amount")?,
            delivery: delivery((&self.tick, "tick"), (&self.response_ns, "response_ns"))?,
            account_id: self.account_id()?,
        })
    }

    fn mass_cancel(&mut self) -> Result<MassCancel<'a>, MessageFault> {
        let instrument_code = match self.instrument_code {
            Slot::Absent => None,
            _ => Some(instrument_code(&mut self.instrument_code, "instrument_code")?),
        };
        let side = |slot: &Slot<Text<'_>>, field| Side::read(slot.get(field)?, field);
        Ok(MassCancel {
            client_id: optional(&self.client_id, "client_id", client_id)?,
            instrument_code,
            side: optional(&self.side, "side", side)?,
            account_id: self.account_id()?,
        })
    }

    fn instrument_state(&mut self) -> Result<SetInstrumentState<'a>, MessageFault> {
        let state = match &**self.state.get("state")? {
            "OPEN" => InstrumentState::Open,
            "HALTED" => InstrumentState::Halted,
            "CLOSED" => InstrumentState::Closed,
            _ => {
                let (field, allowed) = ("state", "OPEN, HALTED, CLOSED");
                return Err(MessageFault::UnknownValue { field, allowed });
            }
        };
        Ok(SetInstrumentState {
            client_id: optional(&self.client_id, "client_id", client_id)?,
            instrument_code: instrument_code(&mut self.instrument_code, "instrument_code")?,
            state,
        })
    }

    fn kill_switch(&mut self) -> Result<KillSwitch<'a>, MessageFault> {
        Ok(KillSwitch {
            client_id: optional(&self.client_id, "client_id", client_id)?,
            account_id: self.account_id()?,
            on: self.on.take("on")?,
        })
    }

    fn account_id(&mut self) -> Result<Option<Text<'a>>, MessageFault> {
        let text = self.account_id.take_optional("account_id")?;
        text.map(|text| bounded(text, "account_id", "account_id_bytes_max", ACCOUNT_ID_BYTES_MAX))
            .transpose()
    }

    fn channels(&mut self) -> Result<Vec<Channel<'a>>, MessageFault> {
        let channels = self.channels.take("channels")?;
        if channels.len() > CHANNELS_MAX {
            let (field, limit) = ("channels", "channels_max");
            return Err(MessageFault::Limit { field, limit, max: CHANNELS_MAX });
        }
        channels
            .into_iter()
            .map(|mut channel| channel.take("channels[]").and_then(|Object(raw)| raw.channel()))
            .collect()
    }

    /// The client id of any field, for the answer to a failed request.
    fn any_client_id(&self) -> Option<ClientId> {
        let inner = match &self.order {
            Slot::Value(Object(order)) => client_id(&order.client_id, "").ok(),
            _ => None,
        };
        inner.or_else(|| client_id(&self.client_id, "").ok())
    }
}

impl<'a> RawChannel<'a> {
    fn channel(mut self) -> Result<Channel<'a>, MessageFault> {
        let (field, max) = ("channels[].name", CHANNEL_NAME_BYTES_MAX);
        let name = bounded(self.name.take(field)?, field, "channel_name_bytes_max", max)?;
        let depth = |slot: &Slot<Text<'_>>, field| Depth::read(slot.get(field)?, field);
        let instrument_code = match self.instrument_code {
            Slot::Absent => None,
            _ => Some(instrument_code(&mut self.instrument_code, "channels[].instrument_code")?),
        };
        let field = "channels[].stamp_every";
        let expected = "a number of datagrams";
        let stamp_every = self.stamp_every.take_optional(field)?.map(u32::try_from).transpose();
        Ok(Channel {
            name,
            address: optional(&self.address, "channels[].address", address)?,
            depth: optional(&self.depth, "channels[].depth", depth)?,
            instrument_code,
            stamp_every: stamp_every.map_err(|_| MessageFault::WrongKind { field, expected })?,
            stamps: self.stamps.take_optional("channels[].stamps")?,
        })
    }
}

/// A numeric address: a name would need a lookup.
pub(crate) fn address(
    slot: &Slot<Text<'_>>,
    field: &'static str,
) -> Result<SocketAddr, MessageFault> {
    let expected = "a numeric address such as 127.0.0.1:4000";
    slot.get(field)?.parse().map_err(|_| MessageFault::WrongKind { field, expected })
}

pub(crate) fn client_id(
    slot: &Slot<Text<'_>>,
    field: &'static str,
) -> Result<ClientId, MessageFault> {
    ClientId::new(slot.get(field)?).map_err(MessageFault::BadClientId)
}

pub(crate) fn decimal(slot: &Slot<Text<'_>>, field: &'static str) -> Result<Decimal, MessageFault> {
    Decimal::parse(slot.get(field)?).map_err(|why| MessageFault::BadDecimal { field, why })
}

/// A tick and a response time, each with its name: both or none.
pub(super) fn delivery(
    (tick, tick_field): (&Slot<i64>, &'static str),
    (response_ns, response_field): (&Slot<i64>, &'static str),
) -> Result<Option<DeliveryClock>, MessageFault> {
    if let (Slot::Absent, Slot::Absent) = (tick, response_ns) {
        return Ok(None);
    }
    let natural = |slot: &Slot<i64>, field| {
        let expected = "a number from 0";
        u64::try_from(*slot.get(field)?).map_err(|_| MessageFault::WrongKind { field, expected })
    };
    let tick = natural(tick, tick_field)?;
    let response_ns = natural(response_ns, response_field)?;
    Ok(Some(DeliveryClock { tick, response_ns }))
}

/// A field that may be absent or null.
#[inline]
pub(crate) fn optional<'a, T>(
    slot: &Slot<Text<'a>>,
    field: &'static str,
    read: impl FnOnce(&Slot<Text<'a>>, &'static str) -> Result<T, MessageFault>,
) -> Result<Option<T>, MessageFault> {
    match slot {
        Slot::Absent => Ok(None),
        _ => read(slot, field).map(Some),
    }
}

pub(super) fn instrument_code<'a>(
    slot: &mut Slot<Text<'a>>,
    field: &'static str,
) -> Result<Text<'a>, MessageFault> {
    let max = INSTRUMENT_CODE_BYTES_MAX;
    bounded(slot.take(field)?, field, "instrument_code_bytes_max", max)
}
