//! A trader that follows the best prices as JSON, from a real exchange, also by way of a relay that
//! loses one of them or alters it.

use crate::ends::{End, FLOW, exchange, follow, plan};
use clock::Clock;
use plan::faults::Inject;
use plan::process::ticks::{FeedPlan, TickPlan};
use plan::tables::ticks::FeedDialect;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;

fn top_plan(plan: TickPlan) -> TickPlan {
    TickPlan { feed: FeedPlan { dialect: FeedDialect::JsonTop, ..plan.feed.clone() }, ..plan }
}

/// Each change becomes an order, all stamps add up, and both ends had the same best prices.
#[test]
fn changes_of_the_best_prices_become_orders_whose_way_is_known() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for backend in ["block", "spin"] {
        let end = exchange(clock, FLOW, Inject::default());
        let files = directory.path().join(backend);
        std::fs::create_dir_all(&files).unwrap();
        let plan = top_plan(plan(&files, &end.target, clock, FLOW));
        let led = follow(&TickPlan { backend: backend.into(), ..plan });
        let (load, tick) = (&led.result.load, led.tick());
        assert!(led.result.complete, "{:?}", led.result);
        assert!(tick.datagrams > 10 && tick.messages == tick.datagrams, "{tick:?}");
        assert_eq!((load.sent, load.received), (tick.datagrams, tick.datagrams), "{tick:?}");
        assert_eq!(
            (load.lost, load.rejected, load.unexpected, tick.gaps),
            (0, 0, 0, 0),
            "{tick:?}"
        );
        assert_eq!(tick.samples, tick.datagrams);
        assert_eq!((tick.samples_out_of_order, tick.samples_not_adding_up), (0, 0), "{tick:?}");
        assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
        assert!(!tick.book_hash.is_empty(), "{tick:?}");
    }
}

/// A relay's harm to one `TOP`.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Loses,
    Alters,
}

/// Number of the harmed `TOP`, among those with a bid.
const HARMED: u32 = 20;

/// Relays two connections to an exchange. Returns its address.
fn relay(end: &End, harm: Harm) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, exchange) = (listener.local_addr().unwrap(), end.target.clone());
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (trader, _) = listener.accept().unwrap();
            let exchange = TcpStream::connect(&exchange).unwrap();
            let [to, from] = [&exchange, &trader].map(|stream| stream.try_clone().unwrap());
            std::thread::spawn(move || pass_on(from, to, |bytes| bytes.len()));
            let mut tops = 0;
            std::thread::spawn(move || {
                pass_on(exchange, trader, |bytes| harmed(bytes, harm, &mut tops));
            });
        }
    });
    address.to_string()
}

/// Passes bytes on until an end closes. `ready` may change them, and returns how many may leave.
fn pass_on(mut from: TcpStream, mut to: TcpStream, mut ready: impl FnMut(&mut Vec<u8>) -> usize) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = from.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..n]);
        let n = ready(&mut bytes);
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
        bytes.drain(..n);
    }
    // The other direction ends by itself.
    let _ = to.shutdown(Shutdown::Write);
}

/// Harms one `TOP` in the exchange's frames. Returns the length of the whole ones.
fn harmed(bytes: &mut Vec<u8>, harm: Harm, tops: &mut u32) -> usize {
    let mut at = if bytes.starts_with(b"HTTP/") {
        match bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            Some(head) => head + 4,
            None => return 0,
        }
    } else {
        0
    };
    while let Some(payload) = payload(&bytes[at..]) {
        let Range { start, end } = payload;
        let bid = bytes[at + start..at + end].starts_with(br#"{"type":"TOP""#).then(|| {
            let text = std::str::from_utf8(&bytes[at + start..at + end]).unwrap();
            text.find(r#""bid":[""#).and_then(|bid| Some(bid + text[bid..].find(']')?))
        });
        let bid_end = bid.flatten();
        *tops += u32::from(bid_end.is_some());
        match (bid_end, harm) {
            (Some(_), Harm::Loses) if *tops == HARMED => {
                bytes.drain(at..at + end);
                continue;
            }
            (Some(bid_end), Harm::Alters) if *tops == HARMED => {
                // The last digit of the amount, before a quote.
                let digit = &mut bytes[at + start + bid_end - 2];
                *digit = if *digit == b'1' { b'2' } else { b'1' };
            }
            _ => {}
        }
        at += end;
    }
    at
}

/// The place of the payload of the first frame, if it is whole.
fn payload(bytes: &[u8]) -> Option<Range<usize>> {
    let (start, length) = match *bytes.get(1)? & 127 {
        126 => (4, usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))),
        127 => panic!("no message is as long"),
        length => (2, usize::from(length)),
    };
    (bytes.len() >= start + length).then_some(start..start + length)
}

/// TCP loses nothing, so a message that is missing or wrong shows a fault of an end. The last best
/// prices are right in either case, and both are noticed.
#[test]
fn a_lost_or_altered_message_is_noticed() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for harm in [Harm::Loses, Harm::Alters] {
        let end = exchange(clock, FLOW, Inject::default());
        let led = follow(&top_plan(plan(directory.path(), &relay(&end, harm), clock, FLOW)));
        let (tick, failures) = (led.tick(), led.result.failures.join("; "));
        assert!(tick.datagrams > u64::from(HARMED), "{tick:?}");
        assert!(!tick.exchange_book_hash.is_empty(), "{harm:?}: {tick:?}");
        assert_ne!(tick.book_hash, tick.exchange_book_hash, "{harm:?}");
        match harm {
            Harm::Loses => {
                assert!(!led.result.complete);
                assert!(failures.contains("times by the exchange's count"), "{failures}");
            }
            Harm::Alters => assert_eq!((led.result.complete, &*failures), (true, "")),
        }
    }
}
