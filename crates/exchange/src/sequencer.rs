//! One order of everything: gives each command its order id, each event its sequence in its book,
//! and remembers the commands, so that the engine's state can be held against a replay.

use crate::sessions::HOUSE;
use engine::{Cancel, Command, Engine, EngineLimits, Event, NewOrder, Reject, Side, TimeInForce};
use std::hint::black_box;

/// An event with its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequenced {
    pub event: Event,
    /// Counts the events of this instrument's book, from 1.
    pub order_book_sequence: i64,
    /// Counts the trades of the exchange, from 1; in a trade that trade's number.
    pub trade_id: i64,
}

/// Whether the engine stands where a replay of its inputs leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayCheck {
    /// `None` if it can't be told.
    pub equal: Option<bool>,
    /// What was compared, or why it can't be told.
    pub why: String,
}

pub(crate) struct Sequencer {
    engine: Engine,
    instruments: u16,
    limits: EngineLimits,
    start_book: Vec<NewOrder>,
    /// By instrument.
    sequences: Vec<i64>,
    orders: u64,
    trades: i64,
    inputs: Vec<Command>,
    inputs_max: usize,
    /// Commands that came when the log was full.
    inputs_dropped: u64,
}

impl Sequencer {
    /// An engine with the start book in it. Orders of the start book that cross each other trade. The log takes
    /// `inputs_max` commands, and none if that is 0.
    ///
    /// # Errors
    /// If the engine refuses an order of the start book.
    pub fn new(
        instruments: u16,
        limits: EngineLimits,
        start_book: Vec<NewOrder>,
        inputs_max: usize,
    ) -> Result<Sequencer, Reject> {
        let (engine, refused) = start(instruments, limits, &start_book);
        if let Some(reason) = refused {
            return Err(reason);
        }
        Ok(Sequencer {
            engine,
            instruments,
            limits,
            orders: start_book.len() as u64,
            start_book,
            sequences: vec![0; usize::from(instruments)],
            trades: 0,
            inputs: touched(inputs_max),
            inputs_max,
            inputs_dropped: 0,
        })
    }

    /// The id that the next new order is to have.
    #[inline]
    pub fn next_order_id(&self) -> u64 {
        self.orders + 1
    }

    /// Executes a command whose instrument exists.
    #[inline]
    pub fn execute(&mut self, command: &Command, events: &mut impl FnMut(Sequenced)) {
        if self.inputs.len() < self.inputs_max {
            self.inputs.push(*command);
        } else {
            self.inputs_dropped += 1;
        }
        self.orders += u64::from(matches!(command, Command::New(_)));
        let (Command::New(NewOrder { instrument, .. })
        | Command::Cancel(Cancel { instrument, .. })) = *command;
        let sequence = &mut self.sequences[usize::from(instrument)];
        let trades = &mut self.trades;
        self.engine.apply(command, &mut |event| {
            // A rejected command is no event of the book.
            *sequence += i64::from(!matches!(event, Event::Rejected { .. }));
            *trades += i64::from(matches!(event, Event::Trade { .. }));
            events(Sequenced { event, order_book_sequence: *sequence, trade_id: *trades });
        });
    }

    /// The engine's.
    pub fn state_hash(&self) -> u64 {
        self.engine.state_hash()
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The hash of the state to which the logged commands lead from the same start book; `None` if the
    /// log has stopped.
    pub fn replay(&self) -> Option<u64> {
        if self.inputs_dropped > 0 {
            return None;
        }
        let (mut engine, _) = start(self.instruments, self.limits, &self.start_book);
        for command in &self.inputs {
            engine.apply(command, &mut |_| {});
        }
        Some(engine.state_hash())
    }

    /// Holds the engine against a replay. Takes the time and the memory of a second engine.
    pub fn replay_check(&self) -> ReplayCheck {
        let inputs = self.inputs.len();
        let ours = self.state_hash();
        match self.replay() {
            Some(replayed) => ReplayCheck {
                equal: Some(replayed == ours),
                why: format!(
                    "state {ours:016x}, {replayed:016x} after a replay of {inputs} inputs"
                ),
            },
            None if self.inputs_max == 0 => {
                let why = "no input was logged: replay_inputs_max is 0; set it to check";
                ReplayCheck { equal: None, why: why.to_owned() }
            }
            None => {
                let dropped = self.inputs_dropped;
                let why = format!(
                    "the log stopped at replay_inputs_max = {inputs}, and {dropped} inputs came \
                     after it; raise it to check"
                );
                ReplayCheck { equal: None, why }
            }
        }
    }
}

/// An engine with the start book in it, and why it refused an order if it did.
fn start(
    instruments: u16,
    limits: EngineLimits,
    start_book: &[NewOrder],
) -> (Engine, Option<Reject>) {
    let mut engine = Engine::new(instruments, limits);
    let mut refused = None;
    for order in start_book {
        engine.apply(&Command::New(*order), &mut |event| {
            if let Event::Rejected { reason, .. } = event {
                refused = Some(reason);
            }
        });
    }
    (engine, refused)
}

/// An empty log, every page of which has been written to.
fn touched(inputs_max: usize) -> Vec<Command> {
    let filler = Command::New(NewOrder {
        order_id: 1,
        account: HOUSE,
        tag: 0,
        instrument: 0,
        side: Side::Buy,
        time_in_force: TimeInForce::GoodTillCancelled,
        price_ticks: 1,
        quantity_lots: 1,
    });
    let mut inputs = black_box(vec![filler; inputs_max]);
    inputs.clear();
    inputs
}

#[cfg(test)]
#[path = "sequencer_tests.rs"]
mod tests;
