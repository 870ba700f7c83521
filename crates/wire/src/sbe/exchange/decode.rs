//! Decoding, for clients.

use crate::reply::{
    DoneStatus, Fill, OrderAmended, OrderBooked, OrderDone, OrderEnded, Reply, RequestApplied,
    RequestRejected, StopTriggered, StopWaiting, TradePrevented,
};
use crate::request::Side;
use crate::sbe::block::Take;
use crate::sbe::client::{HEARTBEAT, SIDES, TERMINATE};
use crate::sbe::exchange::{
    BOOKED, CODE_BYTES, DONE, ENDED, ExchangeMessage, FILL, INSTRUMENT, InstrumentDefinition,
    LOGON_ACCEPTED, LogonAccepted, MASS_CANCELLED, Names, OrderStatus, REJECTED, REPLACED, STATUS,
    TRIGGERED, WAITING,
};
use crate::sbe::{FieldFault, FrameFault, MessageError};
use crate::{ClientId, OrderId};
use std::borrow::Cow;

/// Decodes a message, as [`split`](crate::sbe::split) returns it.
///
/// # Errors
/// It is no message of an exchange, or a field is invalid.
pub fn decode_exchange<'a>(
    message: &'a [u8],
    names: Names<'a>,
) -> Result<ExchangeMessage<'a>, MessageError> {
    let mut take = Take::new(message)?;
    Ok(match take.template {
        LOGON_ACCEPTED => ExchangeMessage::LogonAccepted(LogonAccepted {
            session: take.u64()?,
            received_sequence: take.u64()?,
            next_sequence: take.u64()?,
            lost: take.u64()?,
            heartbeat_ms: take.u32()?,
            instruments: take.u16()?,
        }),
        INSTRUMENT => ExchangeMessage::Instrument(instrument(&mut take, message)?),
        HEARTBEAT => ExchangeMessage::Heartbeat { next_sequence: take.u64()? },
        TERMINATE => ExchangeMessage::Terminate { reason: take.text("reason")? },
        BOOKED..=REJECTED => {
            let (sequence, time_ms) = (take.u64()?, take.i64()?);
            let reply = report(&mut take, time_ms, names)?;
            ExchangeMessage::Report { sequence, reply }
        }
        STATUS => {
            let (sequence, time_ms) = (take.u64()?, take.i64()?);
            let status = OrderStatus {
                order_id: OrderId::from_u64(take.u64()?),
                client_id: take.named()?,
                instrument: take.u16()?,
                amount: take.some("amount")?,
                time_ms,
            };
            ExchangeMessage::Status { sequence, status }
        }
        ENDED => {
            let (sequence, time_ms) = (take.u64()?, take.i64()?);
            let reply = Reply::Ended(OrderEnded {
                order_id: OrderId::from_u64(take.u64()?),
                client_id: take.named()?,
                status: done_status(&mut take)?,
                time_ms,
                uid: names.account.into(),
            });
            ExchangeMessage::Report { sequence, reply }
        }
        found => return Err(FrameFault::Template { found }.into()),
    })
}

fn instrument<'a>(
    take: &mut Take<'a>,
    message: &'a [u8],
) -> Result<InstrumentDefinition<'a>, MessageError> {
    let (number, tick, lot) = (take.u16()?, take.some("tick")?, take.some("lot")?);
    let code: [u8; CODE_BYTES] = take.take()?;
    let length = code.iter().position(|byte| *byte == 0).unwrap_or(CODE_BYTES);
    // The last field of a block of 52 bytes.
    let at = crate::sbe::MESSAGE_HEAD_BYTES + 52 - CODE_BYTES;
    let code = std::str::from_utf8(&message[at..at + length]);
    let expected = "UTF-8, padded with zeros";
    let code = code.map_err(|_| FieldFault::Value { field: "code", expected })?;
    Ok(InstrumentDefinition { number, tick, lot, code })
}

/// The fields with which a report on an order begins, after its number and time.
struct OrderHead<'a> {
    order_id: OrderId,
    order_book_sequence: i64,
    trade_id: i64,
    client_id: ClientId,
    replaced_client_id: Option<ClientId>,
    instrument_code: Cow<'a, str>,
}

impl<'a> OrderHead<'a> {
    fn take(take: &mut Take<'a>, names: Names<'a>) -> Result<OrderHead<'a>, MessageError> {
        let (order_id, order_book_sequence) = (OrderId::from_u64(take.u64()?), take.i64()?);
        let trade_id = if take.template == FILL { take.i64()? } else { 0 };
        let client_id = take.named()?;
        let replaced_client_id = if take.template == REPLACED { take.client_id()? } else { None };
        let expected = "the number of an instrument that the exchange named";
        let code = names.codes.get(usize::from(take.u16()?));
        let code = code.ok_or(FieldFault::Value { field: "instrument", expected })?;
        let instrument_code = code.as_str().into();
        Ok(OrderHead {
            order_id,
            order_book_sequence,
            trade_id,
            client_id,
            replaced_client_id,
            instrument_code,
        })
    }
}

fn side(take: &mut Take<'_>) -> Result<Side, MessageError> {
    take.one_of("side", &SIDES, "0 (buy) or 1 (sell)")
}

fn done_status(take: &mut Take<'_>) -> Result<DoneStatus, MessageError> {
    take.one_of("status", &DoneStatus::ALL, "0 to 5")
}

fn report<'a>(
    take: &mut Take<'a>,
    time_ms: i64,
    names: Names<'a>,
) -> Result<Reply<'a>, MessageError> {
    let uid: Cow<'a, str> = names.account.into();
    match take.template {
        MASS_CANCELLED => {
            let (client_id, count) = (take.client_id()?, take.i64()?);
            return Ok(Reply::MassCancelled(RequestApplied { client_id, count, time_ms, uid }));
        }
        REJECTED => {
            let (client_id, reason) = (take.client_id()?, take.text("reason")?.into());
            return Ok(match client_id {
                None => Reply::Error { reason },
                Some(client_id) => {
                    Reply::Rejected(RequestRejected { client_id, reason, time_ms, uid })
                }
            });
        }
        _ => {}
    }
    let head = OrderHead::take(take, names)?;
    let OrderHead { order_id, order_book_sequence, client_id, instrument_code, .. } = head;
    Ok(match take.template {
        BOOKED => Reply::Booked(OrderBooked {
            client_id,
            instrument_code,
            side: side(take)?,
            price: take.some("price")?,
            amount: take.some("amount")?,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        FILL => Reply::Fill(Fill {
            client_id,
            instrument_code,
            side: side(take)?,
            price: take.some("price")?,
            amount: take.some("amount")?,
            remaining: take.some("remaining")?,
            order_id,
            trade_id: head.trade_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        DONE => Reply::Done(OrderDone {
            client_id,
            instrument_code,
            status: done_status(take)?,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        REPLACED => Reply::Amended(OrderAmended {
            client_id,
            replaced_client_id: head.replaced_client_id,
            instrument_code,
            side: side(take)?,
            place_kept: take.flag("placeKept")?,
            price: take.decimal("price")?,
            amount: take.some("amount")?,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        WAITING => Reply::Waiting(StopWaiting {
            client_id,
            instrument_code,
            side: side(take)?,
            stop_price: take.some("stopPrice")?,
            amount: take.some("amount")?,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        TRIGGERED => Reply::Triggered(StopTriggered {
            client_id,
            instrument_code,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
        _ => Reply::Decremented(TradePrevented {
            client_id,
            instrument_code,
            side: side(take)?,
            price: take.some("price")?,
            amount: take.some("amount")?,
            remaining: take.some("remaining")?,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }),
    })
}
