//! Replies to a client of the first protocol version, byte for byte except the time. The exchange
//! wrote the transcript before it had other order types; it is never updated.

use crate::driven::{Driven, config, write_authenticate, write_cancel, write_order};
use clock::random::SplitMix64;
use expect_test::expect_file;
use wire::ClientId;
use wire::request::Side;

const ACCOUNTS: u32 = 3;
const SUBSCRIBE: &str = r#"{"type":"SUBSCRIBE","channels":[{"name":"ORDERS"}]}"#;

fn order(more: &str, code: &str, id: &str, side: &str, price: &str, amount: &str) -> String {
    format!(
        r#"{{"type":"CREATE_ORDER","order":{{"instrument_code":"{code}","client_id":"{id}","side":"{side}","type":"LIMIT","price":"{price}","amount":"{amount}","time_in_force":"GOOD_TILL_CANCELLED"}}{more}}}"#
    )
}

fn cancel(more: &str, code: &str, id: &str) -> String {
    format!(r#"{{"type":"CANCEL_ORDER","client_id":"{id}","instrument_code":"{code}"{more}}}"#)
}

/// The transcript: one line for each message.
struct Transcript {
    driven: Driven,
    lines: String,
}

impl Transcript {
    fn note(&mut self) {
        for stream in 0..ACCOUNTS {
            for text in self.driven.texts(stream) {
                let (text, time) = match text.split_once(r#""time":"#) {
                    Some((before, after)) => {
                        let digits = after.trim_start_matches(|c: char| c.is_ascii_digit());
                        (format!(r#"{before}"time":0{digits}"#), after.len() - digits.len())
                    }
                    None => (text, 13),
                };
                assert_eq!(time, 13, "milliseconds since 1970: {text}");
                self.lines += &format!("{stream} < {text}\n");
            }
        }
    }

    fn say(&mut self, stream: u32, text: &str) {
        self.lines += &format!("{stream} > {text}\n");
        let mut bytes = Vec::new();
        crate::driven::write_text(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
        self.driven.feed(stream, &bytes);
        self.note();
    }
}

/// Each kind of message and of rejection.
fn every_kind(transcript: &mut Transcript) {
    let third = r#","account_id":"account-3""#;
    let (usdt, eur) = ("BTC_USDT", "BTC_EUR");
    let immediate = order("", usdt, "i1", "SELL", "99", "4")
        .replace("GOOD_TILL_CANCELLED", "IMMEDIATE_OR_CANCELLED");
    for (stream, text) in [
        (0, SUBSCRIBE.to_owned()),
        (1, SUBSCRIBE.to_owned()),
        (0, order("", usdt, "a1", "BUY", "99.5", "1.5")),
        (0, order("", usdt, "a2", "BUY", "99.5", "0.25")),
        (1, order("", usdt, "b1", "SELL", "99.5", "1.6")),
        (1, immediate),
        (0, order("", eur, "a3", "SELL", "64250.5", "0.025")),
        (1, order("", eur, "b2", "BUY", "64250.5", "1")),
        (1, cancel("", eur, "b2")),
        (2, r#"{"type":"AUTHENTICATE","api_token":"account-3"}"#.to_owned()),
        (2, order(third, usdt, "c1", "SELL", "200", "1")),
        (2, order("", usdt, "c1", "SELL", "201", "1")),
        (2, cancel(third, usdt, "c1")),
        (2, cancel("", usdt, "c1")),
        (0, order("", usdt, "a4", "BUY", "1", "1")),
        (0, order("", usdt, "a4", "BUY", "1", "1")),
        (0, order("", "XRP_USD", "r1", "BUY", "1", "1")),
        (0, order("", usdt, "r2", "BUY", "0", "1")),
        (0, order("", usdt, "r3", "BUY", "0.015", "1")),
        (0, order("", usdt, "r4", "BUY", "1", "10000001")),
        (0, order("", usdt, "r5", "BUY", "1", "0.000001")),
        (0, order("", usdt, "r6", "BUY", "1e3", "1")),
        (0, order(r#","account_id":"x""#, usdt, "r7", "BUY", "1", "1")),
        (0, cancel("", usdt, "r8")),
        (0, cancel("", eur, "a4")),
        (1, cancel("", usdt, "a4")),
        (0, cancel("", usdt, "a4")),
    ] {
        transcript.say(stream, &text);
    }
}

/// Random orders that book, trade, and break limits.
fn many(transcript: &mut Transcript) {
    let mut random = SplitMix64::new(1);
    for _ in 0..150 {
        let stream = random.below(ACCOUNTS);
        let client_id = ClientId::new(&format!("m{}", random.below(30))).unwrap();
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let mut bytes = Vec::new();
        if random.below(4) > 0 {
            let price_ticks = 1000 + i64::from(random.below(12));
            let hundredths = 1 + i64::from(random.below(50));
            let immediate = random.below(5) == 0;
            write_order(&mut bytes, client_id, side, price_ticks, hundredths, immediate);
        } else {
            write_cancel(&mut bytes, client_id);
        }
        transcript.driven.feed(stream, &bytes);
        transcript.note();
    }
}

#[test]
fn old_clients_are_told_what_they_were_told_before() {
    let mut config = config();
    config.limits.open_orders_max = 20;
    config.limits.price_levels_max = 5;
    let mut transcript = Transcript { driven: Driven::new(config), lines: String::new() };
    (0..ACCOUNTS).for_each(|stream| transcript.driven.connect(stream));
    for stream in 0..ACCOUNTS {
        let mut bytes = Vec::new();
        write_authenticate(&mut bytes, &format!("account-{stream}"));
        transcript.driven.feed(stream, &bytes);
        transcript.note();
    }
    every_kind(&mut transcript);
    many(&mut transcript);
    expect_file!["transcripts/old_clients.txt"].assert_eq(&transcript.lines);
}
