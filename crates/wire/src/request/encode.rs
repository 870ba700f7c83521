//! Encodes clients' messages. Optional keys follow the incumbent's.

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::digits::{write_i64, write_u64};
use crate::json::string::write_string;
use crate::request::{
    AmendOrder, CancelOrder, Channel, CreateOrder, DeliveryClock, KillSwitch, MassCancel,
    OrderStatus, SetInstrumentState, Side, TimeInForce,
};

/// Appends an `AUTHENTICATE`.
pub fn encode_authenticate(
    out: &mut Vec<u8>,
    api_token: &str,
    cancel_on_disconnect: Option<bool>,
    stamps: Option<bool>,
) {
    out.extend_from_slice(br#"{"type":"AUTHENTICATE","api_token":"#);
    write_string(out, api_token.as_bytes());
    if let Some(cancel) = cancel_on_disconnect {
        out.extend_from_slice(br#","cancel_on_disconnect":"#);
        write_boolean(out, cancel);
    }
    if let Some(stamps) = stamps {
        out.extend_from_slice(br#","stamps":"#);
        write_boolean(out, stamps);
    }
    out.push(b'}');
}

/// Adds to the last appended `AUTHENTICATE` that the client is away.
pub fn encode_absent(out: &mut Vec<u8>) {
    // The closing brace.
    out.pop();
    out.extend_from_slice(br#","absent":true}"#);
}

/// Appends a `SUBSCRIBE`.
pub fn encode_subscribe(out: &mut Vec<u8>, channels: &[Channel<'_>]) {
    out.extend_from_slice(br#"{"type":"SUBSCRIBE","channels":["#);
    for (i, channel) in channels.iter().enumerate() {
        out.extend_from_slice(if i == 0 { br#"{"name":"# } else { br#",{"name":"# });
        write_string(out, channel.name.as_bytes());
        if let Some(address) = channel.address {
            write_text(out, br#","address":"#, Some(&address.to_string()));
        }
        write_text(out, br#","depth":"#, channel.depth.map(|depth| depth.name()));
        write_text(out, br#","instrument_code":"#, channel.instrument_code.as_deref());
        if let Some(every) = channel.stamp_every {
            out.extend_from_slice(br#","stamp_every":"#);
            write_u64(out, every.into());
        }
        if let Some(stamps) = channel.stamps {
            out.extend_from_slice(if stamps {
                br#","stamps":true"#
            } else {
                br#","stamps":false"#
            });
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}

/// Appends a `FEED_REPLAY`.
pub fn encode_feed_replay(out: &mut Vec<u8>, from: u64, count: u32) {
    out.extend_from_slice(br#"{"type":"FEED_REPLAY","from":"#);
    write_u64(out, from);
    out.extend_from_slice(br#","count":"#);
    write_u64(out, count.into());
    out.push(b'}');
}

/// Appends a `FEED_SNAPSHOT`.
pub fn encode_feed_snapshot(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"FEED_SNAPSHOT"}"#);
}

/// Appends a `FLOW` with action `START`.
pub fn encode_start_flow(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"FLOW","action":"START"}"#);
}

/// Appends a `DESCRIBE`.
pub fn encode_describe(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"DESCRIBE"}"#);
}

/// Appends a `CREATE_ORDER`: the incumbent's 204 bytes for a UUID, `BTC_USDT`, price 1, amount 1.
pub fn encode_create_order(out: &mut Vec<u8>, order: &CreateOrder<'_>) {
    out.extend_from_slice(br#"{"type":"CREATE_ORDER","order":{"instrument_code":"#);
    write_string(out, order.instrument_code.as_bytes());
    out.extend_from_slice(br#","client_id":"#);
    write_string(out, order.client_id.as_bytes());
    if let Some(price) = order.price {
        out.extend_from_slice(match order.side {
            Side::Buy => br#","side":"BUY","type":"LIMIT","price":""#.as_slice(),
            Side::Sell => br#","side":"SELL","type":"LIMIT","price":""#,
        });
        price.write_to(out);
        out.extend_from_slice(br#"","amount":""#);
    } else {
        out.extend_from_slice(match order.side {
            Side::Buy => br#","side":"BUY","type":"MARKET","amount":""#.as_slice(),
            Side::Sell => br#","side":"SELL","type":"MARKET","amount":""#,
        });
    }
    order.amount.write_to(out);
    out.extend_from_slice(match order.time_in_force {
        TimeInForce::GoodTillCancelled => br#"","time_in_force":"GOOD_TILL_CANCELLED""#.as_slice(),
        TimeInForce::ImmediateOrCancelled => br#"","time_in_force":"IMMEDIATE_OR_CANCELLED""#,
        TimeInForce::FillOrKill => br#"","time_in_force":"FILL_OR_KILL""#,
        TimeInForce::GoodTillDate { .. } => br#"","time_in_force":"GOOD_TILL_DATE""#,
    });
    if let TimeInForce::GoodTillDate { expire_time_ms } = order.time_in_force {
        out.extend_from_slice(br#","expire_time":"#);
        write_i64(out, expire_time_ms);
    }
    write_decimal(out, br#","stop_price":""#, order.stop_price);
    write_decimal(out, br#","display_amount":""#, order.display_amount);
    write_text(out, br#","post_only":"#, order.post_only.map(|post_only| post_only.name()));
    write_delivery(out, order.delivery);
    out.push(b'}');
    write_account(out, order.account_id.as_deref());
    out.push(b'}');
}

/// Appends a `CANCEL_ORDER`: the incumbent's 103 bytes for a UUID and `BTC_USDT`.
pub fn encode_cancel_order(out: &mut Vec<u8>, cancel: &CancelOrder<'_>) {
    out.extend_from_slice(br#"{"type":"CANCEL_ORDER","client_id":"#);
    write_string(out, cancel.client_id.as_bytes());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, cancel.instrument_code.as_bytes());
    write_account(out, cancel.account_id.as_deref());
    out.push(b'}');
}

/// Appends an `ORDER_STATUS`.
pub fn encode_order_status(out: &mut Vec<u8>, asked: &OrderStatus<'_>) {
    out.extend_from_slice(br#"{"type":"ORDER_STATUS","client_id":"#);
    write_string(out, asked.client_id.as_bytes());
    write_account(out, asked.account_id.as_deref());
    if asked.takes {
        out.extend_from_slice(br#","take":true"#);
    }
    out.push(b'}');
}

/// Appends an `AMEND_ORDER`.
pub fn encode_amend_order(out: &mut Vec<u8>, amend: &AmendOrder<'_>) {
    out.extend_from_slice(br#"{"type":"AMEND_ORDER","client_id":"#);
    write_string(out, amend.client_id.as_bytes());
    write_client_id(out, br#","new_client_id":"#, amend.new_client_id.as_ref());
    out.extend_from_slice(br#","instrument_code":"#);
    write_string(out, amend.instrument_code.as_bytes());
    write_decimal(out, br#","price":""#, amend.price);
    write_decimal(out, br#","amount":""#, Some(amend.amount));
    write_delivery(out, amend.delivery);
    write_account(out, amend.account_id.as_deref());
    out.push(b'}');
}

/// Appends a `MASS_CANCEL`.
pub fn encode_mass_cancel(out: &mut Vec<u8>, cancel: &MassCancel<'_>) {
    out.extend_from_slice(br#"{"type":"MASS_CANCEL""#);
    write_client_id(out, br#","client_id":"#, cancel.client_id.as_ref());
    write_text(out, br#","instrument_code":"#, cancel.instrument_code.as_deref());
    write_text(out, br#","side":"#, cancel.side.map(Side::name));
    write_account(out, cancel.account_id.as_deref());
    out.push(b'}');
}

/// Appends an `INSTRUMENT_STATE`.
pub fn encode_instrument_state(out: &mut Vec<u8>, set: &SetInstrumentState<'_>) {
    out.extend_from_slice(br#"{"type":"INSTRUMENT_STATE""#);
    write_client_id(out, br#","client_id":"#, set.client_id.as_ref());
    write_text(out, br#","instrument_code":"#, Some(&set.instrument_code));
    write_text(out, br#","state":"#, Some(set.state.name()));
    out.push(b'}');
}

/// Appends a `KILL_SWITCH`.
pub fn encode_kill_switch(out: &mut Vec<u8>, kill: &KillSwitch<'_>) {
    out.extend_from_slice(br#"{"type":"KILL_SWITCH""#);
    write_client_id(out, br#","client_id":"#, kill.client_id.as_ref());
    out.extend_from_slice(br#","on":"#);
    write_boolean(out, kill.on);
    write_account(out, kill.account_id.as_deref());
    out.push(b'}');
}

#[inline]
fn write_delivery(out: &mut Vec<u8>, delivery: Option<DeliveryClock>) {
    if let Some(DeliveryClock { tick, response_ns }) = delivery {
        out.extend_from_slice(br#","tick":"#);
        write_u64(out, tick);
        out.extend_from_slice(br#","response_ns":"#);
        write_u64(out, response_ns);
    }
}

fn write_account(out: &mut Vec<u8>, account_id: Option<&str>) {
    write_text(out, br#","account_id":"#, account_id);
}

fn write_client_id(out: &mut Vec<u8>, key: &[u8], client_id: Option<&ClientId>) {
    if let Some(client_id) = client_id {
        out.extend_from_slice(key);
        write_string(out, client_id.as_bytes());
    }
}

fn write_text(out: &mut Vec<u8>, key: &[u8], text: Option<&str>) {
    if let Some(text) = text {
        out.extend_from_slice(key);
        write_string(out, text.as_bytes());
    }
}

/// `key` ends with the number's opening quote.
fn write_decimal(out: &mut Vec<u8>, key: &[u8], number: Option<Decimal>) {
    if let Some(number) = number {
        out.extend_from_slice(key);
        number.write_to(out);
        out.push(b'"');
    }
}

fn write_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true".as_slice() } else { b"false" });
}
