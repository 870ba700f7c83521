//! Synthetic books, Databento's rules, and a real file if there is one.

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

/// A start price at an end of the range, and a lot that does not divide 0.01.
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

#[test]
fn a_file_without_a_book_is_an_error() {
    let instruments = Instruments::shipped();
    let missing = StartBook::DatabentoMbo("/no/such.dbn.zst".into());
    let error = missing.orders(&instruments).unwrap_err().to_string();
    assert!(error.starts_with("can't read orders from /no/such.dbn.zst: "), "{error}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, b"tick,size\n1,2\n").unwrap();
    let text = StartBook::DatabentoMbo(file.path().to_owned());
    assert!(matches!(text.orders(&instruments), Err(StartBookError::Unreadable(_))));
}

#[test]
fn the_opening_snapshot_of_a_future() {
    let Some(path) = testing::market_data("esh4-glbx-mdp3-20231224.mbo.dbn.zst") else { return };
    let (engine, orders) = engine(&StartBook::DatabentoMbo(path));
    assert_eq!((orders, engine.open_orders()), (8725, 8725));
    let top = engine.top(0);
    // 4799.00 and 4799.50, with a tick of a quarter.
    assert_eq!(top.bid.map(|bid| bid.price_ticks), Some(19_196));
    assert_eq!(top.ask.map(|ask| ask.price_ticks), Some(19_198));
}

#[test]
fn a_day_of_a_future() {
    let Some(path) = testing::market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let (engine, orders) = engine(&StartBook::DatabentoMbo(path));
    // Not crossed: all orders that are live at the end rest.
    assert_eq!((orders, engine.open_orders()), (11_217, 11_217));
    let levels = [Side::Buy, Side::Sell].map(|side| engine.levels(0, side).count());
    assert_eq!(levels, [922, 565]);
}
