//! The notation of commands: a verb, its object, and settings in any order. Defaults: account 0
//! (`by=`), instrument 0 (`on=`), tag 0.
//!
//! ```text
//! buy 1 5@100 by=2                 order 1 of account 2, 5 lots at 100; or sell, or 5@market
//!     ioc fok gtd=200ms post reprice show=2 stop=105
//! amend 1 3@101                    cancel 1
//! cancel-all by=2 on=1 side=buy    where by or on is not said, all
//! instrument halted band=90..110 reference=100
//! account by=2 quantity=10 notional=500 collar=3 orders=2 messages=4 self-trade=decrement
//! position by=2 long=10 short=0 change=-5
//! kill by=2                        release by=2, kill-and-cancel by=2; without by, all
//! book on=1                        positions              what is to be shown
//! ```
//!
//! `at=1.5s` sets the time of this and later commands.

use std::str::FromStr;

use engine::*;

pub enum Line {
    Tell(Command),
    ShowBook(u16),
    ShowPositions,
}

/// The settings of a line.
pub struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Words<'a> {
        Words(line.split_whitespace().collect())
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key).map(parse)
    }

    pub fn time_ns(&self, key: &str) -> Option<u64> {
        let text = self.text(key)?;
        let (number, unit_ns) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(number), _) => (number, 1e6),
            (None, Some(number)) => (number, 1e9),
            (None, None) => return Some(parse(text)),
        };
        Some((parse::<f64>(number) * unit_ns) as u64)
    }
}

fn parse<T: FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("what is {text}?"))
}

pub fn read(line: &str) -> Line {
    let words = Words::new(line);
    let verb = words.0[0];
    let tag = words.number("tag").unwrap_or(0);
    let by = words.number("by");
    let on = words.number("on");
    let (account, instrument) = (by.unwrap_or(0), on.unwrap_or(0));
    let order_id = || parse(words.0[1]);
    Line::Tell(match verb {
        "book" => return Line::ShowBook(instrument),
        "positions" => return Line::ShowPositions,
        "buy" | "sell" => Command::New(new_order(&words)),
        "amend" => {
            let (remaining_lots, price_ticks) = lots_at_price(words.0[2]);
            let order_id = order_id();
            Command::Amend(Amend {
                order_id,
                account,
                tag,
                instrument,
                price_ticks,
                remaining_lots,
            })
        }
        "cancel" => Command::Cancel(Cancel { order_id: order_id(), account, tag, instrument }),
        "cancel-all" => {
            let side = words.text("side").map(side);
            Command::MassCancel(MassCancel { account: by, instrument: on, side, tag })
        }
        "instrument" => Command::Instrument(instrument_settings(&words, instrument, tag)),
        "account" => Command::Account(account_settings(&words, account, tag)),
        "position" => Command::Position(PositionSettings {
            account,
            tag,
            instrument,
            long_lots_max: words.number("long").unwrap_or(POSITION_LOTS_MAX),
            short_lots_max: words.number("short").unwrap_or(POSITION_LOTS_MAX),
            change_lots: words.number("change").unwrap_or(0),
        }),
        "kill" | "kill-and-cancel" | "release" => Command::Kill(Kill {
            account: by,
            tag,
            on: verb != "release",
            cancel: verb == "kill-and-cancel",
        }),
        _ => panic!("what is {verb}?"),
    })
}

fn side(word: &str) -> Side {
    match word {
        "buy" => Side::Buy,
        "sell" => Side::Sell,
        _ => panic!("what side is {word}?"),
    }
}

fn lots_at_price(word: &str) -> (u64, i64) {
    let (lots, price) = word.split_once('@').expect("LOTS@PRICE");
    (parse(lots), if price == "market" { 0 } else { parse(price) })
}

fn new_order(words: &Words) -> NewOrder {
    let (quantity_lots, price_ticks) = lots_at_price(words.0[2]);
    let expires_ns = words.time_ns("gtd").unwrap_or(0);
    NewOrder {
        order_id: parse(words.0[1]),
        account: words.number("by").unwrap_or(0),
        tag: words.number("tag").unwrap_or(0),
        instrument: words.number("on").unwrap_or(0),
        order_type: match words.0[2].ends_with("@market") {
            true => OrderType::Market,
            false => OrderType::Limit,
        },
        time_in_force: match (words.has("ioc"), words.has("fok"), words.text("gtd")) {
            (true, ..) => TimeInForce::ImmediateOrCancel,
            (_, true, _) => TimeInForce::FillOrKill,
            (.., Some(_)) => TimeInForce::GoodTillDate,
            _ => TimeInForce::GoodTillCancelled,
        },
        post_only: match (words.has("post"), words.has("reprice")) {
            (true, _) => PostOnly::Reject,
            (_, true) => PostOnly::Reprice,
            _ => PostOnly::No,
        },
        display_lots: words.number("show").unwrap_or(0),
        stop_ticks: words.number("stop").unwrap_or(0),
        expires_ns,
        ..NewOrder::limit(side(words.0[0]), price_ticks, quantity_lots)
    }
}

fn instrument_settings(words: &Words, instrument: u16, tag: u32) -> InstrumentSettings {
    let band = words.text("band").map(|band| band.split_once("..").expect("LOW..HIGH"));
    InstrumentSettings {
        instrument,
        tag,
        state: match (words.has("halted"), words.has("closed")) {
            (true, _) => InstrumentState::Halted,
            (_, true) => InstrumentState::Closed,
            _ => InstrumentState::Open,
        },
        band_low_ticks: band.map_or(1, |band| parse(band.0)),
        band_high_ticks: band.map_or(PRICE_TICKS_MAX, |band| parse(band.1)),
        reference_ticks: words.number("reference").unwrap_or(0),
    }
}

fn account_settings(words: &Words, account: u32, tag: u32) -> AccountSettings {
    let unlimited = AccountSettings::unlimited(account);
    AccountSettings {
        account,
        tag,
        quantity_lots_max: words.number("quantity").unwrap_or(unlimited.quantity_lots_max),
        notional_max: words.number("notional").unwrap_or(unlimited.notional_max),
        collar_ticks: words.number("collar").unwrap_or(unlimited.collar_ticks),
        open_orders_max: words.number("orders").unwrap_or(unlimited.open_orders_max),
        messages_per_second_max: words
            .number("messages")
            .unwrap_or(unlimited.messages_per_second_max),
        self_trade: match words.text("self-trade") {
            None => SelfTrade::Allowed,
            Some("newest") => SelfTrade::CancelNewest,
            Some("oldest") => SelfTrade::CancelOldest,
            Some("both") => SelfTrade::CancelBoth,
            Some("decrement") => SelfTrade::Decrement,
            Some(word) => panic!("what is {word}?"),
        },
    }
}
