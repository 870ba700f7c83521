//! How commands are executed: directly, or, if a client wants stamps or the ticker plant publishes,
//! with their events kept.

use crate::entry::OrderEntry;
use crate::entry::observed::Observed;
use crate::entry::refusals::About;
use crate::entry::reports::{Asked, Reports, What};
use crate::entry::stamping::Stamping;
use crate::entry::text::wire_time;
use crate::market_data::plant::Happened;
use crate::sequencer::{Sequenced, Sequencer};
use engine::{Command, Event, Input};
use transport::StreamId;
use transport::serve::Outbound;
use wire::ClientId;

impl OrderEntry {
    /// What a request that the engine is not asked is answered with, if who sent it wants stamps.
    #[inline]
    pub fn stamping(&self, from: StreamId) -> Option<Stamping> {
        let clock = self.observed.clock.filter(|_| self.observed.is_on)?;
        let wants = self.sessions.wants_stamps(from);
        wants.then(|| Stamping::without_engine(clock, self.cause_ns))
    }

    /// A request that is refused, as its answer names it.
    #[cold]
    pub fn request_of<'a>(
        &self,
        from: StreamId,
        account_id: Option<&'a str>,
        client_id: Option<&'a ClientId>,
        time_ns: u64,
    ) -> About<'a> {
        let (time_ms, stamping) = (wire_time(time_ns), self.stamping(from));
        About { from, account_id, client_id, time_ms, stamping }
    }

    /// The parts that execute a command, watch it, and report it (unstamped so far): three that
    /// share no field.
    #[inline]
    fn apart<'a>(
        &'a mut self,
        asked: &'a Asked<'a>,
        time_ns: u64,
        outbound: &'a mut Outbound,
    ) -> (&'a mut Sequencer, &'a mut Observed, Reports<'a>) {
        let OrderEntry { instruments, sessions, orders, sequencer, .. } = self;
        let OrderEntry { counts, done, refusals, observed, .. } = self;
        let (time_ms, stamping) = (wire_time(time_ns), None);
        let reports = Reports {
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
        (sequencer, observed, reports)
    }

    /// Tells who asked that the journal did not take it.
    #[cold]
    fn not_taken(
        &mut self,
        asked: &Asked<'_>,
        refused: journal::AppendError,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let stamping = asked.from.and_then(|from| self.stamping(from));
        let (_, _, mut reports) = self.apart(asked, time_ns, outbound);
        reports.stamping = stamping;
        reports.not_taken(refused);
    }

    /// Executes a command: first the engine, then the reports; the events stay for the plant.
    /// Returns when the reports were encoded.
    ///
    /// # Errors
    /// The journal does not take it; nothing has happened, and nobody has been told.
    pub fn execute_observed(
        &mut self,
        asked: &Asked<'_>,
        command: Command,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<u64, journal::AppendError> {
        let gateway_in_ns = self.cause_ns;
        let (sequencer, observed, mut reports) = self.apart(asked, time_ns, outbound);
        observed.events.clear();
        let engine_in_ns = observed.now_ns();
        let input = Input { time_ns, command };
        let events = &mut observed.events;
        let number = sequencer.execute(&input, &mut |sequenced| events.push(sequenced))?;
        let engine_out_ns = observed.now_ns();
        reports.stamping = observed
            .clock
            .filter(|_| asked.from.is_some_and(|from| reports.sessions.wants_stamps(from)))
            .map(|clock| Stamping { clock, gateway_in_ns, engine_in_ns, engine_out_ns });
        for sequenced in &observed.events {
            reports.event(*sequenced);
        }
        let acknowledged_ns = observed.now_ns();
        let mark = if sequencer.is_sync() { number + 1 } else { 0 };
        if mark > 0 {
            outbound.hold(mark);
        }
        if let Some(plant) = &mut self.plant {
            let intended_ns = match (asked.from, asked.what) {
                // The exchange does it by itself, and now.
                (None, What::Setting) => engine_in_ns,
                _ => gateway_in_ns,
            };
            let events = &self.observed.events;
            let state = state_of(&command, events);
            plant.done(events, Happened { mark, intended_ns, acknowledged_ns, state });
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
    let (sequencer, _, mut reports) = entry.apart(asked, time_ns, outbound);
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
