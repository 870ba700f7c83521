//! The orders that wait for their delivery windows, and the counts of what became of each order.
//!
//! See docs/decisions/032-delivery-based-ordering.md.

use crate::account::sessions::Sender;
use engine::NewOrder;
use fair::window::{Answer, Claim, DeliveryWindow, Fate, Full};
use serde::Serialize;
use wire::ClientId;
use wire::request::DeliveryClock;

/// A checked order without its id and tag, which it gets when it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingOrder {
    pub sender: Sender,
    pub client_id: ClientId,
    pub new: NewOrder,
    /// When its bytes were read.
    pub cause_ns: u64,
}

/// Counters of a delivery window: orders by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeliveryCounts {
    /// Waited for their windows.
    pub held: u64,
    /// Those of `held` that left early, because a later request needed them.
    pub early: u64,
    /// Arrived after their windows.
    pub late: u64,
    /// Named a tick that was not published, or that was too old.
    pub unknown_tick: u64,
    /// Claimed more time than had passed since the tick.
    pub impossible: u64,
    /// Carried no delivery clock.
    pub without_clock: u64,
    /// Those of `held` that left before an order of the same race that had arrived earlier.
    pub overtook: u64,
}

pub(crate) struct Deliveries {
    pub window: DeliveryWindow<WaitingOrder>,
    /// The feed's session.
    pub session: u64,
    pub counts: DeliveryCounts,
}

impl Deliveries {
    pub fn new(window_ns: u64, session: u64) -> Deliveries {
        let (window, counts) = (DeliveryWindow::new(window_ns), DeliveryCounts::default());
        Deliveries { window, session, counts }
    }

    /// An order that says which tick caused it arrives. Returns its part in the race if it does not
    /// wait.
    ///
    /// # Errors
    /// Too many orders wait.
    pub fn arrives(
        &mut self,
        clock: DeliveryClock,
        order: WaitingOrder,
    ) -> Result<Option<Answer>, Full> {
        let claim = Claim { tick: clock.tick, response_ns: clock.response_ns };
        let answer = self.window.arrives(claim, order.cause_ns);
        let counter = match answer.fate {
            Fate::Held => {
                self.window.hold(answer, order.cause_ns, order)?;
                &mut self.counts.held
            }
            Fate::Early => &mut self.counts.early,
            Fate::Late => &mut self.counts.late,
            Fate::UnknownTick => &mut self.counts.unknown_tick,
            Fate::Impossible => &mut self.counts.impossible,
        };
        *counter += 1;
        Ok((answer.fate != Fate::Held).then_some(answer))
    }

    /// The next order whose window has passed.
    pub fn release(&mut self, now_ns: u64) -> Option<(Answer, WaitingOrder)> {
        let (answer, order) = self.window.release(now_ns)?;
        self.counts.overtook += u64::from(self.window.is_overtaking(&answer));
        Some((answer, order))
    }

    /// The next order for which `wanted` holds, before its window has passed.
    pub fn take(
        &mut self,
        wanted: impl Fn(&WaitingOrder) -> bool,
    ) -> Option<(Answer, WaitingOrder)> {
        let taken = self.window.take(wanted)?;
        self.counts.early += 1;
        Some(taken)
    }
}
