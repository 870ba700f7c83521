//! The inputs of a flow that change the book, with their due times.

use crate::settings::{FlowError, INPUTS_MAX, Pace, Settings};
use crate::simulation::Simulation;
use clock::schedule::{Arrival, Schedule};
use engine::{Amend, Cancel, Command, NewOrder, Side, TimeInForce};

/// Seed of all random draws: a script is the same each time.
pub(crate) const SEED: u64 = 42;

/// Inputs that a script leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedInputs {
    /// Inputs that would have changed nothing: cancels of orders that are done, immediate orders
    /// that matched nothing.
    pub without_effect: u64,
    /// Cancels and changes of recorded orders that had already traded here.
    pub traded_already: u64,
    /// Recorded orders that would have traded here but did not trade in the recording, counted each
    /// time that they were held back. Books are crossed before an opening.
    pub crossing: u64,
}

/// The action of an input.
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

/// Takes a flow's inputs one after the other and keeps those that change the book.
pub(crate) struct Writer {
    pub simulation: Simulation,
    pub start: Vec<NewOrder>,
    pub steps: Vec<Step>,
    pub skipped: SkippedInputs,
    /// Id of the latest order.
    pub last_number: u32,
    /// Whether the source had inputs for all the requested time.
    is_full: bool,
    seconds_ns: u64,
    pace: Pace,
    schedule: Schedule,
    price_ticks_max: i64,
    quantity_lots_max: u64,
}

impl Writer {
    pub fn new(settings: &Settings) -> Writer {
        let (rate_per_second, arrival, burst) = match settings.pace {
            Pace::Fixed { rate_per_second, arrival, burst } => (rate_per_second, arrival, burst),
            Pace::Recorded { .. } => (1.0, Arrival::Uniform, 1),
        };
        Writer {
            simulation: Simulation::new(settings.limits),
            start: Vec::new(),
            steps: Vec::new(),
            skipped: SkippedInputs::default(),
            last_number: 0,
            is_full: false,
            seconds_ns: (settings.seconds * 1e9) as u64,
            pace: settings.pace,
            schedule: Schedule::new(rate_per_second, arrival, burst, SEED),
            price_ticks_max: settings.price_ticks_max,
            quantity_lots_max: settings.quantity_lots_max,
        }
    }

    /// Duration of the inputs: as requested, or to the last one of a shorter source.
    pub fn duration_ns(&self) -> u64 {
        let last_ns = self.steps.last().map_or(0, |step| step.offset_ns);
        if self.is_full { self.seconds_ns } else { last_ns }
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

    /// Adds an order that rests at the start and returns its number.
    pub fn rest(&mut self, side: Side, price_ticks: i64, lots: u64) -> Result<u32, FlowError> {
        self.fits(price_ticks, lots)?;
        self.last_number += 1;
        let order_id = u64::from(self.last_number);
        let order = NewOrder { order_id, ..NewOrder::limit(side, price_ticks, lots) };
        self.start.push(order);
        self.simulation.tell(Command::New(order));
        Ok(self.last_number)
    }

    /// Adds the next input, recorded `recorded_ns` after the first, or leaves it out if it changes
    /// nothing. Returns whether there may be more.
    pub fn write(&mut self, step: Step, recorded_ns: u64) -> Result<bool, FlowError> {
        let offset_ns = match self.pace {
            Pace::Recorded { speed } => (recorded_ns as f64 / speed) as u64,
            Pace::Fixed { .. } => self.schedule.offset_ns(),
        };
        if offset_ns >= self.seconds_ns {
            self.is_full = true;
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
