//! Encodes the exchange's messages. Keys are in the incumbent's order.

use crate::client_id::ClientId;
use crate::digits::{write_i64, write_u64};
use crate::json::string::write_string;
use crate::order_id::OrderId;
use crate::reply::{
    DoneStatus, Fill, OrderAmended, OrderBooked, OrderDone, OrderEnded, OrderOpen, RequestApplied,
    RequestRejected, Stamps, StopTriggered, StopWaiting, Subscription, Subscriptions,
    TradePrevented,
};
use crate::request::Side;

/// Appends an `AUTHENTICATED`.
pub fn encode_authenticated(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"AUTHENTICATED"}"#);
}

/// Appends a `SUBSCRIPTIONS`.
pub fn encode_subscriptions(out: &mut Vec<u8>, subscriptions: &Subscriptions<'_>) {
    out.extend_from_slice(br#"{"channels":["#);
    for (i, channel) in subscriptions.channels.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_subscription(out, channel);
    }
    out.extend_from_slice(br#"],"time":"#);
    write_i64(out, subscriptions.time_ms);
    out.extend_from_slice(br#","type":"SUBSCRIPTIONS"}"#);
}

fn write_subscription(out: &mut Vec<u8>, channel: &Subscription<'_>) {
    match channel {
        Subscription::Account { account_id, name } => {
            out.extend_from_slice(br#"{"account_id":"#);
            write_string(out, account_id.as_bytes());
            out.extend_from_slice(br#","name":"#);
            write_string(out, name.as_bytes());
        }
        Subscription::MarketData { name, instrument_code, units } => {
            out.extend_from_slice(br#"{"name":"#);
            write_string(out, name.as_bytes());
            out.extend_from_slice(br#","instrument_code":"#);
            write_string(out, instrument_code.as_bytes());
            if let Some([tick, lot]) = units {
                out.extend_from_slice(br#","tick":""#);
                tick.write_to(out);
                out.extend_from_slice(br#"","lot":""#);
                lot.write_to(out);
                out.push(b'"');
            }
        }
        Subscription::Feed(feed) => {
            out.extend_from_slice(br#"{"name":"FEED","address":"#);
            write_string(out, feed.address.to_string().as_bytes());
            out.extend_from_slice(br#","depth":"#);
            write_string(out, feed.depth.name().as_bytes());
            // As text, because most JSON readers keep only 53 bits of a number.
            out.extend_from_slice(br#","session":""#);
            write_u64(out, feed.session);
            out.extend_from_slice(br#"","sequence":"#);
            write_u64(out, feed.sequence);
            if let Some(window_us) = feed.delivery_window_us {
                out.extend_from_slice(br#","delivery_window_us":"#);
                write_u64(out, window_us);
            }
        }
    }
    out.push(b'}');
}

/// Adds stamps to the last appended reply, as its last key.
pub fn encode_stamps(out: &mut Vec<u8>, stamps: &Stamps) {
    write_stamps(out, stamps);
}

/// Adds `stamps` to the object that ends `out`.
pub(crate) fn write_stamps(out: &mut Vec<u8>, stamps: &[u64]) {
    // The closing brace.
    out.pop();
    for (i, stamp_ns) in stamps.iter().enumerate() {
        out.extend_from_slice(if i == 0 { br#","stamps":["#.as_slice() } else { b"," });
        write_u64(out, *stamp_ns);
    }
    out.extend_from_slice(b"]}");
}

/// Appends a `BOOKED`.
pub fn encode_booked(out: &mut Vec<u8>, booked: &OrderBooked<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    booked.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = booked.order_book_sequence;
    write_order(out, &booked.client_id, &booked.instrument_code, sequence, booked.order_id);
    out.extend_from_slice(br#"","price":""#);
    booked.price.write_to(out);
    write_side_and_time(out, booked.side, booked.time_ms);
    out.extend_from_slice(br#","type":"BOOKED","uid":"#);
    write_string(out, booked.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `FILL`.
pub fn encode_fill(out: &mut Vec<u8>, fill: &Fill<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    fill.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = fill.order_book_sequence;
    write_order(out, &fill.client_id, &fill.instrument_code, sequence, fill.order_id);
    out.extend_from_slice(br#"","price":""#);
    fill.price.write_to(out);
    out.extend_from_slice(br#"","remaining":""#);
    fill.remaining.write_to(out);
    write_side_and_time(out, fill.side, fill.time_ms);
    out.extend_from_slice(br#","trade_id":"#);
    write_i64(out, fill.trade_id);
    out.extend_from_slice(br#","type":"FILL","uid":"#);
    write_string(out, fill.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `DONE`.
pub fn encode_done(out: &mut Vec<u8>, done: &OrderDone<'_>) {
    out.extend_from_slice(br#"{"channel_name":"TRADING","client_id":"#);
    let sequence = done.order_book_sequence;
    write_order(out, &done.client_id, &done.instrument_code, sequence, done.order_id);
    out.extend_from_slice(match done.status {
        DoneStatus::Cancelled => br#"","status":"CANCELLED","time":"#.as_slice(),
        DoneStatus::Filled => br#"","status":"FILLED","time":"#,
        DoneStatus::Expired => br#"","status":"EXPIRED","time":"#,
        DoneStatus::SelfTradePrevented => br#"","status":"SELF_TRADE_PREVENTED","time":"#,
        DoneStatus::Closed => br#"","status":"CLOSED","time":"#,
        DoneStatus::NoRoom => br#"","status":"NO_ROOM","time":"#,
    });
    write_i64(out, done.time_ms);
    out.extend_from_slice(br#","type":"DONE","uid":"#);
    write_string(out, done.uid.as_bytes());
    out.push(b'}');
}

/// Appends an `AMENDED`.
pub fn encode_amended(out: &mut Vec<u8>, amended: &OrderAmended<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    amended.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = amended.order_book_sequence;
    write_order(out, &amended.client_id, &amended.instrument_code, sequence, amended.order_id);
    out.extend_from_slice(match amended.place_kept {
        true => br#"","place_kept":true"#.as_slice(),
        false => br#"","place_kept":false"#,
    });
    if let Some(price) = amended.price {
        out.extend_from_slice(br#","price":""#);
        price.write_to(out);
        out.push(b'"');
    }
    if let Some(replaced) = &amended.replaced_client_id {
        out.extend_from_slice(br#","replaced_client_id":"#);
        write_string(out, replaced.as_bytes());
    }
    out.extend_from_slice(match amended.side {
        Side::Buy => br#","side":"BUY","time":"#.as_slice(),
        Side::Sell => br#","side":"SELL","time":"#,
    });
    write_i64(out, amended.time_ms);
    out.extend_from_slice(br#","type":"AMENDED","uid":"#);
    write_string(out, amended.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `WAITING`.
pub fn encode_waiting(out: &mut Vec<u8>, waiting: &StopWaiting<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    waiting.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let sequence = waiting.order_book_sequence;
    write_order(out, &waiting.client_id, &waiting.instrument_code, sequence, waiting.order_id);
    out.extend_from_slice(match waiting.side {
        Side::Buy => br#"","side":"BUY","stop_price":""#.as_slice(),
        Side::Sell => br#"","side":"SELL","stop_price":""#,
    });
    waiting.stop_price.write_to(out);
    out.extend_from_slice(br#"","time":"#);
    write_i64(out, waiting.time_ms);
    out.extend_from_slice(br#","type":"WAITING","uid":"#);
    write_string(out, waiting.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `TRIGGERED`.
pub fn encode_triggered(out: &mut Vec<u8>, triggered: &StopTriggered<'_>) {
    out.extend_from_slice(br#"{"channel_name":"TRADING","client_id":"#);
    let sequence = triggered.order_book_sequence;
    write_order(
        out,
        &triggered.client_id,
        &triggered.instrument_code,
        sequence,
        triggered.order_id,
    );
    out.extend_from_slice(br#"","time":"#);
    write_i64(out, triggered.time_ms);
    out.extend_from_slice(br#","type":"TRIGGERED","uid":"#);
    write_string(out, triggered.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `DECREMENTED`.
pub fn encode_decremented(out: &mut Vec<u8>, decremented: &TradePrevented<'_>) {
    out.extend_from_slice(br#"{"amount":""#);
    decremented.amount.write_to(out);
    out.extend_from_slice(br#"","channel_name":"TRADING","client_id":"#);
    let (code, sequence) = (&decremented.instrument_code, decremented.order_book_sequence);
    write_order(out, &decremented.client_id, code, sequence, decremented.order_id);
    out.extend_from_slice(br#"","price":""#);
    decremented.price.write_to(out);
    out.extend_from_slice(br#"","remaining":""#);
    decremented.remaining.write_to(out);
    write_side_and_time(out, decremented.side, decremented.time_ms);
    out.extend_from_slice(br#","type":"DECREMENTED","uid":"#);
    write_string(out, decremented.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `MASS_CANCELLED`.
pub fn encode_mass_cancelled(out: &mut Vec<u8>, applied: &RequestApplied<'_>) {
    write_applied(out, br#","type":"MASS_CANCELLED","uid":"#, applied);
}

/// Appends an `APPLIED`.
pub fn encode_applied(out: &mut Vec<u8>, applied: &RequestApplied<'_>) {
    write_applied(out, br#","type":"APPLIED","uid":"#, applied);
}

fn write_applied(out: &mut Vec<u8>, kind: &[u8], applied: &RequestApplied<'_>) {
    out.push(b'{');
    if let Some(client_id) = &applied.client_id {
        out.extend_from_slice(br#""client_id":"#);
        write_string(out, client_id.as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""count":"#);
    write_i64(out, applied.count);
    out.extend_from_slice(br#","time":"#);
    write_i64(out, applied.time_ms);
    out.extend_from_slice(kind);
    write_string(out, applied.uid.as_bytes());
    out.push(b'}');
}

/// Appends a `REJECTED`.
pub fn encode_rejected(out: &mut Vec<u8>, rejected: &RequestRejected<'_>) {
    out.extend_from_slice(br#"{"type":"REJECTED","client_id":"#);
    write_string(out, rejected.client_id.as_bytes());
    out.extend_from_slice(br#","reason":"#);
    write_string(out, rejected.reason.as_bytes());
    out.extend_from_slice(br#","time":"#);
    write_i64(out, rejected.time_ms);
    out.extend_from_slice(br#","uid":"#);
    write_string(out, rejected.uid.as_bytes());
    out.push(b'}');
}

/// Appends an `OPEN`.
pub fn encode_open(out: &mut Vec<u8>, open: &OrderOpen<'_>) {
    out.extend_from_slice(br#"{"type":"OPEN","client_id":"#);
    write_string(out, open.client_id.as_bytes());
    out.extend_from_slice(br#","order_id":""#);
    out.extend_from_slice(&open.order_id.text());
    out.extend_from_slice(br#"","time":"#);
    write_i64(out, open.time_ms);
    out.extend_from_slice(br#","uid":"#);
    write_string(out, open.uid.as_bytes());
    out.push(b'}');
}

/// Appends an `ENDED`.
pub fn encode_ended(out: &mut Vec<u8>, ended: &OrderEnded<'_>) {
    out.extend_from_slice(br#"{"type":"ENDED","client_id":"#);
    write_string(out, ended.client_id.as_bytes());
    out.extend_from_slice(br#","status":"#);
    write_string(out, ended.status.name().as_bytes());
    out.extend_from_slice(br#","order_id":""#);
    out.extend_from_slice(&ended.order_id.text());
    out.extend_from_slice(br#"","time":"#);
    write_i64(out, ended.time_ms);
    out.extend_from_slice(br#","uid":"#);
    write_string(out, ended.uid.as_bytes());
    out.push(b'}');
}

/// Appends an `ERROR`.
pub fn encode_error(out: &mut Vec<u8>, reason: &str) {
    out.extend_from_slice(br#"{"type":"ERROR","reason":"#);
    write_string(out, reason.as_bytes());
    out.push(b'}');
}

/// The keys common to all reports on an order, up to the order id without its last quote.
fn write_order(
    out: &mut Vec<u8>,
    client_id: &ClientId,
    instrument_code: &str,
    order_book_sequence: i64,
    order_id: OrderId,
) {
    write_string(out, client_id.as_bytes());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, instrument_code.as_bytes());
    out.extend_from_slice(br#","order_book_sequence":"#);
    write_i64(out, order_book_sequence);
    out.extend_from_slice(br#","order_id":""#);
    out.extend_from_slice(&order_id.text());
}

/// Writes from after a decimal's last digit up to the time.
fn write_side_and_time(out: &mut Vec<u8>, side: Side, time_ms: i64) {
    out.extend_from_slice(match side {
        Side::Buy => br#"","side":"BUY","time":"#.as_slice(),
        Side::Sell => br#"","side":"SELL","time":"#,
    });
    write_i64(out, time_ms);
}
