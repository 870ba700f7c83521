//! From a message of the client to a request of the exchange.

use fix::message::Message;
use fix::time::parse_timestamp;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::request::{CreateOrder, PostOnly, Side, TimeInForce};

/// A request of the client, checked as far as it can be without the exchange.
#[derive(Debug)]
pub(super) enum Request {
    New { create: CreateOrder<'static>, kind: char, is_resent: bool },
    Cancel(Change),
    Replace { change: Change, kind: char, price: Option<Decimal>, quantity: Decimal },
    Status { id: ClientId, symbol: String, side: Side, status_id: Option<String> },
    MassCancel { id: ClientId, symbol: Option<String>, side: Option<Side>, kind: char },
}

/// The order that a request is about, and the request's own id.
#[derive(Debug)]
pub(super) struct Change {
    /// OrigClOrdID (41).
    pub target: ClientId,
    /// ClOrdID (11).
    pub id: ClientId,
    pub symbol: String,
}

/// Why a message is no request: a BusinessMessageReject.
#[derive(Debug)]
pub(super) struct Problem {
    pub seq: u64,
    pub msg_type: String,
    /// ClOrdID, if there is one.
    pub id: Option<String>,
    /// BusinessRejectReason (380).
    pub reason: u64,
    pub text: String,
}

const OTHER: u64 = 0;
const UNSUPPORTED: u64 = 3;
const FIELD_MISSING: u64 = 5;
const NOT_AUTHORIZED: u64 = 6;

type Result<T> = std::result::Result<T, (u64, String)>;

impl Request {
    /// Reads a message that the dictionary has checked, for that account.
    pub fn of(message: Message<'_>, account: &str) -> std::result::Result<Request, Box<Problem>> {
        read(message, account).map_err(|(reason, text)| {
            Box::new(Problem {
                seq: message.number(fix::tag::MSG_SEQ_NUM).unwrap_or(0),
                msg_type: String::from_utf8_lossy(message.msg_type()).into_owned(),
                id: message.text(11).map(str::to_owned),
                reason,
                text,
            })
        })
    }
}

fn read(message: Message<'_>, account: &str) -> Result<Request> {
    if let Some(other) = message.text(1).filter(|other| *other != account) {
        return Err((NOT_AUTHORIZED, format!("Account (1) {other} is not this session's")));
    }
    match message.msg_type() {
        b"D" => new_order(message),
        b"F" => Ok(Request::Cancel(change(message)?)),
        b"G" => Ok(Request::Replace {
            change: change(message)?,
            kind: kind(message)?,
            price: decimal(message, 44)?,
            quantity: needed_decimal(message, 38)?,
        }),
        b"H" => Ok(Request::Status {
            id: client_id(message, 11)?,
            symbol: text(message, 55)?,
            side: needed_side(message)?,
            status_id: message.text(790).map(str::to_owned),
        }),
        b"q" => mass_cancel(message),
        _ => Err((UNSUPPORTED, "Unsupported message type".to_owned())),
    }
}

fn new_order(message: Message<'_>) -> Result<Request> {
    let kind = kind(message)?;
    let (price, stop_price) = (decimal(message, 44)?, decimal(message, 99)?);
    if matches!(kind, '2' | '4') != price.is_some() {
        return Err((FIELD_MISSING, format!("Price (44) is for OrdType (40) 2 and 4, not {kind}")));
    }
    if matches!(kind, '3' | '4') != stop_price.is_some() {
        let text = format!("StopPx (99) is for OrdType (40) 3 and 4, not {kind}");
        return Err((FIELD_MISSING, text));
    }
    let create = CreateOrder {
        instrument_code: text(message, 55)?.into(),
        client_id: client_id(message, 11)?,
        side: needed_side(message)?,
        price,
        amount: needed_decimal(message, 38)?,
        time_in_force: time_in_force(message, kind)?,
        stop_price,
        display_amount: decimal(message, 111)?,
        post_only: message.get(18).map(|_| PostOnly::Reject),
        delivery: None,
        account_id: None,
    };
    Ok(Request::New { create, kind, is_resent: message.is_set(97) })
}

fn mass_cancel(message: Message<'_>) -> Result<Request> {
    let kind = character(message, 530)?;
    let symbol = message.text(55).map(str::to_owned);
    if (kind == '1') != symbol.is_some() {
        let text = "Symbol (55) is for MassCancelRequestType (530) 1".to_owned();
        return Err((FIELD_MISSING, text));
    }
    Ok(Request::MassCancel { id: client_id(message, 11)?, symbol, side: side(message), kind })
}

fn change(message: Message<'_>) -> Result<Change> {
    Ok(Change {
        target: client_id(message, 41)?,
        id: client_id(message, 11)?,
        symbol: text(message, 55)?,
    })
}

/// Without TimeInForce a limit is good till cancelled, since the exchange has no trading day that a
/// day order could end with, and a market order is immediate.
fn time_in_force(message: Message<'_>, kind: char) -> Result<TimeInForce> {
    match message.get(59) {
        None if matches!(kind, '1' | '3') => Ok(TimeInForce::ImmediateOrCancelled),
        None | Some(b"1") => Ok(TimeInForce::GoodTillCancelled),
        Some(b"3") => Ok(TimeInForce::ImmediateOrCancelled),
        Some(b"4") => Ok(TimeInForce::FillOrKill),
        _ => {
            let text = "TimeInForce (59) 6 needs ExpireTime (126)".to_owned();
            let ns = message.get(126).and_then(parse_timestamp).ok_or((FIELD_MISSING, text))?;
            Ok(TimeInForce::GoodTillDate { expire_time_ms: (ns / 1_000_000) as i64 })
        }
    }
}

fn text(message: Message<'_>, tag: u32) -> Result<String> {
    let text = message.text(tag).map(str::to_owned);
    text.ok_or_else(|| (OTHER, format!("tag {tag} is missing or not UTF-8")))
}

fn client_id(message: Message<'_>, tag: u32) -> Result<ClientId> {
    let text = text(message, tag)?;
    ClientId::new(&text).map_err(|error| (OTHER, format!("tag {tag}: {error}")))
}

fn decimal(message: Message<'_>, tag: u32) -> Result<Option<Decimal>> {
    let Some(text) = message.text(tag) else { return Ok(None) };
    match Decimal::parse(text) {
        Ok(number) => Ok(Some(number)),
        Err(error) => Err((OTHER, format!("tag {tag}: {error}"))),
    }
}

fn needed_decimal(message: Message<'_>, tag: u32) -> Result<Decimal> {
    decimal(message, tag)?.ok_or_else(|| (FIELD_MISSING, format!("tag {tag} is missing")))
}

fn character(message: Message<'_>, tag: u32) -> Result<char> {
    let value = message.text(tag).and_then(|text| text.chars().next());
    value.ok_or_else(|| (FIELD_MISSING, format!("tag {tag} is missing")))
}

fn kind(message: Message<'_>) -> Result<char> {
    character(message, 40)
}

fn side(message: Message<'_>) -> Option<Side> {
    match message.get(54) {
        Some(b"1") => Some(Side::Buy),
        Some(b"2") => Some(Side::Sell),
        _ => None,
    }
}

fn needed_side(message: Message<'_>) -> Result<Side> {
    side(message).ok_or_else(|| (FIELD_MISSING, "Side (54) is missing".to_owned()))
}
