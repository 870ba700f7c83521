//! Synthetic books, Databento's rules, and a real file where there is one.

use super::*;
use engine::{Engine, EngineLimits};

fn engine(start_book: &StartBook) -> (Engine, usize) {
    let instruments = Instruments::shipped();
    let orders = start_book.orders(&instruments).unwrap();
    let mut engine = Engine::new(instruments.count(), EngineLimits::matching_only(50_000, 8_000));
    for order in &orders {
        let input = engine::Input { time_ns: 0, command: engine::Command::New(*order) };
        engine.apply(&input, &mut |event| {
            assert!(!matches!(event, engine::Event::Rejected { .. }), "{event:?}");
        });
    }
    (engine, orders.len())
}

/// Deep on both sides, nothing crossed, and price 1 rests.
#[test]
fn a_synthetic_book_has_depth() {
    let (engine, orders) = engine(&StartBook::Synthetic);
    assert_eq!(engine.open_orders() as usize, orders);
    let instruments = Instruments::shipped();
    for (number, instrument) in (0..).zip(instruments.all()) {
        for side in [Side::Buy, Side::Sell] {
            assert_eq!(engine.levels(number, side).count(), SYNTHETIC_LEVELS as usize);
        }
        let top = engine.top(number);
        let (bid, ask) = (top.bid.unwrap().price_ticks, top.ask.unwrap().price_ticks);
        assert!(bid < instrument.start_price_ticks && instrument.start_price_ticks < ask);
        assert!(ask > instrument.price_ticks(wire::Decimal::new(1, 0).unwrap()).unwrap());
    }
    let again = StartBook::Synthetic.orders(&instruments).unwrap();
    assert_eq!(again, StartBook::Synthetic.orders(&instruments).unwrap());
}

/// A start price at an end of the range, and a lot that knows no hundredth.
#[test]
fn a_synthetic_book_keeps_within_the_instrument() {
    let text = "[[instrument]]\ncode = \"A\"\ntick = \"1\"\nlot = \"1\"\namount_max = \"3\"\n";
    for (start_price, price_max) in [(1, 1_000_000), (50, 60)] {
        let keys = format!("start_price = \"{start_price}\"\nprice_max = \"{price_max}\"");
        let instruments = Instruments::parse("file", &format!("{text}{keys}")).unwrap();
        let orders = StartBook::Synthetic.orders(&instruments).unwrap();
        assert!(!orders.is_empty());
        for order in orders {
            assert!((1..=price_max).contains(&order.price_ticks), "{order:?}");
            assert!((1..=3).contains(&order.quantity_lots), "{order:?}");
        }
    }
}

fn record(action: char, order_id: u64, side: char, price: i64, size: u32) -> MboMsg {
    let (action, side) = (action as u8 as _, side as u8 as _);
    MboMsg { action, side, order_id, price, size, ..MboMsg::default() }
}

fn live(records: &[MboMsg]) -> Vec<(i64, u32)> {
    let mut live = LiveOrders::default();
    records.iter().for_each(|record| live.apply(record));
    live.in_priority().iter().map(|order| (order.price, order.size)).collect()
}

#[test]
fn databentos_actions_lead_to_the_live_orders() {
    let start = [
        record('A', 9, 'A', 100, 1),
        record('R', 0, 'N', dbn::UNDEF_PRICE, 0),
        record('A', 1, 'B', 50, 5),
        record('A', 2, 'B', 50, 6),
        record('A', 3, 'A', 60, 7),
    ];
    let after = |more: &[MboMsg]| live(&[&start[..], more].concat());
    assert_eq!(after(&[]), [(50, 5), (50, 6), (60, 7)]);
    assert_eq!(after(&[record('C', 1, 'B', 50, 5)]), [(50, 6), (60, 7)]);
    assert_eq!(after(&[record('C', 1, 'B', 50, 2)]), [(50, 3), (50, 6), (60, 7)]);
    // Fewer lots keep the place; more, or another price, lose it.
    assert_eq!(after(&[record('M', 1, 'B', 50, 4)]), [(50, 4), (50, 6), (60, 7)]);
    assert_eq!(after(&[record('M', 1, 'B', 50, 8)]), [(50, 6), (60, 7), (50, 8)]);
    assert_eq!(after(&[record('M', 1, 'B', 49, 5)]), [(50, 6), (60, 7), (49, 5)]);
    // The cancel that comes with a fill takes it out, not the fill.
    let filled = [record('T', 0, 'A', 50, 5), record('F', 1, 'B', 50, 5)];
    assert_eq!(after(&filled).len(), 3);
    // What is not known, and another instrument's.
    let mut other = record('A', 4, 'B', 50, 1);
    other.hd.instrument_id = 77;
    let strange = [record('C', 8, 'B', 1, 1), record('M', 8, 'B', 1, 1), other];
    assert_eq!(after(&strange).len(), 3);
}

#[test]
fn a_file_that_is_no_book_is_told() {
    let instruments = Instruments::shipped();
    let missing = StartBook::DatabentoMbo("/no/such.dbn.zst".into());
    let error = missing.orders(&instruments).unwrap_err().to_string();
    assert!(error.starts_with("can't read a book from /no/such.dbn.zst: "), "{error}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, b"tick,size\n1,2\n").unwrap();
    let text = StartBook::DatabentoMbo(file.path().to_owned());
    assert!(matches!(text.orders(&instruments), Err(StartBookError::Unreadable { .. })));
}

/// A file of `TICKPATH_MARKET_DATA`, or `None` with a word about it.
fn market_data(name: &str) -> Option<PathBuf> {
    let Some(directory) = std::env::var_os("TICKPATH_MARKET_DATA") else {
        println!("skipped: set TICKPATH_MARKET_DATA to a directory with {name}");
        return None;
    };
    let path = Path::new(&directory).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn the_opening_snapshot_of_a_future() {
    let Some(path) = market_data("esh4-glbx-mdp3-20231224.mbo.dbn.zst") else { return };
    let (engine, orders) = engine(&StartBook::DatabentoMbo(path));
    assert_eq!((orders, engine.open_orders()), (8725, 8725));
    let top = engine.top(0);
    // 4799.00 and 4799.50, with a tick of a quarter.
    assert_eq!(top.bid.map(|bid| bid.price_ticks), Some(19_196));
    assert_eq!(top.ask.map(|ask| ask.price_ticks), Some(19_198));
}

#[test]
fn a_day_of_a_future() {
    let Some(path) = market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let (engine, orders) = engine(&StartBook::DatabentoMbo(path));
    // Not crossed: what is live at the end all rests.
    assert_eq!((orders, engine.open_orders()), (11_217, 11_217));
    let levels = [Side::Buy, Side::Sell].map(|side| engine.levels(0, side).count());
    assert_eq!(levels, [922, 565]);
}
