//! Encoding.

use crate::ClientId;
use crate::reply::{
    Fill, OrderAmended, OrderBooked, OrderDone, OrderEnded, RequestApplied, StopTriggered,
    StopWaiting, TradePrevented,
};
use crate::sbe::block::{Put, frame};
use crate::sbe::exchange::{
    BOOKED, CODE_BYTES, DECREMENTED, DONE, ENDED, FILL, INSTRUMENT, InstrumentDefinition,
    LOGON_ACCEPTED, LogonAccepted, MASS_CANCELLED, OrderStatus, REJECTED, REPLACED, STATUS,
    TRIGGERED, WAITING,
};

/// Appends a `LogonAccepted`.
pub fn encode_logon_accepted(out: &mut Vec<u8>, accepted: &LogonAccepted) {
    let mut put = Put::<{ frame(38) }>::new(LOGON_ACCEPTED);
    put.u64(accepted.session);
    put.u64(accepted.received_sequence);
    put.u64(accepted.next_sequence);
    put.u64(accepted.lost);
    put.put(accepted.heartbeat_ms.to_le_bytes());
    put.u16(accepted.instruments);
    put.end(out);
}

/// Appends an `Instrument`.
pub fn encode_instrument(out: &mut Vec<u8>, definition: &InstrumentDefinition<'_>) {
    let mut put = Put::<{ frame(52) }>::new(INSTRUMENT);
    put.u16(definition.number);
    put.decimal(Some(definition.tick));
    put.decimal(Some(definition.lot));
    let code = definition.code.as_bytes();
    put.put::<CODE_BYTES>(std::array::from_fn(|at| code.get(at).copied().unwrap_or(0)));
    put.end(out);
}

/// The number of a report and that of its instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportNumbers {
    /// The report's number in its session.
    pub sequence: u64,
    /// The instrument's number.
    pub instrument: u16,
}

/// The fields before the client id.
macro_rules! begin {
    ($template:expr, $block:literal, $place:expr, $report:expr) => {{
        let mut put = Put::<{ frame($block) }>::new($template);
        put.u64($place.sequence);
        put.i64($report.time_ms);
        // Ids of another exchange have no number.
        put.u64($report.order_id.to_u64().unwrap_or(0));
        put.i64($report.order_book_sequence);
        put
    }};
}

/// Appends a `Booked`.
#[inline]
pub fn encode_booked(out: &mut Vec<u8>, place: ReportNumbers, booked: &OrderBooked<'_>) {
    let mut put = begin!(BOOKED, 116, place, booked);
    put.client_id(Some(&booked.client_id));
    put.u16(place.instrument);
    put.u8(booked.side as u8);
    put.decimal(Some(booked.price));
    put.decimal(Some(booked.amount));
    put.end(out);
}

/// Appends a `Fill`.
#[inline]
pub fn encode_fill(out: &mut Vec<u8>, place: ReportNumbers, fill: &Fill<'_>) {
    let mut put = begin!(FILL, 133, place, fill);
    put.i64(fill.trade_id);
    put.client_id(Some(&fill.client_id));
    put.u16(place.instrument);
    put.u8(fill.side as u8);
    put.decimal(Some(fill.price));
    put.decimal(Some(fill.amount));
    put.decimal(Some(fill.remaining));
    put.end(out);
}

/// Appends a `Done`.
#[inline]
pub fn encode_done(out: &mut Vec<u8>, place: ReportNumbers, done: &OrderDone<'_>) {
    let mut put = begin!(DONE, 98, place, done);
    put.client_id(Some(&done.client_id));
    put.u16(place.instrument);
    put.u8(done.status as u8);
    put.end(out);
}

/// Appends a `Replaced`.
pub fn encode_replaced(out: &mut Vec<u8>, place: ReportNumbers, amended: &OrderAmended<'_>) {
    let mut put = begin!(REPLACED, 180, place, amended);
    put.client_id(Some(&amended.client_id));
    put.client_id(amended.replaced_client_id.as_ref());
    put.u16(place.instrument);
    put.u8(amended.side as u8);
    put.u8(amended.place_kept.into());
    put.decimal(amended.price);
    put.decimal(Some(amended.amount));
    put.end(out);
}

/// Appends a `Waiting`.
pub fn encode_waiting(out: &mut Vec<u8>, place: ReportNumbers, waiting: &StopWaiting<'_>) {
    let mut put = begin!(WAITING, 116, place, waiting);
    put.client_id(Some(&waiting.client_id));
    put.u16(place.instrument);
    put.u8(waiting.side as u8);
    put.decimal(Some(waiting.stop_price));
    put.decimal(Some(waiting.amount));
    put.end(out);
}

/// Appends a `Triggered`.
pub fn encode_triggered(out: &mut Vec<u8>, place: ReportNumbers, triggered: &StopTriggered<'_>) {
    let mut put = begin!(TRIGGERED, 97, place, triggered);
    put.client_id(Some(&triggered.client_id));
    put.u16(place.instrument);
    put.end(out);
}

/// Appends a `Decremented`.
pub fn encode_decremented(out: &mut Vec<u8>, place: ReportNumbers, prevented: &TradePrevented<'_>) {
    let mut put = begin!(DECREMENTED, 125, place, prevented);
    put.client_id(Some(&prevented.client_id));
    put.u16(place.instrument);
    put.u8(prevented.side as u8);
    put.decimal(Some(prevented.price));
    put.decimal(Some(prevented.amount));
    put.decimal(Some(prevented.remaining));
    put.end(out);
}

/// Appends a `MassCancelled`.
pub fn encode_mass_cancelled(out: &mut Vec<u8>, sequence: u64, applied: &RequestApplied<'_>) {
    let mut put = Put::<{ frame(87) }>::new(MASS_CANCELLED);
    put.u64(sequence);
    put.i64(applied.time_ms);
    put.client_id(applied.client_id.as_ref());
    put.i64(applied.count);
    put.end(out);
}

/// Appends a `Rejected`; `client_id` is that of the request, if it has one.
pub fn encode_rejected(
    out: &mut Vec<u8>,
    sequence: u64,
    time_ms: i64,
    client_id: Option<&ClientId>,
    reason: &str,
) {
    let mut put = Put::<{ frame(79) }>::new(REJECTED);
    put.u64(sequence);
    put.i64(time_ms);
    put.client_id(client_id);
    put.end_with(reason, out);
}

/// Appends a `Status`.
pub fn encode_status(out: &mut Vec<u8>, sequence: u64, status: &OrderStatus) {
    let mut put = Put::<{ frame(98) }>::new(STATUS);
    put.u64(sequence);
    put.i64(status.time_ms);
    put.u64(status.order_id.to_u64().unwrap_or(0));
    put.client_id(Some(&status.client_id));
    put.u16(status.instrument);
    put.decimal(Some(status.amount));
    put.end(out);
}

/// Appends an `Ended`.
pub fn encode_ended(out: &mut Vec<u8>, sequence: u64, ended: &OrderEnded<'_>) {
    let mut put = Put::<{ frame(88) }>::new(ENDED);
    put.u64(sequence);
    put.i64(ended.time_ms);
    put.u64(ended.order_id.to_u64().unwrap_or(0));
    put.client_id(Some(&ended.client_id));
    put.u8(ended.status as u8);
    put.end(out);
}
