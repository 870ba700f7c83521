//! A filled form equals what the encoder writes.

use super::*;
use proptest::prelude::*;
use wire::request::{CreateOrder, Side, encode_create_order};

fn id(text: &str) -> ClientId {
    ClientId::new(text).unwrap()
}

proptest! {
    #[test]
    fn filled_in_is_encoded(
        count in -(1i64 << 50)..1 << 50,
        lots in 0i64..1 << 50,
        scales in (0u8..9, 0u8..9),
        client_id in "[a-z0-9-]{36}",
        instrument in ".{1,40}",
    ) {
        let units = (Decimal::new(25, scales.0).unwrap(), Decimal::new(1, scales.1).unwrap());
        let order = |client_id, price, amount| {
            CreateOrder::limit(instrument.as_str(), client_id, Side::Sell, price, amount)
        };
        let form = Form::new(|out, Blanks { client_id, price, amount, .. }| {
            encode_create_order(out, &order(client_id, price, amount));
        });
        let (mut filled, mut encoded) = (Vec::new(), Vec::new());
        form.fill(&mut filled, client_id.as_bytes().as_array().unwrap(), &[(count, units.0), (lots, units.1)]);
        let price = Decimal::from_units(count, units.0).unwrap();
        let amount = Decimal::from_units(lots, units.1).unwrap();
        encode_create_order(&mut encoded, &order(id(&client_id), price, amount));
        prop_assert_eq!(String::from_utf8(filled), String::from_utf8(encoded));
    }

    #[test]
    fn a_delivery_clock_is_filled_in(tick in 0u64..1 << 59, response_ns in 0u64..1 << 59) {
        let (price, amount) = (Decimal::new(25, 2).unwrap(), Decimal::new(1, 0).unwrap());
        let order = |client_id, delivery| CreateOrder {
            delivery: Some(delivery),
            ..CreateOrder::limit("BTC_USDT", client_id, Side::Buy, price, amount)
        };
        let form = Form::new(|out, Blanks { client_id, delivery, .. }| {
            encode_create_order(out, &order(client_id, delivery));
        });
        let (mut filled, mut encoded) = (Vec::new(), Vec::new());
        let client_id = "another-client-id-of-36-characters--";
        let one = Decimal::new(1, 0).unwrap();
        let terms = [tick, response_ns].map(|term| (term.cast_signed(), one));
        form.fill(&mut filled, client_id.as_bytes().as_array().unwrap(), &terms);
        encode_create_order(&mut encoded, &order(id(client_id), DeliveryClock { tick, response_ns }));
        prop_assert_eq!(String::from_utf8(filled), String::from_utf8(encoded));
    }
}

/// The order load always has the same price and amount.
#[test]
fn what_stays_the_same_is_no_blank() {
    let (price, amount) = (Decimal::new(25, 2).unwrap(), Decimal::new(1, 0).unwrap());
    let form = Form::new(|out, Blanks { client_id, .. }| {
        let order = CreateOrder::limit("BTC_USDT", client_id, Side::Buy, price, amount);
        encode_create_order(out, &order);
    });
    let (mut filled, mut encoded) = (Vec::new(), Vec::new());
    let client_id = "another-client-id-of-36-characters--";
    form.fill(&mut filled, client_id.as_bytes().as_array().unwrap(), &[]);
    let order = CreateOrder::limit("BTC_USDT", id(client_id), Side::Buy, price, amount);
    encode_create_order(&mut encoded, &order);
    assert_eq!(filled, encoded);
}
