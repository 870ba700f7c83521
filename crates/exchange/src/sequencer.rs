//! Puts all inputs in one order: gives each new order its id and each event its sequence in its
//! book, appends inputs to the journal, and logs them for the replay check.

use crate::account::sessions::EXCHANGE_ACCOUNT;
use engine::{Command, Engine, EngineLimits, Event, Input, NewOrder, Reject, Side};
use journal::{AppendError, Appender, Delivery, JournalState};
use std::hint::black_box;
use std::time::Duration;
use wire::ClientId;

/// How often the start retries while the journal is full, and how long it waits each time.
const START_TRIES_MAX: u32 = 10_000;
const START_WAIT: Duration = Duration::from_millis(1);
/// Trade and event numbers skip 2^this for each recovered input: more than one input can cause.
const JUMP_BITS: u32 = 24;

/// An event with its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedEvent {
    pub event: Event,
    /// Counts the events of this instrument's book, from 1; 0 in an event of no book.
    pub order_book_sequence: i64,
    /// The number of the exchange's latest trade, from 1; of a trade its own number.
    pub trade_id: i64,
}

/// Result of comparing the engine with a replay of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayCheck {
    /// Whether the states are equal; `None` if unknown.
    pub equal: Option<bool>,
    /// The states that were compared, or why the result is unknown.
    pub why: String,
}

/// Why the start fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartError {
    /// The engine rejected a command of the start.
    Engine(Reject),
    /// The journal did not take a command of the start.
    Journal(AppendError),
}

pub(crate) struct Sequencer {
    engine: Engine,
    journal: Appender,
    /// Whether answers wait until the journal is durable, or a follower has it.
    sync: bool,
    /// Number of recovered inputs.
    recovered: u64,
    instruments: u16,
    limits: EngineLimits,
    /// Commands that the engine executed before the first client connected.
    start: Vec<Command>,
    /// Latest sequence by instrument.
    sequences: Vec<i64>,
    orders: u64,
    trades: i64,
    inputs: Vec<Input>,
    inputs_max: usize,
    /// Inputs that came after the log was full.
    inputs_dropped: u64,
}

impl Sequencer {
    /// An engine that has executed `start`. Orders in it that cross trade. The log for the replay
    /// check takes `inputs_max` inputs; 0 is off.
    ///
    /// # Errors
    /// If the engine rejects a command of the start.
    pub fn new(
        instruments: u16,
        limits: EngineLimits,
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, StartError> {
        let engine = Engine::new(instruments, limits);
        let shape = (instruments, limits);
        Sequencer::journaled(engine, shape, Appender::none(), start, inputs_max)
    }

    /// The same with a journal, which holds all inputs of `engine` so far; `start` follows before
    /// the first client.
    ///
    /// # Errors
    /// If the engine rejects a command of the start, or the journal does not take it.
    pub fn journaled(
        mut engine: Engine,
        (instruments, limits): (u16, EngineLimits),
        mut journal: Appender,
        start: Vec<Command>,
        inputs_max: usize,
    ) -> Result<Sequencer, StartError> {
        let recovered = journal.next_sequence();
        for command in &start {
            append(&mut journal, command).map_err(StartError::Journal)?;
            execute_start(&mut engine, command).map_err(StartError::Engine)?;
        }
        let first_number = (recovered << JUMP_BITS).cast_signed();
        Ok(Sequencer {
            engine,
            // Each order took an input, so no order has a number above this.
            orders: journal.next_sequence(),
            sync: journal.is_sync(),
            journal,
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

    /// Whether the journal has more room than its reserve for cancels. Without it, leave out inputs
    /// that can wait.
    ///
    /// # Errors
    /// Only the reserve is left.
    pub fn check_reserve(&self) -> Result<(), AppendError> {
        self.journal.check_reserve()
    }

    /// Whether the journal would take this many settings now.
    ///
    /// # Errors
    /// It might not take all of them.
    pub fn check_room(&self, inputs: u64) -> Result<(), AppendError> {
        self.journal.check_room(inputs)
    }

    /// Inputs with lower numbers may be acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.journal.acknowledged()
    }

    /// The state of the journal's writer, for any thread.
    pub fn journal_watch(&self) -> journal::Watch {
        self.journal.watch()
    }

    /// For the thread that ships the journal to a follower; `None` without one.
    pub fn journal_shipping(&self) -> Option<journal::Shipping> {
        self.journal.shipping()
    }

    /// Why the journal has failed, if it has.
    pub fn failure(&self) -> Option<String> {
        match self.journal.state() {
            JournalState::Failed { why } => Some(why.to_string()),
            _ => None,
        }
    }

    /// Writes all inputs that the journal has taken, and closes it. Call it last.
    ///
    /// # Errors
    /// The journal's error as text.
    pub fn close(&mut self) -> Result<(), String> {
        let journal = std::mem::replace(&mut self.journal, Appender::none());
        journal.close().map(drop).map_err(|error| error.to_string())
    }

    /// The id of the next new order.
    #[inline]
    pub fn next_order_id(&self) -> u64 {
        self.orders + 1
    }

    /// Appends what the next order said of the tick that caused it.
    ///
    /// # Errors
    /// The journal does not take it, and would not take the order.
    pub fn append_delivery(&mut self, delivery: &Delivery) -> Result<(), AppendError> {
        self.journal.try_append_delivery(delivery)
    }

    /// Appends an input to the journal and executes it; of a new order or an amendment, also the
    /// client id that it gives its order. Returns the input's number there.
    ///
    /// # Errors
    /// The journal does not take it; the engine has not executed it.
    #[inline]
    pub fn execute(
        &mut self,
        input: &Input,
        client_id: Option<&ClientId>,
        events: &mut impl FnMut(NumberedEvent),
    ) -> Result<u64, AppendError> {
        let number = match client_id {
            Some(client_id) => self.journal.try_append_named(client_id.padded(), input)?,
            None => self.journal.try_append(input)?,
        };
        if self.inputs.len() < self.inputs_max {
            self.inputs.push(*input);
        } else {
            self.inputs_dropped += 1;
        }
        self.orders += u64::from(matches!(input.command, Command::New(_)));
        let (sequences, trades) = (&mut self.sequences, &mut self.trades);
        self.engine.apply(input, &mut |event| {
            // Only a rejection may name an instrument that the engine does not have.
            let order_book_sequence = match book_of(&event) {
                Some(instrument) => {
                    let sequence = &mut sequences[usize::from(instrument)];
                    *sequence += 1;
                    *sequence
                }
                None => 0,
            };
            *trades += i64::from(matches!(event, Event::Trade { .. }));
            events(NumberedEvent { event, order_book_sequence, trade_id: *trades });
        });
        Ok(number)
    }

    /// Appends to the journal whether an account asks for `cancel_on_disconnect`. Returns the
    /// record's number; `None` without a journal.
    ///
    /// # Errors
    /// The journal does not take it.
    pub fn append_cancel_on_disconnect(
        &mut self,
        account: u32,
        is_on: bool,
    ) -> Result<Option<u64>, AppendError> {
        self.journal.try_append_cancel_on_disconnect(account, is_on)
    }

    /// Asks the follower whether this exchange still leads. Returns the question's number; `None`
    /// if nobody else can lead.
    ///
    /// # Errors
    /// The journal does not take it.
    pub fn append_question(&mut self) -> Result<Option<u64>, AppendError> {
        self.journal.try_append_question()
    }

    /// [`engine::Engine::state_hash`].
    pub fn state_hash(&self) -> u64 {
        self.engine.state_hash()
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The hash of the state after a replay of the start and the logged inputs; `None` if the log
    /// is incomplete.
    pub fn replay(&self) -> Option<u64> {
        if self.inputs_dropped > 0 || self.recovered > 0 {
            return None;
        }
        let mut engine = Engine::new(self.instruments, self.limits);
        for command in &self.start {
            // The engine accepted it the first time.
            let _ = execute_start(&mut engine, command);
        }
        for input in &self.inputs {
            engine.apply(input, &mut |_| {});
        }
        Some(engine.state_hash())
    }

    /// Compares the engine with a replay. Takes the time and the memory of a second engine.
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

/// The instrument whose book the event belongs to.
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

/// Commands of the start have time 0, so that every start is the same.
fn of_start(command: &Command) -> Input {
    Input { time_ns: 0, command: *command }
}

/// Appends a command of the start; waits while the journal is full.
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

/// Executes a command of the start.
fn execute_start(engine: &mut Engine, command: &Command) -> Result<(), Reject> {
    let mut result = Ok(());
    engine.apply(&of_start(command), &mut |event| {
        if let Event::Rejected { reason, .. } = event {
            result = Err(reason);
        }
    });
    result
}

/// An empty log with all its pages touched.
fn touched(inputs_max: usize) -> Vec<Input> {
    let order =
        NewOrder { account: EXCHANGE_ACCOUNT, order_id: 1, ..NewOrder::limit(Side::Buy, 1, 1) };
    let filler = Input { time_ns: 1, command: Command::New(order) };
    let mut inputs = black_box(vec![filler; inputs_max]);
    inputs.clear();
    inputs
}

#[cfg(test)]
#[path = "sequencer_tests.rs"]
mod tests;
