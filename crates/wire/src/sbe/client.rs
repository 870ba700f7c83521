//! A client's messages.

use crate::request::{
    AmendOrder, CancelOrder, CreateOrder, DeliveryClock, MassCancel, PostOnly, Request, Side,
    TimeInForce,
};
use crate::sbe::block::{CLOCK_BYTES, Put, Take, frame};
use crate::sbe::{FieldFault, FrameFault, MessageError};
use crate::{ClientId, Decimal};
use std::borrow::Cow;
use std::num::NonZeroU64;

const LOGON: u16 = 1;
pub(super) const HEARTBEAT: u16 = 4;
pub(super) const TERMINATE: u16 = 5;
const NEW_ORDER: u16 = 10;
const CANCEL_ORDER: u16 = 11;
const REPLACE_ORDER: u16 = 12;
const MASS_CANCEL: u16 = 13;
const STATUS_REQUEST: u16 = 14;

/// In the order of their numbers.
pub(super) const SIDES: [Side; 2] = [Side::Buy, Side::Sell];
/// In a mass cancel: every instrument, both sides.
const EVERY_INSTRUMENT: u16 = u16::MAX;
const BOTH_SIDES: u8 = u8::MAX;

/// The first message of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logon<'a> {
    /// The session to continue, as [`LogonAccepted`](super::exchange::LogonAccepted) named it; 0
    /// for none.
    pub session: u64,
    /// The last number of the exchange's messages that the client has of it.
    pub last_sequence: u64,
    /// Whether the exchange cancels the account's orders when the connection ends.
    pub cancel_on_disconnect: bool,
    /// The account's token.
    pub token: &'a str,
}

/// A message from a client. Requests count from 1 in their session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage<'a> {
    /// Log on.
    Logon(Logon<'a>),
    /// A sign of life.
    Heartbeat,
    /// The last message of the connection.
    Terminate {
        /// The reason, for the log.
        reason: &'a str,
    },
    /// A request that JSON has too: an order, a cancel, an amendment or a mass cancel.
    Request {
        /// Its number.
        sequence: u64,
        /// The request.
        request: Request<'a>,
    },
    /// Whether an order is open.
    StatusRequest {
        /// Its number.
        sequence: u64,
        /// The order.
        client_id: ClientId,
    },
}

/// A message that can't be decoded, and what of it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientMessageError {
    /// Its number; requests count from 1.
    pub sequence: Option<NonZeroU64>,
    /// Its client id.
    pub client_id: Option<ClientId>,
    /// The fault.
    pub why: MessageError,
}

/// Decodes a message, as [`split`](super::split) returns it. `codes` are those of the instruments
/// by number.
///
/// # Errors
/// It is no message of a client, or a field is invalid.
#[inline]
pub fn decode_client<'a>(
    message: &'a [u8],
    codes: &'a [String],
) -> Result<ClientMessage<'a>, ClientMessageError> {
    let mut known = KnownFields { sequence: None, client_id: None };
    decode(message, codes, &mut known).map_err(|why| {
        let KnownFields { sequence, client_id } = known;
        ClientMessageError { sequence, client_id, why }
    })
}

/// The fields of a message that were read before a fault.
struct KnownFields {
    sequence: Option<NonZeroU64>,
    client_id: Option<ClientId>,
}

impl KnownFields {
    #[inline]
    fn sequence(&mut self, take: &mut Take<'_>) -> Result<u64, MessageError> {
        let sequence = take.u64()?;
        self.sequence = NonZeroU64::new(sequence);
        Ok(sequence)
    }

    #[inline]
    fn client_id(&mut self, take: &mut Take<'_>) -> Result<ClientId, MessageError> {
        let client_id = take.named()?;
        self.client_id = Some(client_id);
        Ok(client_id)
    }
}

#[inline]
fn decode<'a>(
    message: &'a [u8],
    codes: &'a [String],
    known: &mut KnownFields,
) -> Result<ClientMessage<'a>, MessageError> {
    let mut take = Take::new(message)?;
    let code = |number: u16| -> Result<Cow<'a, str>, MessageError> {
        let expected = "the number of an instrument";
        let unknown = FieldFault::Value { field: "instrument", expected };
        Ok(codes.get(usize::from(number)).ok_or(unknown)?.as_str().into())
    };
    if (NEW_ORDER..=STATUS_REQUEST).contains(&take.template) {
        let sequence = known.sequence(&mut take)?;
        let request = match take.template {
            NEW_ORDER => Request::CreateOrder(new_order(&mut take, code, known)?),
            CANCEL_ORDER => Request::CancelOrder(CancelOrder {
                client_id: known.client_id(&mut take)?,
                instrument_code: code(take.u16()?)?,
                account_id: None,
            }),
            REPLACE_ORDER => Request::AmendOrder(AmendOrder {
                client_id: known.client_id(&mut take)?,
                new_client_id: take.client_id()?,
                instrument_code: code(take.u16()?)?,
                price: take.decimal("price")?,
                amount: take.some("amount")?,
                delivery: take.clock()?,
                account_id: None,
            }),
            MASS_CANCEL => Request::MassCancel(mass_cancel(&mut take, code, known)?),
            _ => {
                let client_id = known.client_id(&mut take)?;
                return Ok(ClientMessage::StatusRequest { sequence, client_id });
            }
        };
        return Ok(ClientMessage::Request { sequence, request });
    }
    match take.template {
        LOGON => Ok(ClientMessage::Logon(Logon {
            session: take.u64()?,
            last_sequence: take.u64()?,
            cancel_on_disconnect: take.flag("cancelOnDisconnect")?,
            token: take.text("token")?,
        })),
        HEARTBEAT => Ok(ClientMessage::Heartbeat),
        TERMINATE => Ok(ClientMessage::Terminate { reason: take.text("reason")? }),
        found => Err(FrameFault::Template { found }.into()),
    }
}

#[inline]
fn new_order<'a>(
    take: &mut Take<'a>,
    code: impl Fn(u16) -> Result<Cow<'a, str>, MessageError>,
    known: &mut KnownFields,
) -> Result<CreateOrder<'a>, MessageError> {
    let client_id = known.client_id(take)?;
    let instrument_code = code(take.u16()?)?;
    let side = take.one_of("side", &SIDES, "0 (buy) or 1 (sell)")?;
    let in_force = take.one_of("timeInForce", &[0, 1, 2, 3], "0 to 3")?;
    let post_only = [None, Some(PostOnly::Reject), Some(PostOnly::Reprice)];
    let post_only = take.one_of("postOnly", &post_only, "0 to 2")?;
    let (price, amount) = (take.decimal("price")?, take.some("amount")?);
    let (display_amount, stop_price) = (take.decimal("displayAmount")?, take.decimal("stopPrice")?);
    let expire_time_ms = take.i64()?;
    let time_in_force = match in_force {
        0 => TimeInForce::GoodTillCancelled,
        1 => TimeInForce::ImmediateOrCancelled,
        2 => TimeInForce::FillOrKill,
        _ => TimeInForce::GoodTillDate { expire_time_ms },
    };
    Ok(CreateOrder {
        instrument_code,
        client_id,
        side,
        price,
        amount,
        time_in_force,
        stop_price,
        display_amount,
        post_only,
        delivery: take.clock()?,
        account_id: None,
    })
}

fn mass_cancel<'a>(
    take: &mut Take<'a>,
    code: impl Fn(u16) -> Result<Cow<'a, str>, MessageError>,
    known: &mut KnownFields,
) -> Result<MassCancel<'a>, MessageError> {
    let client_id = take.client_id()?;
    known.client_id = client_id;
    let instrument_code = match take.u16()? {
        EVERY_INSTRUMENT => None,
        number => Some(code(number)?),
    };
    let side = match take.u8()? {
        0 => Some(Side::Buy),
        1 => Some(Side::Sell),
        BOTH_SIDES => None,
        _ => {
            let expected = "0 (buy), 1 (sell) or 255 (both)";
            return Err(FieldFault::Value { field: "side", expected }.into());
        }
    };
    Ok(MassCancel { client_id, instrument_code, side, account_id: None })
}

/// Appends a `Logon`.
pub fn encode_logon(out: &mut Vec<u8>, logon: &Logon<'_>) {
    let mut put = Put::<{ frame(17) }>::new(LOGON);
    put.u64(logon.session);
    put.u64(logon.last_sequence);
    put.u8(logon.cancel_on_disconnect.into());
    put.end_with(logon.token, out);
}

/// Appends a `Heartbeat` of either side; `next_sequence` is the number of its next message.
pub fn encode_heartbeat(out: &mut Vec<u8>, next_sequence: u64) {
    let mut put = Put::<{ frame(8) }>::new(HEARTBEAT);
    put.u64(next_sequence);
    put.end(out);
}

/// Appends a `Terminate` of either side.
pub fn encode_terminate(out: &mut Vec<u8>, reason: &str) {
    Put::<{ frame(0) }>::new(TERMINATE).end_with(reason, out);
}

/// Appends a `NewOrder` for the instrument with this number. Its account is the session's.
#[inline]
pub fn encode_new_order(
    out: &mut Vec<u8>,
    sequence: u64,
    instrument: u16,
    order: &CreateOrder<'_>,
) {
    let (in_force, expire_time_ms) = match order.time_in_force {
        TimeInForce::GoodTillCancelled => (0, 0),
        TimeInForce::ImmediateOrCancelled => (1, 0),
        TimeInForce::FillOrKill => (2, 0),
        TimeInForce::GoodTillDate { expire_time_ms } => (3, expire_time_ms),
    };
    let post_only = match order.post_only {
        None => 0,
        Some(PostOnly::Reject) => 1,
        Some(PostOnly::Reprice) => 2,
    };
    let mut put = Put::<{ frame(120 + CLOCK_BYTES) }>::new(NEW_ORDER);
    put.u64(sequence);
    put.client_id(Some(&order.client_id));
    put.u16(instrument);
    put.u8(order.side as u8);
    put.u8(in_force);
    put.u8(post_only);
    put.decimal(order.price);
    put.decimal(Some(order.amount));
    put.decimal(order.display_amount);
    put.decimal(order.stop_price);
    put.i64(expire_time_ms);
    put.clock(order.delivery);
    put.end(out);
}

/// Appends a `CancelOrder`.
#[inline]
pub fn encode_cancel_order(
    out: &mut Vec<u8>,
    sequence: u64,
    instrument: u16,
    client_id: &ClientId,
) {
    let mut put = Put::<{ frame(73) }>::new(CANCEL_ORDER);
    put.u64(sequence);
    put.client_id(Some(client_id));
    put.u16(instrument);
    put.end(out);
}

/// A replacement of an open order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement<'a> {
    /// The order.
    pub client_id: &'a ClientId,
    /// Its new client id; `None`: it keeps its own.
    pub new_client_id: Option<&'a ClientId>,
    /// Its new price; `None` for a stop that is a market order.
    pub price: Option<Decimal>,
    /// The amount that shall remain.
    pub amount: Decimal,
    /// The tick that caused it, for an exchange with a delivery window.
    pub delivery: Option<DeliveryClock>,
}

/// Appends a `ReplaceOrder`.
pub fn encode_replace_order(
    out: &mut Vec<u8>,
    sequence: u64,
    instrument: u16,
    replacement: &Replacement<'_>,
) {
    let mut put = Put::<{ frame(154 + CLOCK_BYTES) }>::new(REPLACE_ORDER);
    put.u64(sequence);
    put.client_id(Some(replacement.client_id));
    put.client_id(replacement.new_client_id);
    put.u16(instrument);
    put.decimal(replacement.price);
    put.decimal(Some(replacement.amount));
    put.clock(replacement.delivery);
    put.end(out);
}

/// Appends a `MassCancel` of one instrument and side, or of all.
pub fn encode_mass_cancel(
    out: &mut Vec<u8>,
    sequence: u64,
    client_id: Option<&ClientId>,
    instrument: Option<u16>,
    side: Option<Side>,
) {
    let mut put = Put::<{ frame(74) }>::new(MASS_CANCEL);
    put.u64(sequence);
    put.client_id(client_id);
    put.u16(instrument.unwrap_or(EVERY_INSTRUMENT));
    put.u8(side.map_or(BOTH_SIDES, |side| side as u8));
    put.end(out);
}

/// Appends a `StatusRequest`.
pub fn encode_status_request(out: &mut Vec<u8>, sequence: u64, client_id: &ClientId) {
    let mut put = Put::<{ frame(71) }>::new(STATUS_REQUEST);
    put.u64(sequence);
    put.client_id(Some(client_id));
    put.end(out);
}
