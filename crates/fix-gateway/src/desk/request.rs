//! From a message of the client to a request of the exchange.

use super::fields::Fields;
use super::market::request::{MarketDataRequest, Rejection};
use super::market::securities::{ListRequest, Securities};
use super::pending::Question;
use fix::message::Message;
use fix::tag::{DELIVERY_RESPONSE_NS, DELIVERY_TICK, POST_ONLY_REPRICE};
use fix::time::parse_timestamp;
use wire::client_id::ClientId;
use wire::decimal::Decimal;
use wire::request::{CreateOrder, DeliveryClock, PostOnly, Side, TimeInForce};

/// A request of the client, checked as far as it can be without the exchange.
#[derive(Debug)]
pub(super) enum Request<'a> {
    New { create: CreateOrder<'a>, kind: char, is_resent: bool },
    Cancel(Change<'a>),
    Replace(Replace<'a>),
    Status { id: ClientId, question: Box<Question> },
    MassCancel { id: ClientId, symbol: Option<&'a str>, side: Option<Side>, kind: char },
    MarketData(std::result::Result<MarketDataRequest, (String, Rejection)>),
    SecurityList(ListRequest),
}

/// The order that a request is about, and the request's own id.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// OrigClOrdID (41).
    pub target: ClientId,
    /// ClOrdID (11).
    pub id: ClientId,
    pub symbol: &'a str,
    pub side: Side,
}

/// Terms of a replacement.
#[derive(Debug)]
pub(super) struct Replace<'a> {
    pub change: Change<'a>,
    pub kind: char,
    pub price: Option<Decimal>,
    pub stop: Option<Decimal>,
    /// OrderQty (38).
    pub quantity: Decimal,
    pub delivery: Option<DeliveryClock>,
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

impl<'a> Request<'a> {
    /// Reads a message that the dictionary has checked, for that account.
    pub fn of(
        message: Message<'a>,
        account: &str,
        securities: &Securities,
    ) -> std::result::Result<Request<'a>, Box<Problem>> {
        read(message, account, securities).map_err(|(reason, text)| {
            Box::new(Problem {
                seq: message.number(fix::tag::MSG_SEQ_NUM).unwrap_or(0),
                msg_type: String::from_utf8_lossy(message.msg_type()).into_owned(),
                id: message.text(11).map(str::to_owned),
                reason,
                text,
            })
        })
    }

    /// MsgType and ClOrdID, if it waits for a reply of the exchange.
    pub fn that_waits(&self) -> Option<(&'static str, ClientId)> {
        match self {
            Request::New { create, .. } => Some(("D", create.client_id)),
            Request::Cancel(change) => Some(("F", change.id)),
            Request::Replace(replace) => Some(("G", replace.change.id)),
            Request::MassCancel { id, .. } => Some(("q", *id)),
            Request::Status { id, .. } => Some(("H", *id)),
            Request::MarketData(_) | Request::SecurityList(_) => None,
        }
    }
}

fn read<'a>(message: Message<'a>, account: &str, securities: &Securities) -> Result<Request<'a>> {
    let fields = &Fields::of(message);
    if let Some(other) = fields.text(1).filter(|other| *other != account) {
        return Err((NOT_AUTHORIZED, format!("Account (1) {other} is not this session's")));
    }
    match message.msg_type() {
        b"D" => new_order(fields),
        b"F" => Ok(Request::Cancel(change(fields)?)),
        b"G" => Ok(Request::Replace(Replace {
            change: change(fields)?,
            kind: kind(fields)?,
            price: decimal(fields, 44)?,
            stop: decimal(fields, 99)?,
            quantity: needed_decimal(fields, 38)?,
            delivery: delivery(fields)?,
        })),
        b"H" => Ok(Request::Status {
            id: client_id(fields, 11)?,
            question: Box::new(Question {
                symbol: text(fields, 55)?.to_owned(),
                side: needed_side(fields)?,
                status_id: fields.text(790).map(str::to_owned),
            }),
        }),
        b"q" => mass_cancel(fields),
        b"V" => Ok(Request::MarketData(MarketDataRequest::of(message, securities))),
        b"x" => Ok(Request::SecurityList(ListRequest::of(message))),
        _ => Err((UNSUPPORTED, "Unsupported message type".to_owned())),
    }
}

fn new_order<'a>(fields: &Fields<'a>) -> Result<Request<'a>> {
    let kind = kind(fields)?;
    let (price, stop_price) = (decimal(fields, 44)?, decimal(fields, 99)?);
    if matches!(kind, '2' | '4') != price.is_some() {
        return Err((FIELD_MISSING, format!("Price (44) is for OrdType (40) 2 and 4, not {kind}")));
    }
    if matches!(kind, '3' | '4') != stop_price.is_some() {
        let text = format!("StopPx (99) is for OrdType (40) 3 and 4, not {kind}");
        return Err((FIELD_MISSING, text));
    }
    let create = CreateOrder {
        instrument_code: text(fields, 55)?.into(),
        client_id: client_id(fields, 11)?,
        side: needed_side(fields)?,
        price,
        amount: needed_decimal(fields, 38)?,
        time_in_force: time_in_force(fields, kind)?,
        stop_price,
        display_amount: decimal(fields, 111)?,
        post_only: post_only(fields)?,
        delivery: delivery(fields)?,
        account_id: None,
    };
    Ok(Request::New { create, kind, is_resent: fields.is_set(97) })
}

fn post_only(fields: &Fields<'_>) -> Result<Option<PostOnly>> {
    match (fields.get(18), fields.is_set(POST_ONLY_REPRICE)) {
        (None, false) => Ok(None),
        (Some(_), false) => Ok(Some(PostOnly::Reject)),
        (Some(_), true) => Ok(Some(PostOnly::Reprice)),
        (None, true) => {
            Err((FIELD_MISSING, "PostOnlyReprice (8021) needs ExecInst (18) 6".to_owned()))
        }
    }
}

/// The tick that caused it and its response time: both or none.
fn delivery(fields: &Fields<'_>) -> Result<Option<DeliveryClock>> {
    let number = |tag| match (fields.get(tag), fields.number(tag)) {
        (None, _) => Ok(None),
        (Some(_), Some(number)) => Ok(Some(number)),
        (Some(_), None) => Err((OTHER, format!("tag {tag} is not a number from 0"))),
    };
    match (number(DELIVERY_TICK)?, number(DELIVERY_RESPONSE_NS)?) {
        (None, None) => Ok(None),
        (Some(tick), Some(response_ns)) => Ok(Some(DeliveryClock { tick, response_ns })),
        (tick, _) => {
            let (there, lacking) = match tick {
                Some(_) => (DELIVERY_TICK, DELIVERY_RESPONSE_NS),
                None => (DELIVERY_RESPONSE_NS, DELIVERY_TICK),
            };
            Err((FIELD_MISSING, format!("tag {there} needs tag {lacking}: send both, or none")))
        }
    }
}

fn mass_cancel<'a>(fields: &Fields<'a>) -> Result<Request<'a>> {
    let kind = character(fields, 530)?;
    let symbol = fields.text(55);
    if (kind == '1') != symbol.is_some() {
        let text = "Symbol (55) is for MassCancelRequestType (530) 1".to_owned();
        return Err((FIELD_MISSING, text));
    }
    Ok(Request::MassCancel { id: client_id(fields, 11)?, symbol, side: side(fields), kind })
}

fn change<'a>(fields: &Fields<'a>) -> Result<Change<'a>> {
    Ok(Change {
        target: client_id(fields, 41)?,
        id: client_id(fields, 11)?,
        symbol: text(fields, 55)?,
        side: needed_side(fields)?,
    })
}

/// Without TimeInForce a limit is good till cancelled, since the exchange has no trading day that a
/// day order could end with, and a market order is immediate.
fn time_in_force(fields: &Fields<'_>, kind: char) -> Result<TimeInForce> {
    match fields.get(59) {
        None if matches!(kind, '1' | '3') => Ok(TimeInForce::ImmediateOrCancelled),
        None | Some(b"1") => Ok(TimeInForce::GoodTillCancelled),
        Some(b"3") => Ok(TimeInForce::ImmediateOrCancelled),
        Some(b"4") => Ok(TimeInForce::FillOrKill),
        _ => {
            let text = "TimeInForce (59) 6 needs ExpireTime (126)".to_owned();
            let ns = fields.get(126).and_then(parse_timestamp).ok_or((FIELD_MISSING, text))?;
            Ok(TimeInForce::GoodTillDate { expire_time_ms: (ns / 1_000_000) as i64 })
        }
    }
}

fn text<'a>(fields: &Fields<'a>, tag: u32) -> Result<&'a str> {
    fields.text(tag).ok_or_else(|| (OTHER, format!("tag {tag} is missing or not UTF-8")))
}

fn client_id(fields: &Fields<'_>, tag: u32) -> Result<ClientId> {
    let text = text(fields, tag)?;
    ClientId::new(text).map_err(|error| (OTHER, format!("tag {tag}: {error}")))
}

fn decimal(fields: &Fields<'_>, tag: u32) -> Result<Option<Decimal>> {
    let Some(text) = fields.text(tag) else { return Ok(None) };
    match Decimal::parse(text) {
        Ok(number) => Ok(Some(number)),
        Err(error) => Err((OTHER, format!("tag {tag}: {error}"))),
    }
}

fn needed_decimal(fields: &Fields<'_>, tag: u32) -> Result<Decimal> {
    decimal(fields, tag)?.ok_or_else(|| (FIELD_MISSING, format!("tag {tag} is missing")))
}

fn character(fields: &Fields<'_>, tag: u32) -> Result<char> {
    let value = fields.text(tag).and_then(|text| text.chars().next());
    value.ok_or_else(|| (FIELD_MISSING, format!("tag {tag} is missing")))
}

fn kind(fields: &Fields<'_>) -> Result<char> {
    character(fields, 40)
}

fn side(fields: &Fields<'_>) -> Option<Side> {
    match fields.get(54) {
        Some(b"1") => Some(Side::Buy),
        Some(b"2") => Some(Side::Sell),
        _ => None,
    }
}

fn needed_side(fields: &Fields<'_>) -> Result<Side> {
    side(fields).ok_or_else(|| (FIELD_MISSING, "Side (54) is missing".to_owned()))
}
