//! A flow with the times at which its inputs are due.

use crate::recorded;
use crate::settings::{DAY_SECONDS_MAX, FlowError, Settings, Source};
use crate::w1::{self, MID_TICKS, SHALLOW};
use crate::writer::{Action, SEED, SkippedInputs, Step, Writer};
use engine::{Command, NewOrder, TimeInForce};
use std::path::Path;

/// Orders that do not rest at the start have ids above this. An exchange never numbers its clients'
/// orders so high.
pub const ORDER_IDS: u64 = 1 << 40;

/// All inputs of a flow with their due times. They have account 0, tag 0 and instrument 0.
#[derive(Clone, Debug)]
pub struct Script {
    start: Vec<NewOrder>,
    steps: Vec<Step>,
    duration_ns: u64,
    skipped: SkippedInputs,
}

impl Script {
    /// Reads the file and runs an engine through the flow.
    ///
    /// # Errors
    /// [`FlowError`].
    pub fn new(settings: &Settings) -> Result<Script, FlowError> {
        settings.check()?;
        let mut writer = Writer::new(settings);
        match &settings.source {
            Source::Synthetic => synthetic(settings, &mut writer)?,
            Source::DatabentoMbo(path) => recorded::play(path, settings, &mut writer)?,
        }
        let duration_ns = writer.duration_ns();
        let Writer { start, steps, skipped, .. } = writer;
        Ok(Script { start, steps, duration_ns, skipped })
    }

    /// The orders that rest before the first input, with ids from 1, in the order in which they
    /// enter.
    pub fn start(&self) -> &[NewOrder] {
        &self.start
    }

    /// Number of inputs.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has no inputs.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// When input `index` is due, ns after the start; `None` after the last.
    #[inline]
    pub fn offset_ns(&self, index: usize) -> Option<u64> {
        self.steps.get(index).map(|step| step.offset_ns)
    }

    /// Input `index`.
    ///
    /// # Panics
    /// If there is no such input.
    #[inline]
    pub fn command(&self, index: usize) -> Command {
        let step = &self.steps[index];
        let number = u64::from(step.number);
        let rests_at_start = step.number as usize <= self.start.len();
        step.command(if rests_at_start { number } else { ORDER_IDS + number })
    }

    /// Duration of the inputs, ns: as requested, or to the last one of a shorter file.
    pub fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    /// Inputs that were left out.
    pub fn skipped(&self) -> SkippedInputs {
        self.skipped
    }
}

/// The times of a recorded day's orders, changes and cancels, ns since 1970, ascending.
///
/// # Errors
/// [`FlowError`].
pub fn times_ns(path: &Path) -> Result<Vec<u64>, FlowError> {
    let settings = Settings::of_day(path, DAY_SECONDS_MAX, Settings::limits_of_day());
    let script = Script::new(&settings)?;
    let begin_ns = recorded::begin_ns(path)?;
    Ok(script.steps.iter().map(|step| begin_ns + step.offset_ns).collect())
}

/// W1, shifted so that its middle is the instrument's.
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

/// The step for an order with W1's id, which is the flow's number.
fn step(action: Action, order_id: u64, price_ticks: i64, lots: u64) -> Step {
    Step { offset_ns: 0, price_ticks, lots, number: order_id as u32, action }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
