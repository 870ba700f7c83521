//! Turns a trader's request into an engine command, or into a rejection: decimals become ticks and
//! lots, names become numbers.

use crate::account::orders::ClientOrders;
use crate::account::sessions::Sessions;
use crate::reply::rejections::{
    OTHER_ACCOUNT, OTHER_INSTRUMENT, Rejection, UNKNOWN_ORDER, not_inserted,
};
use crate::setup::instruments::Instruments;
use engine::{Amend, Cancel, MassCancel, NewOrder, OrderType, PostOnly, Side, TimeInForce};
use transport::StreamId;
use wire::ClientId;
use wire::request::{self, AmendOrder, CancelOrder, CreateOrder};

/// The engine's order; the caller sets its id and its tag.
#[inline]
pub(crate) fn new_order<'a>(
    sessions: &Sessions,
    instruments: &'a Instruments,
    from: StreamId,
    create: &CreateOrder<'_>,
) -> Result<NewOrder, Rejection<'a>> {
    let account = sessions.account(from, create.account_id.as_deref()).ok_or(OTHER_ACCOUNT)?;
    let number = instruments.number(&create.instrument_code)?;
    let instrument = instruments.get(number);
    let (order_type, price_ticks) = match create.price {
        Some(price) => (OrderType::Limit, instrument.price_ticks(price)?),
        None => (OrderType::Market, 0),
    };
    let (time_in_force, expires_ns) = match create.time_in_force {
        request::TimeInForce::GoodTillCancelled => (TimeInForce::GoodTillCancelled, 0),
        request::TimeInForce::ImmediateOrCancelled => (TimeInForce::ImmediateOrCancel, 0),
        request::TimeInForce::FillOrKill => (TimeInForce::FillOrKill, 0),
        request::TimeInForce::GoodTillDate { expire_time_ms } => {
            (TimeInForce::GoodTillDate, expires_ns(expire_time_ms))
        }
    };
    Ok(NewOrder {
        order_id: 0,
        account,
        tag: 0,
        instrument: number,
        side: side(create.side),
        order_type,
        time_in_force,
        post_only: match create.post_only {
            None => PostOnly::No,
            Some(request::PostOnly::Reject) => PostOnly::Reject,
            Some(request::PostOnly::Reprice) => PostOnly::Reprice,
        },
        price_ticks,
        quantity_lots: instrument.quantity_lots(create.amount)?,
        display_lots: match create.display_amount {
            None => 0,
            Some(amount) => instrument.quantity_lots(amount)?,
        },
        stop_ticks: match create.stop_price {
            None => 0,
            Some(price) => instrument.price_ticks(price)?,
        },
        expires_ns,
    })
}

/// The expiry on the engine's clock. Never 0, which means no expiry. A date before 1970 has passed,
/// and one beyond the end of the clock is never reached.
fn expires_ns(expire_time_ms: i64) -> u64 {
    u64::try_from(expire_time_ms).unwrap_or(0).saturating_mul(1_000_000).max(1)
}

#[inline]
pub(crate) fn cancel<'a>(
    sessions: &Sessions,
    instruments: &'a Instruments,
    orders: &ClientOrders,
    from: StreamId,
    cancel: &CancelOrder<'_>,
) -> Result<Cancel, Rejection<'a>> {
    let account = sessions.account(from, cancel.account_id.as_deref()).ok_or(OTHER_ACCOUNT)?;
    let instrument = instruments.number(&cancel.instrument_code)?;
    let (_, order) = orders.find(account, &cancel.client_id).ok_or(UNKNOWN_ORDER)?;
    if order.instrument != instrument {
        return Err(OTHER_INSTRUMENT);
    }
    Ok(Cancel { order_id: order.order_id, account, tag: 0, instrument })
}

/// An amendment, which keeps the order's tag; also the new client id, if there is one.
pub(crate) fn amend<'a, 'b>(
    sessions: &Sessions,
    instruments: &'a Instruments,
    orders: &ClientOrders,
    from: StreamId,
    amend: &'b AmendOrder<'_>,
) -> Result<(Amend, Option<&'b ClientId>), Rejection<'a>> {
    let account = sessions.account(from, amend.account_id.as_deref()).ok_or(OTHER_ACCOUNT)?;
    let number = instruments.number(&amend.instrument_code)?;
    let (tag, order) = orders.find(account, &amend.client_id).ok_or(UNKNOWN_ORDER)?;
    if order.instrument != number {
        return Err(OTHER_INSTRUMENT);
    }
    let new_client_id = amend.new_client_id.as_ref().filter(|new| **new != amend.client_id);
    check_rename(orders, account, new_client_id)?;
    let instrument = instruments.get(number);
    let amend = Amend {
        order_id: order.order_id,
        account,
        tag,
        instrument: number,
        price_ticks: match amend.price {
            Some(price) => instrument.price_ticks(price)?,
            None => 0,
        },
        remaining_lots: instrument.quantity_lots(amend.amount)?,
    };
    Ok((amend, new_client_id))
}

/// Whether an amendment that has waited still applies: its order is open, and its new name free.
pub(crate) fn check_amend(
    orders: &ClientOrders,
    client_id: &ClientId,
    amend: &Amend,
    new_client_id: Option<&ClientId>,
) -> Result<(), Rejection<'static>> {
    let (_, order) = orders.find(amend.account, client_id).ok_or(UNKNOWN_ORDER)?;
    if order.order_id != amend.order_id {
        return Err(UNKNOWN_ORDER);
    }
    check_rename(orders, amend.account, new_client_id)
}

fn check_rename(
    orders: &ClientOrders,
    account: u32,
    new_client_id: Option<&ClientId>,
) -> Result<(), Rejection<'static>> {
    let Some(new) = new_client_id else { return Ok(()) };
    orders.check_rename(account, new).map_err(not_inserted)
}

/// A mass cancel of one account (`None`: of all).
pub(crate) fn mass_cancel<'a>(
    instruments: &'a Instruments,
    account: Option<u32>,
    cancel: &request::MassCancel<'_>,
) -> Result<MassCancel, Rejection<'a>> {
    let instrument = match &cancel.instrument_code {
        Some(code) => Some(instruments.number(code)?),
        None => None,
    };
    Ok(MassCancel { account, instrument, side: cancel.side.map(side), tag: 0 })
}

fn side(side: request::Side) -> Side {
    match side {
        request::Side::Buy => Side::Buy,
        request::Side::Sell => Side::Sell,
    }
}
