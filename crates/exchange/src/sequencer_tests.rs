//! Sequence numbers, and the replay check.

use super::*;
use crate::setup::instruments::Instruments;
use crate::start_book::StartBook;

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 20_000,
    price_levels_max: 1_000,
    stop_levels_max: 10,
    expiring_orders_max: 10,
    accounts_max: 4,
};

fn start() -> Vec<Command> {
    let orders = StartBook::Synthetic.orders(&Instruments::shipped()).unwrap();
    orders.into_iter().map(Command::New).collect()
}

fn sequencer(inputs_max: usize) -> Sequencer {
    Sequencer::new(4, LIMITS, start(), inputs_max).unwrap()
}

fn order(sequencer: &Sequencer, instrument: u16, price_ticks: i64) -> Command {
    let order_id = sequencer.next_order_id();
    let order = NewOrder::limit(Side::Buy, price_ticks, 100_000);
    Command::New(NewOrder { order_id, account: 1, tag: 1, instrument, ..order })
}

fn execute(sequencer: &mut Sequencer, command: Command) -> Vec<(i64, i64)> {
    let mut numbers = Vec::new();
    let input = Input { time_ns: sequencer.next_order_id(), command };
    let executed = sequencer.execute(&input, None, &mut |numbered| {
        numbers.push((numbered.order_book_sequence, numbered.trade_id));
    });
    assert!(executed.is_ok());
    numbers
}

/// Each book counts its own events; trades are counted over all books, and a rejection has no
/// sequence.
#[test]
fn events_and_trades_are_numbered() {
    let mut sequencer = sequencer(0);
    let start_orders = sequencer.next_order_id() - 1;
    for (instrument, expected) in [(0, (1, 0)), (0, (2, 0)), (1, (1, 0)), (0, (3, 0))] {
        let order = order(&sequencer, instrument, 100);
        assert_eq!(execute(&mut sequencer, order), [expected]);
    }
    let rejected = order(&sequencer, 0, 0);
    assert_eq!(execute(&mut sequencer, rejected), [(0, 0)]);
    let crossing = order(&sequencer, 0, 7_000_000);
    let numbers = execute(&mut sequencer, crossing);
    assert_eq!(numbers.first(), Some(&(4, 1)));
    assert!(numbers.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
    assert_eq!(sequencer.next_order_id(), start_orders + 7);
}

#[test]
fn a_replay_finds_the_same_state_and_sees_a_difference() {
    let mut sequencer = sequencer(10);
    for price_ticks in [100, 6_400_000, 7_000_000, 100] {
        let order = order(&sequencer, 0, price_ticks);
        execute(&mut sequencer, order);
    }
    let cancel = engine::Cancel {
        order_id: sequencer.next_order_id() - 1,
        account: 1,
        tag: 0,
        instrument: 0,
    };
    execute(&mut sequencer, Command::Cancel(cancel));
    assert_eq!(sequencer.replay_check().equal, Some(true));
    // Flip a bit of the log: in an order, and in the last input's time.
    let Command::New(first) = &mut sequencer.inputs[0].command else { panic!("an order") };
    first.quantity_lots ^= 1;
    assert_eq!(sequencer.replay_check().equal, Some(false));
    let Command::New(first) = &mut sequencer.inputs[0].command else { panic!("an order") };
    first.quantity_lots ^= 1;
    assert_eq!(sequencer.replay_check().equal, Some(true));
    sequencer.inputs[4].time_ns ^= 1 << 40;
    assert_eq!(sequencer.replay_check().equal, Some(false));
}

#[test]
fn an_incomplete_log_gives_no_result() {
    let mut off = sequencer(0);
    let mut full = sequencer(2);
    assert_eq!(full.replay_check().equal, Some(true), "nothing yet");
    for sequencer in [&mut off, &mut full] {
        for _ in 0..3 {
            let order = order(sequencer, 0, 100);
            execute(sequencer, order);
        }
    }
    let (off, full) = (off.replay_check(), full.replay_check());
    assert_eq!((off.equal, full.equal), (None, None));
    assert!(off.why.contains("replay_inputs_max is 0"), "{}", off.why);
    assert!(full.why.contains("replay_inputs_max = 2, and 1 inputs"), "{}", full.why);
}

#[test]
fn a_start_book_past_a_limit_is_rejected() {
    let few = EngineLimits { open_orders_max: 100, ..LIMITS };
    assert_eq!(
        Sequencer::new(4, few, start(), 0).err(),
        Some(StartError::Engine(Reject::LimitOpenOrders))
    );
    let flat = EngineLimits { price_levels_max: 10, ..LIMITS };
    assert_eq!(
        Sequencer::new(4, flat, start(), 0).err(),
        Some(StartError::Engine(Reject::LimitPriceLevels))
    );
}
