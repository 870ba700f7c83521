//! Decodes a `BOOKED`, a `FILL` and a `DONE` that have the form of our encoder.

use crate::client_id::ClientId;
use crate::json::form::Form;
use crate::order_id::OrderId;
use crate::reply::{DoneStatus, Fill, OrderBooked, OrderDone, Reply, Stamps};
use crate::request::Side;
use std::borrow::Cow;

/// The keys that they share.
struct ReportedOrder<'a> {
    client_id: ClientId,
    instrument_code: Cow<'a, str>,
    order_book_sequence: i64,
    order_id: OrderId,
}

/// `None` for a reply of any other kind or form, valid or not.
pub(super) fn read(bytes: &[u8]) -> Option<(Reply<'_>, Option<Stamps>)> {
    let mut form = Form::new(bytes)?;
    let reply = match form.literal(r#"{"amount":""#) {
        Some(()) => booked_or_fill(&mut form)?,
        None => done(&mut form)?,
    };
    Some((reply, stamps(&mut form)?))
}

#[inline]
fn booked_or_fill<'a>(form: &mut Form<'a>) -> Option<Reply<'a>> {
    let amount = form.decimal()?;
    form.literal(r#","channel_name":"TRADING","client_id":""#)?;
    let order = order(form)?;
    let ReportedOrder { client_id, instrument_code, order_book_sequence, order_id } = order;
    form.literal(r#","price":""#)?;
    let price = form.decimal()?;
    let remaining = match form.literal(r#","remaining":""#) {
        Some(()) => Some(form.decimal()?),
        None => None,
    };
    form.literal(r#","side":""#)?;
    let side = Side::read(form.text()?, "side").ok()?;
    form.literal(r#","time":"#)?;
    let time_ms = form.integer()?;
    let Some(remaining) = remaining else {
        form.literal(r#","type":"BOOKED","uid":""#)?;
        let uid = form.text()?.into();
        return Some(Reply::Booked(OrderBooked {
            client_id,
            instrument_code,
            side,
            price,
            amount,
            order_id,
            order_book_sequence,
            time_ms,
            uid,
        }));
    };
    form.literal(r#","trade_id":"#)?;
    let trade_id = form.integer()?;
    form.literal(r#","type":"FILL","uid":""#)?;
    let uid = form.text()?.into();
    Some(Reply::Fill(Fill {
        client_id,
        instrument_code,
        side,
        price,
        amount,
        remaining,
        order_id,
        trade_id,
        order_book_sequence,
        time_ms,
        uid,
    }))
}

#[inline]
fn done<'a>(form: &mut Form<'a>) -> Option<Reply<'a>> {
    form.literal(r#"{"channel_name":"TRADING","client_id":""#)?;
    let order = order(form)?;
    form.literal(r#","status":""#)?;
    let status = DoneStatus::read(form.text()?).ok()?;
    form.literal(r#","time":"#)?;
    let time_ms = form.integer()?;
    form.literal(r#","type":"DONE","uid":""#)?;
    let uid = form.text()?.into();
    let ReportedOrder { client_id, instrument_code, order_book_sequence, order_id } = order;
    Some(Reply::Done(OrderDone {
        client_id,
        instrument_code,
        status,
        order_id,
        order_book_sequence,
        time_ms,
        uid,
    }))
}

#[inline]
fn order<'a>(form: &mut Form<'a>) -> Option<ReportedOrder<'a>> {
    let client_id = form.client_id()?;
    form.literal(r#","instrument_code":""#)?;
    let instrument_code = form.text()?.into();
    form.literal(r#","order_book_sequence":"#)?;
    let order_book_sequence = form.integer()?;
    form.literal(r#","order_id":""#)?;
    let order_id = OrderId::parse(form.text()?)?;
    Some(ReportedOrder { client_id, instrument_code, order_book_sequence, order_id })
}

/// The stamps, if there are any, and the end of the message.
#[inline]
fn stamps(form: &mut Form<'_>) -> Option<Option<Stamps>> {
    if form.literal(r#","stamps":["#).is_none() {
        return form.end("}").map(|()| None);
    }
    let mut stamps = Stamps::default();
    for (index, stamp) in stamps.iter_mut().enumerate() {
        if index > 0 {
            form.literal(",")?;
        }
        *stamp = form.natural()?;
    }
    form.end("]}").map(|()| Some(stamps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::encode_stamps;

    /// Otherwise they would be read all the same, and slowly.
    #[test]
    fn golden_replies_have_the_form_with_stamps_and_without() {
        let golden: [&[u8]; 4] = [
            include_bytes!("../../../../clients/vectors/booked.json"),
            include_bytes!("../../../../clients/vectors/fill.json"),
            include_bytes!("../../../../clients/vectors/done_cancelled.json"),
            include_bytes!("../../../../clients/vectors/done_no_room.json"),
        ];
        for reply in golden {
            let mut reply = reply.to_vec();
            assert!(matches!(read(&reply), Some((_, None))));
            encode_stamps(&mut reply, &[1, 20, 0, u64::MAX]);
            assert!(matches!(read(&reply), Some((_, Some([1, 20, 0, u64::MAX])))));
        }
    }
}
