//! One order of everything: gives each new order its id, each event its sequence in its book,
//! and remembers what goes in, so that the engine's state can be held against a replay.

use crate::sessions::HOUSE;
use engine::{Command, Engine, EngineLimits, Event, Input, NewOrder, Reject, Side};
use std::hint::black_box;

/// An event with its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequenced {
    pub event: Event,
    /// Counts the events of this instrument's book, from 1; 0 in an event of no book.
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
    /// What the engine was told before the first client came.
    start: Vec<Command>,
    /// By instrument.
    sequences: Vec<i64>,
    orders: u64,
    trades: i64,
    inputs: Vec<Input>,
    inputs_max: usize,
    /// Inputs that came when the log was full.
    inputs_dropped: u64,
}

impl Sequencer {
    /// An engine that was told `start`, which is not logged. Orders in it that cross each other trade. The log takes
    /// `inputs_max` inputs, and none if that is 0.
    ///
    /// # Errors
    /// If the engine refuses a command of the start.
    pub fn new(
        instruments: u16,
        limits: EngineLimits,
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, Reject> {
        let (engine, refused) = started(instruments, limits, &start);
        if let Some(reason) = refused {
            return Err(reason);
        }
        Ok(Sequencer {
            engine,
            instruments,
            limits,
            orders: start.iter().filter(|command| matches!(command, Command::New(_))).count()
                as u64,
            start,
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

    /// Logs an input and executes it.
    #[inline]
    pub fn execute(&mut self, input: &Input, events: &mut impl FnMut(Sequenced)) {
        if self.inputs.len() < self.inputs_max {
            self.inputs.push(*input);
        } else {
            self.inputs_dropped += 1;
        }
        self.orders += u64::from(matches!(input.command, Command::New(_)));
        let (sequences, trades) = (&mut self.sequences, &mut self.trades);
        self.engine.apply(input, &mut |event| {
            // The engine tells of no instrument that it does not have, but in a rejection.
            let order_book_sequence = match book_of(&event) {
                Some(instrument) => {
                    let sequence = &mut sequences[usize::from(instrument)];
                    *sequence += 1;
                    *sequence
                }
                None => 0,
            };
            *trades += i64::from(matches!(event, Event::Trade { .. }));
            events(Sequenced { event, order_book_sequence, trade_id: *trades });
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

    /// The hash of the state to which the logged inputs lead from the same start; `None` if the log has stopped.
    pub fn replay(&self) -> Option<u64> {
        if self.inputs_dropped > 0 {
            return None;
        }
        let (mut engine, _) = started(self.instruments, self.limits, &self.start);
        for input in &self.inputs {
            engine.apply(input, &mut |_| {});
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

/// The instrument of whose book it is an event.
#[inline]
fn book_of(event: &Event) -> Option<u16> {
    match *event {
        Event::Booked { instrument, .. }
        | Event::Trade { instrument, .. }
        | Event::Decremented { instrument, .. }
        | Event::Replenished { instrument, .. }
        | Event::Amended { instrument, .. }
        | Event::Waiting { instrument, .. }
        | Event::Triggered { instrument, .. }
        | Event::Done { instrument, .. } => Some(instrument),
        Event::Applied { .. } | Event::Rejected { .. } => None,
    }
}

/// An engine that was told `start` at time 0, and why it refused a command if it did.
fn started(instruments: u16, limits: EngineLimits, start: &[Command]) -> (Engine, Option<Reject>) {
    let mut engine = Engine::new(instruments, limits);
    let mut refused = None;
    for command in start {
        engine.apply(&Input { time_ns: 0, command: *command }, &mut |event| {
            if let Event::Rejected { reason, .. } = event {
                refused = Some(reason);
            }
        });
    }
    (engine, refused)
}

/// An empty log, every page of which has been written to.
fn touched(inputs_max: usize) -> Vec<Input> {
    let order = NewOrder { account: HOUSE, order_id: 1, ..NewOrder::limit(Side::Buy, 1, 1) };
    let filler = Input { time_ns: 1, command: Command::New(order) };
    let mut inputs = black_box(vec![filler; inputs_max]);
    inputs.clear();
    inputs
}

#[cfg(test)]
#[path = "sequencer_tests.rs"]
mod tests;
