//! A flow with the times at which its inputs are due.

use crate::databento::DatabentoError;
use crate::recorded;
use crate::simulation::Simulation;
use crate::w1::{self, MID_TICKS, SHALLOW};
use engine::{Amend, Cancel, Command, EngineLimits, NewOrder, Side, TimeInForce};
use measure::schedule::{Arrival, RATE_PER_SECOND_MAX, Schedule};
use std::path::PathBuf;

/// The most inputs of a script, 32 bytes each.
pub const INPUTS_MAX: usize = 1 << 24;
/// The fastest that a recording is played: a day in less than a second.
pub const SPEED_MAX: f64 = 1e5;
/// Orders of a script that do not rest at the start have ids above this: no exchange numbers its clients' so high.
pub const ORDER_IDS: u64 = 1 << 40;
const SEED: u64 = 42;

/// Where a flow comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Workload W1 with a shallow book.
    Synthetic,
    /// A Databento MBO file.
    DatabentoMbo(PathBuf),
}

/// When inputs are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As they were recorded (of a synthetic flow: by its own clock, 463 000 a second before what is left out), so many times as fast.
    Recorded {
        /// Above 0, at most [`SPEED_MAX`].
        speed: f64,
    },
    /// At a rate, in their order.
    Fixed {
        /// Inputs, above 0, at most [`RATE_PER_SECOND_MAX`].
        rate_per_second: f64,
        /// How they are spread over time.
        arrival: Arrival,
        /// Inputs at the same instant, for [`Arrival::Burst`] only; at least 1.
        burst: u64,
    },
}

/// What a script is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where it comes from.
    pub source: Source,
    /// When its inputs are due.
    pub pace: Pace,
    /// For how long; a recording may end before.
    pub seconds: f64,
    /// What size 1 of the source is, in lots.
    pub lots_per_unit: u64,
    /// The middle of a synthetic book at its start, in ticks.
    pub mid_ticks: i64,
    /// The highest price that the instrument takes, in ticks.
    pub price_ticks_max: i64,
    /// The largest order that it takes, in lots.
    pub quantity_lots_max: u64,
    /// Those of the engine that it is for.
    pub limits: EngineLimits,
}

/// Why a script can't be made.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A setting is out of its range.
    #[error("the flow's {name} is {value}, but must be above 0 and at most {max}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What it was set to.
        value: f64,
        /// The most it may be.
        max: f64,
    },
    /// There would be too many inputs.
    #[error(
        "the flow has more than {INPUTS_MAX} inputs (limit inputs_max); take fewer seconds, or a lower rate"
    )]
    TooLong,
    /// The file can't be used.
    #[error(transparent)]
    Databento(#[from] DatabentoError),
    /// The file has nothing that a flow could be made of.
    #[error(
        "{file} has no orders that change a book after its first snapshot; name a file of schema mbo with a day in it"
    )]
    Empty {
        /// The file.
        file: String,
    },
    /// A price or a size that the instrument does not take.
    #[error("the flow does not fit its instrument: {why}; choose another instrument or file")]
    DoesNotFit {
        /// Which bound it breaks.
        why: String,
    },
}

/// What was left out of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Inputs that would have changed nothing: cancels of what is done, immediate orders that met nothing.
    pub without_effect: u64,
    /// Cancels and changes of recorded orders that had traded already here: what the recorded trade did, its order has done.
    pub traded_already: u64,
    /// Recorded orders that would have traded here and did not there, each time that they were held back: before an opening books are crossed.
    pub crossing: u64,
}

/// What an input does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Action {
    Add(Side),
    Immediate(Side),
    Amend,
    Cancel,
}

/// An input in half the size of a [`Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub offset_ns: u64,
    pub price_ticks: i64,
    pub lots: u64,
    /// The flow's number of the order, from 1.
    pub number: u32,
    pub action: Action,
}

const _: () = assert!(size_of::<Step>() <= 32);

impl Step {
    /// The command, with `order_id` for the order.
    pub fn command(&self, order_id: u64) -> Command {
        let Step { price_ticks, lots, .. } = *self;
        let (account, tag, instrument) = (0, 0, 0);
        match self.action {
            Action::Add(side) => {
                Command::New(NewOrder { order_id, ..NewOrder::limit(side, price_ticks, lots) })
            }
            Action::Immediate(side) => Command::New(NewOrder {
                order_id,
                time_in_force: TimeInForce::ImmediateOrCancel,
                ..NewOrder::limit(side, price_ticks, lots)
            }),
            Action::Amend => {
                let remaining_lots = lots;
                let amend =
                    Amend { order_id, account, tag, instrument, price_ticks, remaining_lots };
                Command::Amend(amend)
            }
            Action::Cancel => Command::Cancel(Cancel { order_id, account, tag, instrument }),
        }
    }
}

/// All inputs of a flow, and when each is due. They are of account 0, tag 0 and instrument 0.
#[derive(Clone, Debug)]
pub struct Script {
    start: Vec<NewOrder>,
    steps: Vec<Step>,
    skipped: Skipped,
}

impl Script {
    /// Makes it: reads the file, and lets an engine run through it.
    ///
    /// # Errors
    /// [`FlowError`].
    pub fn new(settings: &Settings) -> Result<Script, FlowError> {
        check(settings)?;
        let mut writer = Writer::new(settings);
        match &settings.source {
            Source::Synthetic => synthetic(settings, &mut writer)?,
            Source::DatabentoMbo(path) => recorded::play(path, settings, &mut writer)?,
        }
        let Writer { start, steps, skipped, .. } = writer;
        Ok(Script { start, steps, skipped })
    }

    /// The orders that rest before the first input, with ids from 1, in the order in which they enter.
    pub fn start(&self) -> &[NewOrder] {
        &self.start
    }

    /// How many inputs there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// When input `index` is due, ns after the start; `None` behind the last.
    #[inline]
    pub fn offset_ns(&self, index: usize) -> Option<u64> {
        self.steps.get(index).map(|step| step.offset_ns)
    }

    /// Input `index`.
    ///
    /// # Panics
    /// Behind the last.
    #[inline]
    pub fn command(&self, index: usize) -> Command {
        let step = &self.steps[index];
        let number = u64::from(step.number);
        let rests_at_start = step.number as usize <= self.start.len();
        step.command(if rests_at_start { number } else { ORDER_IDS + number })
    }

    /// When the last input is due, ns after the start.
    pub fn duration_ns(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.offset_ns)
    }

    /// What was left out.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }
}

fn check(settings: &Settings) -> Result<(), FlowError> {
    let ranges = match settings.pace {
        Pace::Recorded { speed } => {
            [("speed", speed, SPEED_MAX), ("seconds", settings.seconds, 1e6)]
        }
        Pace::Fixed { rate_per_second, .. } => {
            [("rate", rate_per_second, RATE_PER_SECOND_MAX), ("seconds", settings.seconds, 1e6)]
        }
    };
    for (name, value, max) in ranges {
        if !(value > 0.0 && value <= max) {
            return Err(FlowError::Setting { name, value, max });
        }
    }
    if let Pace::Fixed { burst: 0, .. } = settings.pace {
        return Err(FlowError::Setting { name: "burst", value: 0.0, max: INPUTS_MAX as f64 });
    }
    Ok(())
}

/// Takes a flow's inputs one after the other, and keeps those that change the book.
pub(crate) struct Writer {
    pub simulation: Simulation,
    pub start: Vec<NewOrder>,
    pub steps: Vec<Step>,
    pub skipped: Skipped,
    /// Of the latest order.
    pub last_number: u32,
    seconds_ns: u64,
    pace: Pace,
    schedule: Schedule,
    price_ticks_max: i64,
    quantity_lots_max: u64,
}

impl Writer {
    fn new(settings: &Settings) -> Writer {
        let (rate_per_second, arrival, burst) = match settings.pace {
            Pace::Fixed { rate_per_second, arrival, burst } => (rate_per_second, arrival, burst),
            Pace::Recorded { .. } => (1.0, Arrival::Uniform, 1),
        };
        Writer {
            simulation: Simulation::new(settings.limits),
            start: Vec::new(),
            steps: Vec::new(),
            skipped: Skipped::default(),
            last_number: 0,
            seconds_ns: (settings.seconds * 1e9) as u64,
            pace: settings.pace,
            schedule: Schedule::new(rate_per_second, arrival, burst, SEED),
            price_ticks_max: settings.price_ticks_max,
            quantity_lots_max: settings.quantity_lots_max,
        }
    }

    fn fits(&self, price_ticks: i64, lots: u64) -> Result<(), FlowError> {
        let (ticks_max, lots_max) = (self.price_ticks_max, self.quantity_lots_max);
        let why = if !(1..=ticks_max).contains(&price_ticks) {
            format!("a price is {price_ticks} ticks, not 1 to {ticks_max}")
        } else if !(1..=lots_max).contains(&lots) {
            format!("a size is {lots} lots, not 1 to {lots_max}")
        } else {
            return Ok(());
        };
        Err(FlowError::DoesNotFit { why })
    }

    /// The next order of the start. Gives its number.
    pub fn rest(&mut self, side: Side, price_ticks: i64, lots: u64) -> Result<u32, FlowError> {
        self.fits(price_ticks, lots)?;
        self.last_number += 1;
        let order_id = u64::from(self.last_number);
        let order = NewOrder { order_id, ..NewOrder::limit(side, price_ticks, lots) };
        self.start.push(order);
        self.simulation.tell(Command::New(order));
        Ok(self.last_number)
    }

    /// The next input, which happened `recorded_ns` after the first. Says whether there may be more; one that changes nothing is left out.
    pub fn write(&mut self, step: Step, recorded_ns: u64) -> Result<bool, FlowError> {
        let offset_ns = match self.pace {
            Pace::Recorded { speed } => (recorded_ns as f64 / speed) as u64,
            Pace::Fixed { .. } => self.schedule.offset_ns(),
        };
        if offset_ns >= self.seconds_ns {
            return Ok(false);
        }
        if step.action != Action::Cancel {
            self.fits(step.price_ticks, step.lots)?;
        }
        if !self.simulation.tell(step.command(step.number.into())) {
            self.skipped.without_effect += 1;
            return Ok(true);
        }
        if self.steps.len() == INPUTS_MAX {
            return Err(FlowError::TooLong);
        }
        self.steps.push(Step { offset_ns, ..step });
        self.schedule.advance();
        Ok(true)
    }
}

/// W1, moved so that its middle is the instrument's.
fn synthetic(settings: &Settings, writer: &mut Writer) -> Result<(), FlowError> {
    let (mut flow, prefill) = w1::Flow::bounded(SHALLOW, 1, SEED);
    let moved = |price_ticks: i64| price_ticks - MID_TICKS + settings.mid_ticks;
    let lots = |units: u64| units.saturating_mul(settings.lots_per_unit);
    for input in prefill {
        if let Command::New(new) = input.command {
            writer.rest(new.side, moved(new.price_ticks), lots(new.quantity_lots))?;
        }
    }
    loop {
        let input = flow.next_input();
        let step = match input.command {
            Command::New(new) => {
                let action = match new.time_in_force {
                    TimeInForce::ImmediateOrCancel => Action::Immediate(new.side),
                    _ => Action::Add(new.side),
                };
                step(action, new.order_id, moved(new.price_ticks), lots(new.quantity_lots))
            }
            Command::Amend(amend) => {
                let (price_ticks, units) = (moved(amend.price_ticks), amend.remaining_lots);
                step(Action::Amend, amend.order_id, price_ticks, lots(units))
            }
            Command::Cancel(cancel) => step(Action::Cancel, cancel.order_id, 0, 0),
            // W1 has no other commands.
            _ => continue,
        };
        if !writer.write(step, input.time_ns)? {
            return Ok(());
        }
    }
}

/// Of an order with W1's id, which is the flow's number.
fn step(action: Action, order_id: u64, price_ticks: i64, lots: u64) -> Step {
    Step { offset_ns: 0, price_ticks, lots, number: order_id as u32, action }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
