//! Messages that were sent and not answered yet: a ring of slots, one per order. The order's
//! number, which its client id carries, finds the slot.

use crate::load::session::LoadMessage;

/// Limit on unanswered orders. A further one waits, and its response time contains the wait. This
/// is 80 ms at 400 000 messages/s, and the slots fit a core's cache.
pub(crate) const IN_FLIGHT_MAX: usize = 1 << 14;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    #[default]
    Unsent,
    InFlight,
    Answered,
    /// Nobody waits for its reply any more.
    Lost,
}

/// One message of an order, from its intended send to its reply.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stamps {
    pub(crate) intended_ns: u64,
    pub(crate) sent_ns: u64,
    /// Numbers the messages of the run in the order of sending.
    pub(crate) sequence: u64,
    pub(crate) progress: Progress,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Order {
    pub(crate) number: u64,
    pub(crate) account: usize,
    /// False in the warm-up.
    pub(crate) measured: bool,
    /// Number of a further series for the order's response time; 0: none.
    pub(crate) further_row: u16,
    pub(crate) order: Stamps,
    pub(crate) cancel: Stamps,
}

impl Order {
    pub(crate) fn stamps(&mut self, message: LoadMessage) -> &mut Stamps {
        match message {
            LoadMessage::Order => &mut self.order,
            LoadMessage::Cancel => &mut self.cancel,
        }
    }

    fn is_over(&self) -> bool {
        self.order.progress != Progress::InFlight && self.cancel.progress != Progress::InFlight
    }
}

pub(crate) struct InFlight {
    slots: Box<[Order]>,
    /// Messages without a reply.
    pub(crate) unanswered: u64,
}

impl InFlight {
    pub(crate) fn new() -> InFlight {
        InFlight::with_slots(IN_FLIGHT_MAX)
    }

    /// As [`InFlight::new`], with that limit on unanswered orders, a power of two.
    pub(crate) fn with_slots(slots: usize) -> InFlight {
        assert!(slots.is_power_of_two(), "{slots} slots");
        // A free slot has a number that no order has; writing it also touches the memory.
        let free = Order { number: u64::MAX, ..Order::default() };
        InFlight { slots: vec![free; slots].into_boxed_slice(), unanswered: 0 }
    }

    /// The slot for a new order, or `None` while its last order is unanswered.
    pub(crate) fn open(&mut self, number: u64, account: usize, measured: bool) -> Option<()> {
        let slot = self.slot(number);
        if !slot.is_over() {
            return None;
        }
        *slot = Order { number, account, measured, ..Order::default() };
        Some(())
    }

    /// The order with that number, if the slot still belongs to it.
    pub(crate) fn order(&mut self, number: u64) -> Option<&mut Order> {
        let slot = self.slot(number);
        (slot.number == number).then_some(slot)
    }

    #[inline]
    fn slot(&mut self, number: u64) -> &mut Order {
        // The remainder, without a division in each message's path.
        let index = number as usize & (self.slots.len() - 1);
        &mut self.slots[index]
    }

    /// The orders with a message that was written and not answered.
    pub(crate) fn written(&self) -> Vec<Order> {
        let waits = |one: &Stamps| one.progress == Progress::InFlight && one.sent_ns > 0;
        let of_slots = self.slots.iter().filter(|one| waits(&one.order) || waits(&one.cancel));
        of_slots.copied().collect()
    }

    /// How many orders may be unanswered.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }
}
