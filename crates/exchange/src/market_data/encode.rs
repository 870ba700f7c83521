//! Messages of the feed by price as frames of JSON.

use crate::reply::text::{send, wire_side};
use crate::setup::instruments::Instrument;
use engine::Side;
use feed::{Book, FeedMessage};
use wire::Decimal;
use wire::market_data::{self, Level, TickStamps, Trade};

/// A side of a book as prices and amounts.
pub(super) fn levels<'a>(
    instrument: &'a Instrument,
    book: &'a Book,
    side: Side,
) -> impl Iterator<Item = (Decimal, Decimal)> + 'a {
    book.levels(side).map(|(price_ticks, quantity_lots, _)| {
        (instrument.price(price_ticks), instrument.amount(quantity_lots))
    })
}

/// The instrument of a message that becomes a `BOOK`.
pub(super) fn level_of(message: &FeedMessage) -> Option<u16> {
    match message {
        FeedMessage::Level { instrument, .. } => Some(*instrument),
        _ => None,
    }
}

/// Encodes a message as a frame. `stamp` is called last, when all else is encoded.
pub(super) fn encode(
    frame: &mut Vec<u8>,
    message: &FeedMessage,
    instrument: &Instrument,
    (feed_sequence, time_ms): (u64, i64),
    stamp: Option<impl FnOnce() -> TickStamps>,
) {
    let instrument_code = instrument.code.as_str().into();
    match *message {
        FeedMessage::Level { side, price_ticks, quantity_lots, .. } => {
            let (side, price) = (wire_side(side), instrument.price(price_ticks));
            let amount = instrument.amount(quantity_lots);
            let stamps = None;
            let level =
                Level { instrument_code, side, price, amount, feed_sequence, time_ms, stamps };
            send(frame, |out| {
                market_data::encode_level(out, &level);
                if let Some(stamp) = stamp {
                    market_data::encode_tick_stamps(out, &stamp());
                }
            });
        }
        FeedMessage::Trade { trade_id, aggressor_side, price_ticks, quantity_lots, .. } => {
            let (side, price) = (wire_side(aggressor_side), instrument.price(price_ticks));
            let amount = instrument.amount(quantity_lots);
            let trade =
                Trade { instrument_code, trade_id, side, price, amount, feed_sequence, time_ms };
            send(frame, |out| market_data::encode_trade(out, &trade));
        }
        _ => {}
    }
}
