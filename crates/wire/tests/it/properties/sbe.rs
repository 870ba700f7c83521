//! Properties of the SBE codec, for any bytes.

use std::sync::LazyLock;
use wire::reply::{
    DoneStatus, Fill, OrderAmended, OrderBooked, OrderDone, OrderEnded, Reply, RequestApplied,
    RequestRejected, StopTriggered, StopWaiting, TradePrevented,
};
use wire::request::{Request, Side};
use wire::sbe::client::*;
use wire::sbe::exchange::*;
use wire::sbe::split;
use wire::{ClientId, Decimal, OrderId};

/// Codes of the instruments by number.
pub const CODES: [&str; 2] = ["BTC_USDT", "BTC_EUR"];

pub fn codes() -> &'static [String] {
    static ALL: LazyLock<Vec<String>> = LazyLock::new(|| CODES.map(str::to_owned).to_vec());
    &ALL
}

fn number(code: &str) -> u16 {
    CODES.iter().position(|one| *one == code).unwrap() as u16
}

pub fn place(sequence: u64) -> ReportNumbers {
    ReportNumbers { sequence, instrument: 1 }
}

/// A report of each kind, with a name and a number.
pub fn replies() -> Vec<(&'static str, u64, Reply<'static>)> {
    let decimal = |text| Decimal::parse(text).unwrap();
    let client_id = ClientId::new("6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60").unwrap();
    let (order_id, order_book_sequence, time_ms) =
        (OrderId::from_u64(42), 1_000, 1_795_000_000_000);
    let (price, amount, remaining) = (decimal("65000.5"), decimal("0.25"), decimal("0.75"));
    let (instrument_code, uid, side) = (CODES[1], "3002", Side::Sell);
    /// A report with the fields that all reports on orders have.
    macro_rules! report {
        ($kind:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
            $kind {
                client_id,
                instrument_code: instrument_code.into(),
                order_id,
                order_book_sequence,
                time_ms,
                uid: uid.into(),
                $($field $(: $value)?),*
            }
        };
    }
    let (status, replaced_client_id) = (DoneStatus::SelfTradePrevented, ClientId::new("before"));
    let replaced_client_id = Some(replaced_client_id.unwrap());
    let applied = RequestApplied { client_id: None, count: 3, time_ms, uid: uid.into() };
    let reason = "no such order: é";
    let rejected = RequestRejected { client_id, reason: reason.into(), time_ms, uid: uid.into() };
    vec![
        ("booked", 50, Reply::Booked(report!(OrderBooked { side, price, amount }))),
        ("fill", 51, Reply::Fill(report!(Fill { side, price, amount, remaining, trade_id: 9 }))),
        ("done", 52, Reply::Done(report!(OrderDone { status }))),
        (
            "replaced",
            53,
            Reply::Amended(report!(OrderAmended {
                replaced_client_id,
                side,
                price: None,
                amount: decimal("1"),
                place_kept: true,
            })),
        ),
        ("waiting", 54, Reply::Waiting(report!(StopWaiting { side, stop_price: price, amount }))),
        ("triggered", 55, Reply::Triggered(report!(StopTriggered {}))),
        (
            "decremented",
            56,
            Reply::Decremented(report!(TradePrevented { side, price, amount, remaining })),
        ),
        ("mass_cancelled", 57, Reply::MassCancelled(applied)),
        ("rejected", 58, Reply::Rejected(rejected)),
        ("error", 59, Reply::Error { reason: reason.into() }),
        (
            "ended",
            61,
            Reply::Ended(OrderEnded {
                client_id,
                status: DoneStatus::Filled,
                order_id,
                time_ms,
                uid: uid.into(),
            }),
        ),
    ]
}

/// Appends a report as the exchange would.
pub fn encode_reply(out: &mut Vec<u8>, sequence: u64, reply: &Reply<'_>) {
    let at = |code: &str| ReportNumbers { sequence, instrument: number(code) };
    match reply {
        Reply::Booked(one) => encode_booked(out, at(&one.instrument_code), one),
        Reply::Fill(one) => encode_fill(out, at(&one.instrument_code), one),
        Reply::Done(one) => encode_done(out, at(&one.instrument_code), one),
        Reply::Amended(one) => encode_replaced(out, at(&one.instrument_code), one),
        Reply::Waiting(one) => encode_waiting(out, at(&one.instrument_code), one),
        Reply::Triggered(one) => encode_triggered(out, at(&one.instrument_code), one),
        Reply::Decremented(one) => encode_decremented(out, at(&one.instrument_code), one),
        Reply::MassCancelled(one) => encode_mass_cancelled(out, sequence, one),
        Reply::Rejected(one) => {
            encode_rejected(out, sequence, one.time_ms, Some(&one.client_id), &one.reason);
        }
        Reply::Error { reason } => encode_rejected(out, sequence, 0, None, reason),
        Reply::Ended(one) => encode_ended(out, sequence, one),
        other => panic!("no report: {other:?}"),
    }
}

fn encode_client(out: &mut Vec<u8>, message: &ClientMessage<'_>) {
    match message {
        ClientMessage::Logon(logon) => encode_logon(out, logon),
        ClientMessage::Heartbeat => encode_heartbeat(out, 0),
        ClientMessage::Terminate { reason } => encode_terminate(out, reason),
        ClientMessage::StatusRequest { sequence, client_id } => {
            encode_status_request(out, *sequence, client_id);
        }
        ClientMessage::Request { sequence, request } => match request {
            Request::CreateOrder(one) => {
                encode_new_order(out, *sequence, number(&one.instrument_code), one);
            }
            Request::CancelOrder(one) => {
                let instrument = number(&one.instrument_code);
                encode_cancel_order(out, *sequence, instrument, &one.client_id);
            }
            Request::AmendOrder(one) => {
                let replacement = Replacement {
                    client_id: &one.client_id,
                    new_client_id: one.new_client_id.as_ref(),
                    price: one.price,
                    amount: one.amount,
                    delivery: one.delivery,
                };
                let instrument = number(&one.instrument_code);
                encode_replace_order(out, *sequence, instrument, &replacement);
            }
            Request::MassCancel(one) => {
                let instrument = one.instrument_code.as_deref().map(number);
                encode_mass_cancel(out, *sequence, one.client_id.as_ref(), instrument, one.side);
            }
            other => panic!("no request in SBE: {other:?}"),
        },
    }
}

/// Any bytes are frames or not; a message that can be decoded is the same when it is encoded and
/// decoded again.
pub fn sbe(data: &[u8]) {
    let names = Names { codes: codes(), account: "3002" };
    let mut rest = data;
    while let Ok(Some((message, bytes))) = split(rest) {
        rest = &rest[bytes..];
        if let Ok(decoded) = decode_client(message, codes()) {
            let mut again = Vec::new();
            encode_client(&mut again, &decoded);
            let (message, bytes) = split(&again).unwrap().unwrap();
            assert_eq!(bytes, again.len());
            assert_eq!(decode_client(message, codes()), Ok(decoded));
        }
        if let Ok(ExchangeMessage::Report { sequence, reply }) = decode_exchange(message, names) {
            let mut again = Vec::new();
            encode_reply(&mut again, sequence, &reply);
            let (message, _) = split(&again).unwrap().unwrap();
            let decoded = decode_exchange(message, names);
            assert_eq!(decoded, Ok(ExchangeMessage::Report { sequence, reply }));
        }
    }
}

/// The same behind a valid head: the first byte chooses a template, the second damages a golden
/// message instead.
pub fn sbe_blocks(data: &[u8]) {
    let [choice, damage, rest @ ..] = data else { return };
    let mut all = Vec::new();
    replies().iter().for_each(|(_, sequence, reply)| {
        let mut frame = Vec::new();
        encode_reply(&mut frame, *sequence, reply);
        all.push(frame);
    });
    let mut frame = all.swap_remove(usize::from(*choice) % all.len());
    if damage % 4 == 0 {
        // A client's message with these bytes as its block, and as a text.
        let template = [1_u16, 4, 5, 10, 11, 12, 13, 14][usize::from(*choice % 8)];
        let block = rest.len().min(200);
        frame.truncate(14);
        frame[6..8].copy_from_slice(&(block as u16).to_le_bytes());
        frame[8..10].copy_from_slice(&template.to_le_bytes());
        frame.extend(rest.iter().take(500));
        let length = frame.len() as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
    } else {
        for (at, byte) in rest.iter().zip(rest.iter().skip(1)).step_by(2) {
            let at = 14 + usize::from(*at) % (frame.len() - 14);
            frame[at] = *byte;
        }
    }
    sbe(&frame);
}
