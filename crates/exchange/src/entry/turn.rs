//! The work of every turn of the loop: publish what has happened, and execute what is due of the
//! house's flow.

use crate::account::sessions::{HOUSE, Sender};
use crate::entry::OrderEntry;
use crate::entry::reports::{Asked, What};
use crate::entry::text::{send, wire_time};
use crate::house::FeedPosition;
use crate::market_data::json::To;
use engine::Event;
use feed::Channel;
use transport::serve::Outbound;
use wire::administration::{Notice, encode_notice};

/// Inputs of a turn of the loop at most: clients wait no longer than for these.
const INPUTS_PER_TURN_MAX: usize = 64;

impl OrderEntry {
    /// One turn of the loop: publishes what the last turn left, executes what is due of the house's
    /// flow, and publishes that. Returns whether there is more.
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
        let OrderEntry { plant: Some(plant), instruments, .. } = self else {
            return false;
        };
        if !plant.has_work() {
            return false;
        }
        let time_ms = if plant.data.is_empty() { 0 } else { wire_time(wall_ns()) };
        plant.publish(To { instruments, outbound, time_ms })
    }

    /// Begins the flow.
    ///
    /// # Errors
    /// Why it can't begin.
    pub fn start_flow(&mut self, by: Sender) -> Result<(), &'static str> {
        let feed = self.feed_position();
        let house = self.house.as_mut().ok_or("this exchange has no flow of its own")?;
        house.start(by, feed)
    }

    /// Executes what is due. Says whether the flow is under way.
    #[inline]
    fn run_flow(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let Some(house) = &self.house else { return false };
        if !house.is_under_way() {
            return false;
        }
        let now_ns = house.now_ns();
        if house.due(now_ns).is_none() {
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

    /// Executes the next input if it is due. Says whether it was.
    fn run_input(&mut self, now_ns: u64, time_ns: u64, outbound: &mut Outbound) -> bool {
        let Some(house) = &self.house else { return false };
        let Some((due_ns, command)) = house.due(now_ns) else { return false };
        let asked = Asked { from: None, client_id: None, account: HOUSE, what: What::Flow };
        self.cause_ns = due_ns;
        let done = self.execute_observed(&asked, command, time_ns, outbound);
        let refused = matches!(self.observed.events.last(), Some(last) if matches!(last.event, Event::Rejected { .. }));
        self.house.as_mut().is_some_and(|house| house.executed(due_ns, done, refused))
    }

    /// Tells who started the flow that it is over, once all of it is published.
    #[inline]
    fn end_flow(&mut self, outbound: &mut Outbound) {
        let is_through = self.house.as_ref().is_some_and(|house| house.is_through());
        if !is_through || self.plant.as_ref().is_some_and(|plant| plant.is_pending()) {
            return;
        }
        let feed = self.feed_position();
        let ended = self.house.as_mut().and_then(|house| house.end(feed));
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
