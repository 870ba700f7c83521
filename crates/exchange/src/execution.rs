//! How commands are executed: straight through, or, where somebody watches (a client who wants stamps, the ticker plant), with their events put aside.

use crate::market_data::To;
use crate::order_entry::OrderEntry;
use crate::plant::Happened;
use crate::reports::{Asked, Reports, What};
use crate::sequencer::Sequenced;
use crate::stamping::Stamping;
use crate::text::wire_time;
use engine::{Command, Event, Input};
use measure::clock::Clock;
use transport::serve::Outbound;

/// Room for the events of one input; a mass cancel may have more.
const EVENTS: usize = 4096;

/// What it takes to watch.
pub(crate) struct Observed {
    /// What stamps are read from; `None`: there are none.
    pub clock: Option<Clock>,
    /// Somebody watches.
    pub is_on: bool,
    /// Of the latest command.
    pub events: Vec<Sequenced>,
}

impl Observed {
    pub fn new(clock: Option<Clock>) -> Observed {
        Observed { clock, is_on: false, events: Vec::with_capacity(EVENTS) }
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.map_or(0, |clock| clock.now_ns())
    }
}

impl OrderEntry {
    /// What a request that the engine is not asked is answered with, if who sent it wants stamps.
    #[inline]
    pub fn stamping(&self, from: transport::StreamId) -> Option<Stamping> {
        let clock = self.observed.clock.filter(|_| self.observed.is_on)?;
        let wants = self.sessions.wants_stamps(from);
        wants.then(|| Stamping::without_engine(clock, self.cause_ns))
    }

    /// A turn of the loop: publishes what the last one has left, then executes what is due of the house's flow, and publishes that. Says whether there is more
    /// to come.
    #[inline]
    pub fn turn(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let mut awaits = self.publish(wall_ns, outbound);
        if self.house.is_some() && self.run_flow(wall_ns, outbound) {
            self.publish(wall_ns, outbound);
            self.end_flow(outbound);
            awaits = true;
        }
        awaits
    }

    #[inline]
    fn publish(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let OrderEntry { plant: Some(plant), instruments, sequencer, .. } = self else {
            return false;
        };
        if !plant.has_work() {
            return false;
        }
        let acknowledged = if sequencer.is_sync() { sequencer.acknowledged() } else { 0 };
        let time_ms = if plant.data.is_empty() { 0 } else { wire_time(wall_ns()) };
        plant.publish(acknowledged, To { instruments, outbound, time_ms })
    }

    /// Tells who asked that the journal did not take it.
    #[cold]
    pub fn not_taken(
        &mut self,
        asked: &Asked<'_>,
        refused: journal::Refused,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let stamping = asked.from.and_then(|from| self.stamping(from));
        let OrderEntry { instruments, sessions, orders, counts, done, refusals, .. } = self;
        let time_ms = wire_time(time_ns);
        let mut reports = Reports {
            instruments,
            sessions,
            orders,
            counts,
            done,
            refusals,
            outbound,
            asked,
            time_ms,
            stamping,
        };
        reports.not_taken(refused);
    }

    /// Executes a command: first the engine, then the reports, and their events are left for the plant. Gives when the reports were encoded.
    ///
    /// # Errors
    /// The journal does not take it; nothing has happened, and nobody has been told.
    pub fn execute_observed(
        &mut self,
        asked: &Asked<'_>,
        command: Command,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<u64, journal::Refused> {
        let OrderEntry { instruments, sessions, orders, sequencer, .. } = self;
        let OrderEntry { counts, done, refusals, observed, .. } = self;
        observed.events.clear();
        let engine_in_ns = observed.now_ns();
        let input = Input { time_ns, command };
        let events = &mut observed.events;
        let number = sequencer.execute(&input, &mut |sequenced| events.push(sequenced))?;
        let engine_out_ns = observed.now_ns();
        let intended_ns = match (asked.from, asked.what) {
            // The exchange does it by itself, and now.
            (None, What::Setting) => engine_in_ns,
            _ => self.cause_ns,
        };
        let stamping = observed
            .clock
            .filter(|_| asked.from.is_some_and(|from| sessions.wants_stamps(from)))
            .map(|clock| Stamping {
                clock,
                gateway_in_ns: self.cause_ns,
                engine_in_ns,
                engine_out_ns,
            });
        let time_ms = wire_time(time_ns);
        let mut reports = Reports {
            instruments,
            sessions,
            orders,
            counts,
            done,
            refusals,
            outbound,
            asked,
            time_ms,
            stamping,
        };
        for sequenced in &observed.events {
            reports.event(*sequenced);
        }
        let acknowledged_ns = observed.now_ns();
        let mark = if sequencer.is_sync() { number + 1 } else { 0 };
        if mark > 0 {
            outbound.hold(mark);
        }
        if let Some(plant) = &mut self.plant {
            let state = state_of(&command, &observed.events);
            let happened = Happened { mark, intended_ns, acknowledged_ns, state };
            plant.done(&observed.events, happened);
        }
        Ok(acknowledged_ns)
    }
}

/// The state that a command has given an instrument.
#[inline]
fn state_of(command: &Command, events: &[Sequenced]) -> Option<(u16, engine::InstrumentState)> {
    let Command::Instrument(settings) = command else { return None };
    let applied = events.iter().any(|sequenced| matches!(sequenced.event, Event::Applied { .. }));
    applied.then_some((settings.instrument, settings.state))
}

/// Whether the journal took it; if not, whoever asked has been told.
#[inline]
pub(crate) fn execute(
    entry: &mut OrderEntry,
    asked: &Asked<'_>,
    command: Command,
    time_ns: u64,
    outbound: &mut Outbound,
) -> bool {
    if entry.observed.is_on {
        return match entry.execute_observed(asked, command, time_ns, outbound) {
            Ok(_) => true,
            Err(refused) => {
                entry.not_taken(asked, refused, time_ns, outbound);
                false
            }
        };
    }
    let OrderEntry { instruments, sessions, orders, sequencer, counts, done, refusals, .. } = entry;
    let (time_ms, stamping) = (wire_time(time_ns), None);
    let mut reports = Reports {
        instruments,
        sessions,
        orders,
        counts,
        done,
        refusals,
        outbound,
        asked,
        time_ms,
        stamping,
    };
    let input = Input { time_ns, command };
    match sequencer.execute(&input, &mut |sequenced| reports.event(sequenced)) {
        Ok(number) => {
            if sequencer.is_sync() {
                outbound.hold(number + 1);
            }
            true
        }
        Err(refused) => {
            reports.not_taken(refused);
            false
        }
    }
}
