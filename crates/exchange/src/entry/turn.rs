//! The work of every turn of the loop: publish pending market data, and execute the inputs of the
//! exchange's own flow that are due.

use crate::account::sessions::{EXCHANGE_ACCOUNT, Sender};
use crate::entry::OrderEntry;
use crate::entry::reports::{RequestKind, Requester};
use crate::entry::text::{send, wire_time};
use crate::flow_player::FeedPosition;
use crate::market_data::json::JsonOutput;
use engine::Event;
use feed::Channel;
use transport::serve::Outbound;
use wire::administration::{Notice, encode_notice};

/// The most inputs of the flow in one turn of the loop, which bounds how long clients wait.
const INPUTS_PER_TURN_MAX: usize = 64;

impl OrderEntry {
    /// One turn of the loop: publishes pending market data, executes the flow's inputs that are due,
    /// and publishes their events. Returns whether there is more to do.
    #[inline]
    pub fn turn(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let mut awaits = self.publish(wall_ns, outbound);
        if self.flow.is_some() && self.run_flow(wall_ns, outbound) {
            self.publish(wall_ns, outbound);
            self.end_flow(outbound);
            awaits = true;
        }
        awaits
    }

    #[inline]
    fn publish(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let OrderEntry { plant: Some(plant), instruments, .. } = self else {
            return false;
        };
        if !plant.has_work() {
            return false;
        }
        let time_ms = if plant.data.is_empty() { 0 } else { wire_time(wall_ns()) };
        plant.publish(JsonOutput { instruments, outbound, time_ms })
    }

    /// Starts the flow.
    ///
    /// # Errors
    /// The reason why it can't start.
    pub fn start_flow(&mut self, by: Sender) -> Result<(), &'static str> {
        let feed = self.feed_position();
        let flow = self.flow.as_mut().ok_or("this exchange has no flow of its own")?;
        flow.start(by, feed)
    }

    /// Executes the inputs that are due. Returns whether the flow is running.
    #[inline]
    fn run_flow(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let Some(flow) = &self.flow else { return false };
        if !flow.is_under_way() {
            return false;
        }
        let now_ns = flow.now_ns();
        if flow.due(now_ns).is_none() {
            return true;
        }
        let time_ns = wall_ns();
        for _ in 0..INPUTS_PER_TURN_MAX {
            if !self.run_input(now_ns, time_ns, outbound) {
                break;
            }
        }
        true
    }

    /// Executes the next input if it is due. Returns whether it did.
    fn run_input(&mut self, now_ns: u64, time_ns: u64, outbound: &mut Outbound) -> bool {
        let Some(flow) = &self.flow else { return false };
        let Some((due_ns, command)) = flow.due(now_ns) else { return false };
        let requester = Requester {
            from: None,
            client_id: None,
            account: EXCHANGE_ACCOUNT,
            kind: RequestKind::Flow,
        };
        self.cause_ns = due_ns;
        let done = self.execute_observed(&requester, command, time_ns, outbound);
        let rejected = matches!(self.observed.events.last(), Some(last) if matches!(last.event, Event::Rejected { .. }));
        self.flow.as_mut().is_some_and(|flow| flow.executed(due_ns, done, rejected))
    }

    /// Notifies the connection that started the flow of its end, once all events are published.
    #[inline]
    fn end_flow(&mut self, outbound: &mut Outbound) {
        let is_through = self.flow.as_ref().is_some_and(|flow| flow.is_through());
        if !is_through || self.plant.as_ref().is_some_and(|plant| plant.is_pending()) {
            return;
        }
        let feed = self.feed_position();
        let ended = self.flow.as_mut().and_then(|flow| flow.end(feed));
        let Some((by, ended)) = ended else { return };
        if let Some(to) = self.sessions.connection(by) {
            send(outbound.to(to), |out| encode_notice(out, &Notice::FlowEnded(ended)));
        }
    }

    fn feed_position(&self) -> FeedPosition {
        self.plant.as_ref().map_or_else(FeedPosition::default, |plant| FeedPosition {
            datagrams: plant.datagrams(Channel::Orders),
            sequence: plant.sequence(Channel::Orders),
        })
    }
}
