//! The orders and amendments that wait for their delivery windows, and the counts of what became of
//! each.
//!
//! See docs/decisions/032-delivery-based-ordering.md.

use crate::account::sessions::Sender;
use engine::{Amend, NewOrder};
use fair::window::{Answer, Claim, DeliveryWindow, Fate, WindowFull};
use serde::Serialize;
use wire::ClientId;
use wire::request::DeliveryClock;

/// A checked request that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRequest {
    pub sender: Sender,
    pub client_id: ClientId,
    pub input: WaitingInput,
    /// When its bytes were read.
    pub cause_ns: u64,
}

/// The input that a request becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitingInput {
    /// An order without its id and tag, which it gets when it leaves.
    New(NewOrder),
    /// An amendment, which is checked again when it leaves.
    Amend { amend: Amend, new_client_id: Option<ClientId> },
}

impl WaitingRequest {
    pub fn account(&self) -> u32 {
        match self.input {
            WaitingInput::New(new) => new.account,
            WaitingInput::Amend { amend, .. } => amend.account,
        }
    }

    /// Whether it is about the order that has this name, or will have it.
    pub fn names(&self, client_id: &ClientId) -> bool {
        let renamed = match &self.input {
            WaitingInput::New(_) => None,
            WaitingInput::Amend { new_client_id, .. } => new_client_id.as_ref(),
        };
        self.client_id == *client_id || renamed == Some(client_id)
    }
}

/// Counters of a delivery window: orders and amendments by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeliveryCounts {
    /// Waited for their windows.
    pub held: u64,
    /// Held orders that left early, because a later request needed them.
    pub early: u64,
    /// Arrived after their windows.
    pub late: u64,
    /// Named a tick that was not published, or that was too old.
    pub unknown_tick: u64,
    /// Claimed more time than had passed since the tick.
    pub impossible: u64,
    /// Carried no delivery clock.
    pub without_clock: u64,
    /// Held orders that left before one of the same race that had arrived earlier.
    pub overtook: u64,
}

pub(crate) struct Deliveries {
    pub window: DeliveryWindow<WaitingRequest>,
    /// The feed's session.
    pub session: u64,
    pub counts: DeliveryCounts,
}

impl Deliveries {
    pub fn new(window_ns: u64, session: u64) -> Deliveries {
        let (window, counts) = (DeliveryWindow::new(window_ns), DeliveryCounts::default());
        Deliveries { window, session, counts }
    }

    /// A request that says which tick caused it arrives. Returns its part in the race if it does
    /// not wait.
    ///
    /// # Errors
    /// Too many wait.
    pub fn arrives(
        &mut self,
        clock: DeliveryClock,
        request: WaitingRequest,
    ) -> Result<Option<Answer>, WindowFull> {
        let claim = Claim { tick: clock.tick, response_ns: clock.response_ns };
        let answer = self.window.arrives(claim, request.cause_ns);
        let counter = match answer.fate {
            Fate::Held => {
                self.window.hold(answer, request.cause_ns, request)?;
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

    /// The next request whose window has passed.
    pub fn release(&mut self, now_ns: u64) -> Option<(Answer, WaitingRequest)> {
        let (answer, request) = self.window.release(now_ns)?;
        self.counts.overtook += u64::from(self.window.is_overtaking(&answer));
        Some((answer, request))
    }

    /// The next request for which `wanted` holds, before its window has passed.
    pub fn take(
        &mut self,
        wanted: impl Fn(&WaitingRequest) -> bool,
    ) -> Option<(Answer, WaitingRequest)> {
        let taken = self.window.take(wanted)?;
        self.counts.early += 1;
        Some(taken)
    }
}
