//! Properties of the followers of JSON and FIX, for any messages. Proptest and the fuzz target
//! `tick_followers` hold them.

use crate::tick::followed::fix::FixBook;
use crate::tick::followed::json::JsonBook;
use crate::tick::followed::json_top::TopBook;
use crate::tick::followed::{FollowedBook, MarketDataKind};
use wire::Decimal;
use wire::frame::FRAME_HEADER_BYTES_MAX;

/// The instruments of the golden messages.
const JSON_INSTRUMENT: &str = "BTC_USDT";
const FIX_INSTRUMENT: &str = "BTC";

/// Each line is a message, to a follower of each dialect. In those to FIX `|` separates fields.
pub fn messages(data: &[u8]) {
    let units = [Decimal::new(1, 2), Decimal::new(1, 5)].map(Option::unwrap_or_default);
    let lines = || data.split(|byte| *byte == b'\n');
    follows(JsonBook::new(JSON_INSTRUMENT, units, 16), lines());
    follows(TopBook::new(JSON_INSTRUMENT, units), lines());
    let separated = |byte: &u8| if *byte == b'|' { 1 } else { *byte };
    let fields: Vec<Vec<u8>> = lines().map(|line| line.iter().map(separated).collect()).collect();
    follows(FixBook::new(FIX_INSTRUMENT, units, 16), fields.iter().map(Vec::as_slice));
}

/// A message ends a tick, or belongs to a later end, or is a fault; the first fault is final. Ticks
/// have growing numbers, and something is at every price of the book.
fn follows<'a>(mut book: impl FollowedBook, messages: impl Iterator<Item = &'a [u8]>) {
    let (mut failure, mut bytes) = (None, 0);
    for message in messages {
        let before = book.sequence();
        let Some(tick) = book.take(message) else { panic!("a message was not looked at") };
        book.afterwards();
        bytes += message.len() + FRAME_HEADER_BYTES_MAX;
        match tick.kind {
            MarketDataKind::Live => {
                assert!(tick.number > before, "tick {} came after {before}", tick.number);
                assert!((message.len()..=bytes).contains(&tick.bytes), "{tick:?}");
                assert_eq!(tick.number, book.sequence());
            }
            kind => assert_eq!(kind, MarketDataKind::NotNow),
        }
        failure = failure.or_else(|| book.failure().map(str::to_owned));
        assert_eq!(book.failure(), failure.as_deref());
        assert_eq!(book.is_in_sync(), failure.is_none());
        let Some(shown) = book.book(0) else { panic!("there is no book") };
        let top = shown.top();
        assert!([top.bid, top.ask].iter().flatten().all(|quote| quote.quantity_lots > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOLDEN: [&[u8]; 5] = [
        include_bytes!("../../../../../clients/vectors/book_stamps.json"),
        include_bytes!("../../../../../clients/vectors/top_stamps.json"),
        include_bytes!("../../../../../clients/vectors/book.json"),
        include_bytes!("../../../../../clients/vectors/gap.json"),
        include_bytes!("../../../../../clients/vectors/fix_ticks.txt"),
    ];

    /// Golden messages with some bytes replaced, among others.
    fn damaged() -> impl Strategy<Value = Vec<u8>> {
        let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
        let golden = (prop::sample::select(&GOLDEN[..]), damage).prop_map(|(golden, damage)| {
            let mut bytes = golden.to_vec();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        });
        prop_oneof![4 => golden, 1 => prop::collection::vec(any::<u8>(), 0..80)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(2_000)))]

        #[test]
        fn no_messages_break_a_follower(all in prop::collection::vec(damaged(), 1..6)) {
            messages(&all.join(&b'\n'));
        }
    }
}
