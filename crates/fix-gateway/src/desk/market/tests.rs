//! A desk between a client and the exchange's messages about its market data.

use super::*;
use crate::desk::{Securities, Security, Shared};
use fix::dictionary::Dictionary;
use fix::session::{Event, Role, Session, Settings};
use fix::store::MemoryStore;
use fix::tag;
use std::path::Path;
use std::sync::Arc;
use wire::frame::{Opcode, write_frame_with};
use wire::market_data::{Gap, Level, TickStamps, encode_book_snapshot, encode_gap, encode_level};
use wire::reader::{FrameLimits, Role as Side};
use wire::reply::{Subscriptions, encode_error, encode_subscriptions};
use wire::{Decimal, request};

const NOW: Now = Now { steady_ns: 1, utc_ns: 1_790_000_000_000_000_000 };

/// Writes a message of the exchange.
type Encode = fn(&mut Vec<u8>);

/// Both ends of a session without sockets, logged on.
struct Ends {
    _folder: tempfile::TempDir,
    desk: Desk,
    client: Session<MemoryStore>,
    reader: MessageReader,
}

fn whole(n: i64) -> Decimal {
    Decimal::new(n, 0).unwrap()
}

impl Ends {
    fn new() -> Ends {
        let folder = tempfile::tempdir().unwrap();
        let dictionary = Arc::new(Dictionary::tickpath());
        let tick = Decimal::new(1, 2).unwrap();
        let symbol = "BTC".into();
        let securities = vec![Security { symbol, tick, lot: tick, amount_min: tick }];
        let securities = Arc::new(Securities::new(securities));
        let shared = Shared { dictionary: Arc::clone(&dictionary), securities, has_journal: false };
        let path = folder.path().join("store");
        let mut desk = Desk::open("fund", ("TICKPATH", "FUND"), &shared, &path).unwrap();
        let settings = Settings::new(Role::Initiator, "FUND", "TICKPATH");
        let mut client = Session::new(settings, dictionary, MemoryStore::default());
        let mut out = Vec::new();
        client.connected(NOW, &mut out).unwrap();
        desk.connected(NOW).unwrap();
        assert_eq!(desk.client(&out, NOW).unwrap(), None);
        let reader = MessageReader::new(Side::Client, FrameLimits::default());
        let mut ends = Ends { _folder: folder, desk, client, reader };
        assert_eq!(ends.sent(), Vec::<String>::new());
        ends
    }

    /// The messages that the client has received since, from MsgType on.
    fn sent(&mut self) -> Vec<String> {
        let bytes = std::mem::take(&mut self.desk.to_client);
        assert_eq!(self.client.receive(&bytes), bytes.len());
        let (mut messages, mut out) = (Vec::new(), Vec::new());
        while let Some(event) = self.client.poll(NOW, &mut out).unwrap() {
            if let Event::Application(message) = event {
                let fields = message.fields().iter();
                let body = fields.skip_while(|field| field.tag != 52).skip(1);
                let body = body.filter(|field| field.tag != 10);
                let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
                let pair = |it: &_| text(message.value(*it));
                let body: Vec<String> =
                    body.map(|field| format!("{}={}", field.tag, pair(field))).collect();
                messages.push(format!("{} {}", text(message.msg_type()), body.join("|")));
            }
        }
        messages
    }

    fn asks(&mut self, id: &str) {
        self.requests(|body| {
            body.text(262, id).number(263, 1).number(264, 0).number(265, 1);
            body.number(267, 2).number(269, 0).number(269, 2).number(146, 1).text(55, "BTC");
        });
    }

    /// Asks for bids and offers with stamps, of that many prices.
    fn asks_for_ticks(&mut self, id: &str, depth: u64, update_type: u64) {
        self.requests(|body| {
            body.text(262, id).number(263, 1).number(264, depth).number(265, update_type);
            body.number(267, 2).number(269, 0).number(269, 1).number(146, 1).text(55, "BTC");
            body.flag(tag::TICK_STAMPS, true);
        });
    }

    fn requests(&mut self, fill: impl FnOnce(&mut fix::encode::Body<'_>)) {
        let mut out = Vec::new();
        self.client.send("V", NOW, &mut out, fill).unwrap();
        assert_eq!(self.desk.client(&out, NOW).unwrap(), None);
    }

    /// The exchange sends these in one go.
    fn exchange(&mut self, messages: &[Encode]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for message in messages {
            write_frame_with(&mut bytes, Opcode::Text, None, message);
        }
        self.reader.space()[..bytes.len()].copy_from_slice(&bytes);
        self.reader.filled(bytes.len(), 0);
        self.desk.market_data(&mut self.reader, NOW)
    }
}

fn subscribed(out: &mut Vec<u8>) {
    encode_subscriptions(out, &Subscriptions { channels: Vec::new(), time_ms: 0 });
}

fn snapshot(out: &mut Vec<u8>) {
    let bids = [(whole(99), whole(2))].into_iter();
    encode_book_snapshot(out, "BTC", bids, std::iter::empty(), 1, 0);
}

fn level(out: &mut Vec<u8>) {
    price(out, request::Side::Buy, (98, 5), 2, None);
}

fn price(
    out: &mut Vec<u8>,
    side: request::Side,
    (price, amount): (i64, i64),
    feed_sequence: u64,
    stamps: Option<TickStamps>,
) {
    let level = Level {
        instrument_code: "BTC".into(),
        side,
        price: whole(price),
        amount: whole(amount),
        feed_sequence,
        time_ms: 0,
        stamps,
    };
    encode_level(out, &level);
}

fn gap(out: &mut Vec<u8>, channel: &str) {
    let gap = Gap { channel: channel.into(), instrument_code: "BTC".into(), from: 3, to: 9 };
    encode_gap(out, &gap);
}

fn book_gap(out: &mut Vec<u8>) {
    gap(out, "BOOK");
}

fn trades_gap(out: &mut Vec<u8>) {
    gap(out, "TRADES");
}

#[test]
fn a_gap_is_followed_by_one_snapshot() {
    let mut ends = Ends::new();
    ends.asks("a");
    assert!(ends.desk.market.is_wanted() && !ends.desk.market.to_exchange.is_empty());
    ends.exchange(&[subscribed, snapshot]).unwrap();
    let whole = "W 262=a|55=BTC|268=1|269=0|270=99|271=2";
    assert_eq!(ends.sent(), [whole]);
    ends.exchange(&[level]).unwrap();
    assert_eq!(ends.sent(), ["X 262=a|268=1|279=0|269=0|55=BTC|270=98|271=5"]);
    // Whether or not both come at once; a change in between is part of the snapshot.
    ends.exchange(&[level, book_gap]).unwrap();
    ends.exchange(&[level]).unwrap();
    assert_eq!(ends.sent(), Vec::<String>::new());
    ends.exchange(&[snapshot]).unwrap();
    assert_eq!(ends.sent(), [whole]);
    ends.exchange(&[book_gap, snapshot, level]).unwrap();
    let both = "W 262=a|55=BTC|268=2|269=0|270=99|271=2|269=0|270=98|271=5";
    assert_eq!(ends.sent(), [both]);
    // Missed trades show as a snapshot that nobody asked for.
    ends.exchange(&[trades_gap]).unwrap();
    assert_eq!(ends.sent(), [both]);
}

#[test]
fn a_subscription_that_the_exchange_rejects_ends() {
    let mut ends = Ends::new();
    ends.asks("a");
    ends.exchange(&[|out| encode_error(out, "too many")]).unwrap();
    assert_eq!(ends.sent(), ["Y 262=a|281=2|58=too many"]);
    assert!(!ends.desk.market.is_wanted());
    // It may be asked for again.
    ends.asks("a");
    ends.exchange(&[subscribed, snapshot]).unwrap();
    assert_eq!(ends.sent().len(), 1);
    ends.desk.market_data_gone(NOW).unwrap();
    let gone = ends.sent();
    assert!(gone.len() == 1 && gone[0].starts_with("Y 262=a|58="), "{gone:?}");
    assert!(!ends.desk.market.is_wanted());
}

/// The messages of a stamped subscription: a tick of two prices, one that comes in two reads, two
/// in one read, one that changes nothing.
fn of_ticks(ends: &mut Ends) -> Vec<u8> {
    use request::Side::{Buy, Sell};
    let mut all = Vec::new();
    ends.asks_for_ticks("ticks", 0, 1);
    let reads: [&[Encode]; 6] = [
        &[subscribed, snapshot],
        &[
            |out| price(out, Buy, (98, 5), 2, None),
            |out| price(out, Buy, (99, 0), 3, Some([11, 12, 13])),
        ],
        &[|out| price(out, Sell, (101, 3), 4, None)],
        &[|out| price(out, Sell, (102, 1), 5, Some([21, 0, 23]))],
        &[
            |out| price(out, Buy, (98, 7), 6, Some([31, 32, 33])),
            |out| price(out, Sell, (101, 1), 7, Some([41, 42, 43])),
        ],
        &[|out| price(out, Buy, (50, 0), 9, Some([51, 52, 53]))],
    ];
    for read in reads {
        ends.exchange(read).unwrap();
        all.extend_from_slice(&ends.desk.to_client);
        ends.sent();
    }
    all
}

/// The client of this test is the trader's decoder, in the crate `trader`.
#[test]
fn stamps_end_a_tick() {
    let bytes = of_ticks(&mut Ends::new());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/vectors/fix_ticks.txt");
    let text = String::from_utf8(bytes).unwrap().replace("8=FIX", "\n8=FIX").replace('\x01', "|");
    let text = format!("{}\n", text.trim_start());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap());
}

/// A tick ends for each subscription in its own way, and for those without stamps as before.
#[test]
fn a_tick_outside_of_the_view_ends_too() {
    let mut ends = Ends::new();
    ends.asks("plain");
    ends.exchange(&[subscribed, snapshot]).unwrap();
    assert_eq!(ends.sent().len(), 1);
    ends.asks_for_ticks("ticks", 1, 1);
    ends.exchange(&[subscribed]).unwrap();
    assert_eq!(ends.sent(), ["W 262=ticks|55=BTC|268=1|269=0|270=99|271=2"]);
    ends.exchange(&[|out| price(out, request::Side::Buy, (98, 5), 8, Some([1, 2, 3]))]).unwrap();
    assert_eq!(
        ends.sent(),
        [
            "X 262=ticks|268=0|8017=8|8018=1|8019=2|8020=3",
            "X 262=plain|268=1|279=0|269=0|55=BTC|270=98|271=5",
        ]
    );
}

#[test]
fn whole_snapshots_carry_no_stamps() {
    let mut ends = Ends::new();
    ends.asks_for_ticks("ticks", 0, 0);
    let [rejected] = &ends.sent()[..] else { panic!("one message") };
    assert!(rejected.starts_with("Y 262=ticks|281=6|58=TickStamps (8016) needs"), "{rejected}");
    assert!(!ends.desk.market.is_wanted());
}
