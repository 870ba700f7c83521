//! The core of the exchange: executes commands and reports their events. If a client asked for
//! stamps or the ticker plant publishes, it records the events too.

pub mod deliveries;
pub mod observation;

use crate::account::orders::ClientOrders;
use crate::account::sessions::Sessions;
use crate::counts::{Counts, DoneCounts};
use crate::execution::deliveries::Deliveries;
use crate::execution::observation::Observation;
use crate::market_data::plant::{Completion, Plant};
use crate::reply::rejections::{RejectedRequest, Rejections};
use crate::reply::reports::{Reports, RequestKind, Requester};
use crate::reply::stamping::Stamping;
use crate::reply::text::wire_time;
use crate::sbe::SbeSessions;
use crate::sequencer::{NumberedEvent, Sequencer};
use crate::setup::instruments::Instruments;
use clock::Clock;
use engine::{Command, Event, Input};
use transport::StreamId;
use transport::serve::Outbound;
use wire::ClientId;

/// The state that a command may change or that its reports need.
pub(crate) struct Execution {
    pub instruments: Instruments,
    pub sessions: Sessions,
    /// Sessions of SBE: what their clients have and have not seen.
    pub sbe: SbeSessions,
    pub orders: ClientOrders,
    pub sequencer: Sequencer,
    pub counts: Counts,
    done: DoneCounts,
    pub rejections: Rejections,
    /// Events and stamps of each command, for the ticker plant and for stamped replies.
    pub observed: Observation,
    /// The publisher; `None` while there is no feed and no subscriber.
    pub plant: Option<Box<Plant>>,
    /// Orders that wait for others that answer the same tick; `None` without a delivery window.
    pub deliveries: Option<Box<Deliveries>>,
}

impl Execution {
    pub fn new(
        instruments: Instruments,
        (sessions, sbe): (Sessions, SbeSessions),
        orders: ClientOrders,
        sequencer: Sequencer,
        clock: Option<Clock>,
    ) -> Execution {
        Execution {
            instruments,
            sessions,
            sbe,
            orders,
            sequencer,
            counts: Counts::default(),
            done: DoneCounts::new(),
            rejections: Rejections::new(),
            observed: Observation::new(clock),
            plant: None,
            deliveries: None,
        }
    }

    pub fn counts(&self) -> Counts {
        Counts {
            done: self.done.by_status(),
            rejected: self.rejections.rejected.by_name(),
            limits: self.rejections.limits.by_name(),
            errors: self.rejections.errors,
            deliveries: self.deliveries.as_ref().map(|deliveries| deliveries.counts),
            ..self.counts.clone()
        }
    }

    /// Stamps for the reply to a request that does not reach the engine, if the client asked for
    /// stamps.
    #[inline]
    pub fn stamping(&self, from: StreamId) -> Option<Stamping> {
        let clock = self.observed.clock.filter(|_| self.observed.is_on)?;
        let wants = self.sessions.wants_stamps(from);
        wants.then(|| Stamping::without_engine(clock, self.observed.cause_ns))
    }

    /// Describes a rejected request for its answer.
    #[cold]
    pub fn rejected_request<'a>(
        &self,
        from: StreamId,
        account_id: Option<&'a str>,
        client_id: Option<&'a ClientId>,
        time_ns: u64,
    ) -> RejectedRequest<'a> {
        let (time_ms, stamping) = (wire_time(time_ns), self.stamping(from));
        RejectedRequest { from, account_id, client_id, time_ms, stamping }
    }

    /// Executes a command and sends its reports. Returns whether the journal took it; if not, the
    /// requester has been sent a rejection.
    #[inline]
    pub fn execute(
        &mut self,
        requester: &Requester<'_>,
        command: Command,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> bool {
        if self.observed.is_on {
            return match self.execute_observed(requester, command, time_ns, outbound) {
                Ok(_) => true,
                Err(error) => {
                    self.not_logged(requester, error, time_ns, outbound);
                    false
                }
            };
        }
        let (sequencer, _, mut reports) = self.split(requester, time_ns, outbound);
        let (input, client_id) = (Input { time_ns, command }, requester.given_client_id());
        match sequencer.execute(&input, client_id, &mut |numbered| reports.event(numbered)) {
            Ok(number) => {
                if sequencer.is_sync() {
                    outbound.hold(number + 1);
                }
                true
            }
            Err(error) => {
                reports.not_logged(error);
                false
            }
        }
    }

    /// Executes a command and records its events: first the engine, then the reports, then the
    /// ticker plant. Returns the time at which the reports were encoded.
    ///
    /// # Errors
    /// The journal does not take it. The engine has not executed it, and no reply was sent.
    pub fn execute_observed(
        &mut self,
        requester: &Requester<'_>,
        command: Command,
        time_ns: u64,
        outbound: &mut Outbound,
    ) -> Result<u64, journal::AppendError> {
        let gateway_in_ns = self.observed.cause_ns;
        let (sequencer, observed, mut reports) = self.split(requester, time_ns, outbound);
        observed.events.clear();
        let engine_in_ns = observed.now_ns();
        let (input, client_id) = (Input { time_ns, command }, requester.given_client_id());
        let events = &mut observed.events;
        let number = sequencer.execute(&input, client_id, &mut |numbered| events.push(numbered))?;
        let engine_out_ns = observed.now_ns();
        reports.stamping = observed
            .clock
            .filter(|_| requester.from.is_some_and(|from| reports.sessions.wants_stamps(from)))
            .map(|clock| Stamping { clock, gateway_in_ns, engine_in_ns, engine_out_ns });
        for numbered in &observed.events {
            reports.event(*numbered);
        }
        let acknowledged_ns = observed.now_ns();
        let mark = if sequencer.is_sync() { number + 1 } else { 0 };
        if mark > 0 {
            outbound.hold(mark);
        }
        if let Some(plant) = &mut self.plant {
            let intended_ns = match (requester.from, requester.kind) {
                // A command of the exchange itself is intended for the present moment.
                (None, RequestKind::Setting) => engine_in_ns,
                _ => gateway_in_ns,
            };
            let events = &self.observed.events;
            let state = state_of(&command, events);
            plant.done(events, Completion { mark, intended_ns, acknowledged_ns, state });
        }
        Ok(acknowledged_ns)
    }

    /// Splits the state into the parts that execute a command, record its events, and report them,
    /// so that all three can be borrowed at once. The reports have no stamps yet.
    #[inline]
    fn split<'a>(
        &'a mut self,
        requester: &'a Requester<'a>,
        time_ns: u64,
        outbound: &'a mut Outbound,
    ) -> (&'a mut Sequencer, &'a mut Observation, Reports<'a>) {
        let Execution { instruments, sessions, sbe, orders, sequencer, .. } = self;
        let Execution { counts, done, rejections, observed, .. } = self;
        let (time_ms, stamping) = (wire_time(time_ns), None);
        let reports = Reports {
            instruments,
            sessions,
            orders,
            counts,
            done,
            rejections,
            outbound,
            sbe,
            requester,
            time_ms,
            stamping,
        };
        (sequencer, observed, reports)
    }

    /// Rejects a command that the journal did not take.
    #[cold]
    pub fn not_logged(
        &mut self,
        requester: &Requester<'_>,
        error: journal::AppendError,
        time_ns: u64,
        outbound: &mut Outbound,
    ) {
        let stamping = requester.from.and_then(|from| self.stamping(from));
        let (_, _, mut reports) = self.split(requester, time_ns, outbound);
        reports.stamping = stamping;
        reports.not_logged(error);
    }
}

/// The state in which a command has put an instrument.
#[inline]
fn state_of(command: &Command, events: &[NumberedEvent]) -> Option<(u16, engine::InstrumentState)> {
    let Command::Instrument(settings) = command else { return None };
    let applied = events.iter().any(|numbered| matches!(numbered.event, Event::Applied { .. }));
    applied.then_some((settings.instrument, settings.state))
}
