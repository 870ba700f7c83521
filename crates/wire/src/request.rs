//! What clients send: decoded by the exchange, encoded by a trader.

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::fault::MessageFault;
use crate::json::{self, Fields, Object, Scanner, Slot, Text, bounded, write_string};
use std::borrow::Cow;
use std::fmt;

/// The longest `api_token`.
pub const API_TOKEN_BYTES_MAX: usize = 256;
/// The longest `account_id`.
pub const ACCOUNT_ID_BYTES_MAX: usize = 64;
/// The longest `instrument_code`.
pub const INSTRUMENT_CODE_BYTES_MAX: usize = 32;
/// The most channels in one `SUBSCRIBE`.
pub const CHANNELS_MAX: usize = 16;
/// The longest name of a channel.
pub const CHANNEL_NAME_BYTES_MAX: usize = 32;

/// A client's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `AUTHENTICATE`.
    Authenticate {
        /// Names the account and proves it.
        api_token: Cow<'a, str>,
    },
    /// `SUBSCRIBE`. The only message whose decoding allocates: it comes once per connection.
    Subscribe {
        /// The names of the channels, such as `ORDERS`.
        channels: Vec<Cow<'a, str>>,
    },
    /// `CREATE_ORDER`.
    CreateOrder(CreateOrder<'a>),
    /// `CANCEL_ORDER`.
    CancelOrder(CancelOrder<'a>),
}

/// A new limit order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateOrder<'a> {
    /// What is traded.
    pub instrument_code: Cow<'a, str>,
    /// The client's name for the order.
    pub client_id: ClientId,
    /// Buy or sell.
    pub side: Side,
    /// The limit. Any decimal: its sign and its tick are the exchange's to judge.
    pub price: Decimal,
    /// How much. Any decimal: its sign and its lot are the exchange's to judge.
    pub amount: Decimal,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// Which of the accounts authenticated on this connection; `None` is the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

/// The end of an order, wished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelOrder<'a> {
    /// The order, by its client's name.
    pub client_id: ClientId,
    /// What it trades.
    pub instrument_code: Cow<'a, str>,
    /// Which of the accounts authenticated on this connection; `None` is the first. Our extension.
    pub account_id: Option<Cow<'a, str>>,
}

/// Which way an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Bids.
    Buy,
    /// Asks.
    Sell,
}

impl Side {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Side::Buy => "BUY",
            Side::Sell => "SELL",
        }
    }

    /// From the wire's text.
    pub(crate) fn read(text: &str, field: &'static str) -> Result<Side, MessageFault> {
        match text {
            "BUY" => Ok(Side::Buy),
            "SELL" => Ok(Side::Sell),
            _ => Err(MessageFault::UnknownValue { field, allowed: "BUY, SELL" }),
        }
    }
}

/// How long an order stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// Rests until it is filled or cancelled.
    GoodTillCancelled,
    /// What does not trade at once is cancelled.
    ImmediateOrCancelled,
}

impl TimeInForce {
    /// As on the wire.
    pub fn name(self) -> &'static str {
        match self {
            TimeInForce::GoodTillCancelled => "GOOD_TILL_CANCELLED",
            TimeInForce::ImmediateOrCancelled => "IMMEDIATE_OR_CANCELLED",
        }
    }

    fn read(text: &str, field: &'static str) -> Result<TimeInForce, MessageFault> {
        match text {
            "GOOD_TILL_CANCELLED" => Ok(TimeInForce::GoodTillCancelled),
            "IMMEDIATE_OR_CANCELLED" | "IMMEDIATE_OR_CANCEL" => {
                Ok(TimeInForce::ImmediateOrCancelled)
            }
            _ => Err(MessageFault::UnknownValue {
                field,
                allowed: "GOOD_TILL_CANCELLED, IMMEDIATE_OR_CANCELLED",
            }),
        }
    }
}

/// A request that can't be carried out as it stands. With a client id it is answered by `REJECTED`,
/// without one by `ERROR`; `fault` in text is the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What is wrong.
    pub fault: MessageFault,
    /// The order it was about, if that could be read.
    pub client_id: Option<ClientId>,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for RequestError {}

#[derive(Default)]
struct RawRequest<'a> {
    kind: Slot<Text<'a>>,
    order: Slot<Object<RawOrder<'a>>>,
    client_id: Slot<Text<'a>>,
    instrument_code: Slot<Text<'a>>,
    account_id: Slot<Text<'a>>,
    api_token: Slot<Text<'a>>,
    channels: Slot<Vec<Slot<Object<RawChannel<'a>>>>>,
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
            "channels" => value.array(&mut self.channels),
            _ => value.skip(),
        }
    }
}

#[derive(Default)]
struct RawOrder<'a> {
    instrument_code: Slot<Text<'a>>,
    client_id: Slot<Text<'a>>,
    side: Slot<Text<'a>>,
    kind: Slot<Text<'a>>,
    price: Slot<Text<'a>>,
    amount: Slot<Text<'a>>,
    time_in_force: Slot<Text<'a>>,
}

impl<'a> Fields<'a> for RawOrder<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "instrument_code" => value.text(&mut self.instrument_code),
            "client_id" => value.text(&mut self.client_id),
            "side" => value.text(&mut self.side),
            "type" => value.text(&mut self.kind),
            "price" => value.text(&mut self.price),
            "amount" => value.text(&mut self.amount),
            "time_in_force" => value.text(&mut self.time_in_force),
            _ => value.skip(),
        }
    }
}

#[derive(Default)]
struct RawChannel<'a> {
    name: Slot<Text<'a>>,
}

impl<'a> Fields<'a> for RawChannel<'a> {
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault> {
        match key {
            "name" => value.text(&mut self.name),
            _ => value.skip(),
        }
    }
}

/// Decodes a client's message. Keys in any order, unknown keys ignored; `null` is absence.
pub fn decode_request(bytes: &[u8]) -> Result<Request<'_>, RequestError> {
    let mut raw = RawRequest::default();
    json::parse(bytes, &mut raw).map_err(|fault| RequestError { fault, client_id: None })?;
    raw.request().map_err(|fault| RequestError { fault, client_id: raw.any_client_id() })
}

impl<'a> RawRequest<'a> {
    fn request(&mut self) -> Result<Request<'a>, MessageFault> {
        match &**self.kind.get("type")? {
            "CREATE_ORDER" => self.create_order().map(Request::CreateOrder),
            "CANCEL_ORDER" => self.cancel_order().map(Request::CancelOrder),
            "AUTHENTICATE" => {
                let token = self.api_token.take("api_token")?;
                let api_token =
                    bounded(token, "api_token", "api_token_bytes_max", API_TOKEN_BYTES_MAX)?;
                Ok(Request::Authenticate { api_token })
            }
            "SUBSCRIBE" => self.channels().map(|channels| Request::Subscribe { channels }),
            _ => Err(MessageFault::UnknownType),
        }
    }

    fn create_order(&mut self) -> Result<CreateOrder<'a>, MessageFault> {
        let account_id = self.account_id()?;
        let Object(order) = self.order.get_mut("order")?;
        let client_id = client_id(&order.client_id, "order.client_id")?;
        if order.kind.get("order.type")? != "LIMIT" {
            return Err(MessageFault::UnknownValue { field: "order.type", allowed: "LIMIT" });
        }
        let side = Side::read(order.side.get("order.side")?, "order.side")?;
        let price = decimal(&order.price, "order.price")?;
        let amount = decimal(&order.amount, "order.amount")?;
        let time_in_force = order.time_in_force.get("order.time_in_force")?;
        let time_in_force = TimeInForce::read(time_in_force, "order.time_in_force")?;
        let instrument_code = instrument_code(&mut order.instrument_code, "order.instrument_code")?;
        Ok(CreateOrder {
            instrument_code,
            client_id,
            side,
            price,
            amount,
            time_in_force,
            account_id,
        })
    }

    fn cancel_order(&mut self) -> Result<CancelOrder<'a>, MessageFault> {
        Ok(CancelOrder {
            client_id: client_id(&self.client_id, "client_id")?,
            instrument_code: instrument_code(&mut self.instrument_code, "instrument_code")?,
            account_id: self.account_id()?,
        })
    }

    fn account_id(&mut self) -> Result<Option<Text<'a>>, MessageFault> {
        let text = self.account_id.take_optional("account_id")?;
        text.map(|text| bounded(text, "account_id", "account_id_bytes_max", ACCOUNT_ID_BYTES_MAX))
            .transpose()
    }

    fn channels(&mut self) -> Result<Vec<Text<'a>>, MessageFault> {
        let channels = self.channels.take("channels")?;
        if channels.len() > CHANNELS_MAX {
            let (field, limit) = ("channels", "channels_max");
            return Err(MessageFault::Limit { field, limit, max: CHANNELS_MAX });
        }
        let name = |mut channel: Slot<Object<RawChannel<'a>>>| {
            let Object(mut channel) = channel.take("channels[]")?;
            let (field, max) = ("channels[].name", CHANNEL_NAME_BYTES_MAX);
            bounded(channel.name.take(field)?, field, "channel_name_bytes_max", max)
        };
        channels.into_iter().map(name).collect()
    }

    /// The client id from wherever it stands, for the answer to a request that failed.
    fn any_client_id(&self) -> Option<ClientId> {
        let inner = match &self.order {
            Slot::Value(Object(order)) => client_id(&order.client_id, "").ok(),
            _ => None,
        };
        inner.or_else(|| client_id(&self.client_id, "").ok())
    }
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

fn instrument_code<'a>(
    slot: &mut Slot<Text<'a>>,
    field: &'static str,
) -> Result<Text<'a>, MessageFault> {
    let max = INSTRUMENT_CODE_BYTES_MAX;
    bounded(slot.take(field)?, field, "instrument_code_bytes_max", max)
}

/// Appends an `AUTHENTICATE`.
pub fn encode_authenticate(out: &mut Vec<u8>, api_token: &str) {
    out.extend_from_slice(br#"{"type":"AUTHENTICATE","api_token":"#);
    write_string(out, api_token.as_bytes());
    out.push(b'}');
}

/// Appends a `SUBSCRIBE`.
pub fn encode_subscribe(out: &mut Vec<u8>, channels: &[&str]) {
    out.extend_from_slice(br#"{"type":"SUBSCRIBE","channels":["#);
    for (i, channel) in channels.iter().enumerate() {
        out.extend_from_slice(if i == 0 { br#"{"name":"# } else { br#",{"name":"# });
        write_string(out, channel.as_bytes());
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}

/// Appends a `CREATE_ORDER`: the incumbent's 204 bytes for a UUID, `BTC_USDT`, price 1, amount 1.
pub fn encode_create_order(out: &mut Vec<u8>, order: &CreateOrder<'_>) {
    out.extend_from_slice(br#"{"type":"CREATE_ORDER","order":{"instrument_code":"#);
    write_string(out, order.instrument_code.as_bytes());
    out.extend_from_slice(br#","client_id":"#);
    write_string(out, order.client_id.as_bytes());
    out.extend_from_slice(match order.side {
        Side::Buy => br#","side":"BUY","type":"LIMIT","price":""#.as_slice(),
        Side::Sell => br#","side":"SELL","type":"LIMIT","price":""#,
    });
    order.price.write_to(out);
    out.extend_from_slice(br#"","amount":""#);
    order.amount.write_to(out);
    out.extend_from_slice(match order.time_in_force {
        TimeInForce::GoodTillCancelled => br#"","time_in_force":"GOOD_TILL_CANCELLED"}"#.as_slice(),
        TimeInForce::ImmediateOrCancelled => br#"","time_in_force":"IMMEDIATE_OR_CANCELLED"}"#,
    });
    write_account(out, order.account_id.as_deref());
    out.push(b'}');
}

/// Appends a `CANCEL_ORDER`: the incumbent's 103 bytes for a UUID and `BTC_USDT`.
pub fn encode_cancel_order(out: &mut Vec<u8>, cancel: &CancelOrder<'_>) {
    out.extend_from_slice(br#"{"type":"CANCEL_ORDER","client_id":"#);
    write_string(out, cancel.client_id.as_bytes());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, cancel.instrument_code.as_bytes());
    write_account(out, cancel.account_id.as_deref());
    out.push(b'}');
}

fn write_account(out: &mut Vec<u8>, account_id: Option<&str>) {
    if let Some(account_id) = account_id {
        out.extend_from_slice(br#","account_id":"#);
        write_string(out, account_id.as_bytes());
    }
}
