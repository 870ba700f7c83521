//! Decodes a `CREATE_ORDER` of a limit order without extensions, and a `CANCEL_ORDER`, that have
//! the form of our encoder, which is the incumbent's.

use crate::json::form::Form;
use crate::request::{
    ACCOUNT_ID_BYTES_MAX, CancelOrder, CreateOrder, INSTRUMENT_CODE_BYTES_MAX, Request, Side,
    TimeInForce,
};
use std::borrow::Cow;

/// `None` for a request of any other kind or form, valid or not.
pub(super) fn read(bytes: &[u8]) -> Option<Request<'_>> {
    let mut form = Form::new(bytes)?;
    form.literal(r#"{"type":""#)?;
    match form.literal(r#"CREATE_ORDER","order":{"instrument_code":""#) {
        Some(()) => create_order(&mut form).map(Request::CreateOrder),
        None => cancel_order(&mut form).map(Request::CancelOrder),
    }
}

#[inline]
fn create_order<'a>(form: &mut Form<'a>) -> Option<CreateOrder<'a>> {
    let instrument_code = form.bounded(INSTRUMENT_CODE_BYTES_MAX)?;
    form.literal(r#","client_id":""#)?;
    let client_id = form.client_id()?;
    form.literal(r#","side":""#)?;
    let side = Side::read(form.text()?, "side").ok()?;
    form.literal(r#","type":"LIMIT","price":""#)?;
    let price = form.decimal()?;
    form.literal(r#","amount":""#)?;
    let amount = form.decimal()?;
    form.literal(r#","time_in_force":""#)?;
    let time_in_force = match form.text()? {
        "GOOD_TILL_CANCELLED" => TimeInForce::GoodTillCancelled,
        "IMMEDIATE_OR_CANCELLED" => TimeInForce::ImmediateOrCancelled,
        "FILL_OR_KILL" => TimeInForce::FillOrKill,
        _ => return None,
    };
    form.literal("}")?;
    let account_id = account_and_end(form)?;
    let order = CreateOrder::limit(instrument_code, client_id, side, price, amount);
    Some(CreateOrder { time_in_force, account_id, ..order })
}

#[inline]
fn cancel_order<'a>(form: &mut Form<'a>) -> Option<CancelOrder<'a>> {
    form.literal(r#"CANCEL_ORDER","client_id":""#)?;
    let client_id = form.client_id()?;
    form.literal(r#","instrument_code":""#)?;
    let instrument_code = form.bounded(INSTRUMENT_CODE_BYTES_MAX)?.into();
    let account_id = account_and_end(form)?;
    Some(CancelOrder { client_id, instrument_code, account_id })
}

/// The account, if there is one, and the end of the message.
#[inline]
fn account_and_end<'a>(form: &mut Form<'a>) -> Option<Option<Cow<'a, str>>> {
    let account_id = match form.literal(r#","account_id":""#) {
        Some(()) => Some(form.bounded(ACCOUNT_ID_BYTES_MAX)?.into()),
        None => None,
    };
    form.end("}").map(|()| account_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise they would be read all the same, and slowly.
    #[test]
    fn golden_requests_have_the_form() {
        let golden: [&[u8]; 4] = [
            include_bytes!("../../../../clients/vectors/create_order.json"),
            include_bytes!("../../../../clients/vectors/create_order_ioc_account.json"),
            include_bytes!("../../../../clients/vectors/cancel_order.json"),
            include_bytes!("../../../../clients/vectors/cancel_order_account.json"),
        ];
        for request in golden {
            assert!(read(request).is_some(), "{}", String::from_utf8_lossy(request));
        }
    }
}
