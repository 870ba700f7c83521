//! Puts everything in one order: gives each new order its id and each event its sequence in its
//! book, appends inputs to the journal, and keeps them for the comparison with a replay.

use crate::account::sessions::HOUSE;
use engine::{Command, Engine, EngineLimits, Event, Input, NewOrder, Reject, Side};
use journal::{AppendError, Appender, JournalState, Mode};
use std::hint::black_box;
use std::time::Duration;

/// How often, and how long each time, the start waits for a journal that is behind.
const START_TRIES_MAX: u32 = 10_000;
const START_WAIT: Duration = Duration::from_millis(1);
/// Numbers of trades and events jump by this for each recovered input: by more than one input can
/// cause.
const JUMP_BITS: u32 = 24;

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

/// Why the start can't be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartError {
    /// The engine refused a command of it.
    Engine(Reject),
    /// The journal did.
    Journal(AppendError),
}

pub(crate) struct Sequencer {
    engine: Engine,
    journal: Appender,
    /// Whether answers wait until the journal is durable.
    sync: bool,
    /// How many inputs were there already.
    recovered: u64,
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
    /// An engine that was told `start`. Orders in it that cross each other trade. The log for the
    /// replay takes `inputs_max` inputs; 0 is off.
    ///
    /// # Errors
    /// If the engine refuses a command of the start.
    pub fn new(
        instruments: u16,
        limits: EngineLimits,
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, StartError> {
        let engine = Engine::new(instruments, limits);
        let (journal, sync) = (Appender::none(), false);
        let shape = (instruments, limits);
        Sequencer::begin(engine, shape, (journal, sync), start, inputs_max)
    }

    /// The same with a journal that holds everything that `engine` was told so far; `start` follows
    /// before the first client.
    ///
    /// # Errors
    /// If the engine or the journal refuses a command of the start.
    pub fn journaled(
        engine: Engine,
        shape: (u16, EngineLimits),
        (journal, mode): (Appender, Mode),
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, StartError> {
        Sequencer::begin(engine, shape, (journal, mode == Mode::Sync), start, inputs_max)
    }

    fn begin(
        mut engine: Engine,
        (instruments, limits): (u16, EngineLimits),
        (mut journal, sync): (Appender, bool),
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, StartError> {
        let recovered = journal.next_sequence();
        for command in &start {
            append(&mut journal, command).map_err(StartError::Journal)?;
            tell(&mut engine, command).map_err(StartError::Engine)?;
        }
        let first_number = (recovered << JUMP_BITS).cast_signed();
        Ok(Sequencer {
            engine,
            // An order takes an input: no order has had a number above this.
            orders: journal.next_sequence(),
            journal,
            sync,
            recovered,
            instruments,
            limits,
            start,
            sequences: vec![first_number; usize::from(instruments)],
            trades: first_number,
            inputs: touched(inputs_max),
            inputs_max,
            inputs_dropped: 0,
        })
    }

    /// Whether answers wait for [`Sequencer::acknowledged`].
    #[inline]
    pub fn is_sync(&self) -> bool {
        self.sync
    }

    /// The number of the next input.
    pub fn next_sequence(&self) -> u64 {
        self.journal.next_sequence()
    }

    /// Whether the journal has more room than its reserve for cancels. Otherwise leave out what is
    /// not needed.
    ///
    /// # Errors
    /// It has not.
    pub fn check_reserve(&self) -> Result<(), AppendError> {
        self.journal.check_reserve()
    }

    /// Whether the journal would take so many settings now.
    ///
    /// # Errors
    /// It might refuse one of them.
    pub fn check_room(&self, inputs: u64) -> Result<(), AppendError> {
        self.journal.check_room(inputs)
    }

    /// All inputs below may be acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.journal.acknowledged()
    }

    /// What the journal's writer says, for any thread.
    pub fn journal_watch(&self) -> journal::Watch {
        self.journal.watch()
    }

    /// What ended the journal, if it has failed.
    pub fn failure(&self) -> Option<String> {
        match self.journal.state() {
            JournalState::Failed { why } => Some(why.to_string()),
            _ => None,
        }
    }

    /// Writes what the journal has taken, and ends it. Nothing is to be executed any more.
    ///
    /// # Errors
    /// The journal's, in words.
    pub fn close(&mut self) -> Result<(), String> {
        let journal = std::mem::replace(&mut self.journal, Appender::none());
        journal.close().map(drop).map_err(|error| error.to_string())
    }

    /// The id that the next new order is to have.
    #[inline]
    pub fn next_order_id(&self) -> u64 {
        self.orders + 1
    }

    /// Appends an input to the journal and executes it. Gives its number there.
    ///
    /// # Errors
    /// The journal does not take it; nothing has happened.
    #[inline]
    pub fn execute(
        &mut self,
        input: &Input,
        events: &mut impl FnMut(Sequenced),
    ) -> Result<u64, AppendError> {
        let number = self.journal.try_append(input)?;
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
        Ok(number)
    }

    /// The engine's.
    pub fn state_hash(&self) -> u64 {
        self.engine.state_hash()
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The hash of the state that the logged inputs lead to from the same start; `None` if the log
    /// has stopped.
    pub fn replay(&self) -> Option<u64> {
        if self.inputs_dropped > 0 || self.recovered > 0 {
            return None;
        }
        let mut engine = Engine::new(self.instruments, self.limits);
        for command in &self.start {
            // It was not refused the first time.
            let _ = tell(&mut engine, command);
        }
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
            None if self.recovered > 0 => {
                let recovered = self.recovered;
                let why = format!(
                    "{recovered} inputs were recovered from the journal: tickpath replay holds the state against it"
                );
                ReplayCheck { equal: None, why }
            }
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

/// The start's time is 0, so that it is the same whenever it is.
fn of_start(command: &Command) -> Input {
    Input { time_ns: 0, command: *command }
}

/// Appends a command of the start, at the journal's pace.
fn append(journal: &mut Appender, command: &Command) -> Result<(), AppendError> {
    let mut tries = 0;
    loop {
        match journal.try_append(&of_start(command)) {
            Err(AppendError::Full { .. }) if tries < START_TRIES_MAX => {
                tries += 1;
                std::thread::sleep(START_WAIT);
            }
            appended => return appended.map(drop),
        }
    }
}

/// Tells an engine a command of the start.
fn tell(engine: &mut Engine, command: &Command) -> Result<(), Reject> {
    let mut told = Ok(());
    engine.apply(&of_start(command), &mut |event| {
        if let Event::Rejected { reason, .. } = event {
            told = Err(reason);
        }
    });
    told
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
