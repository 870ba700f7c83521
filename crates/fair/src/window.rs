//! Delivery-based ordering with a bounded wait.
//!
//! An order that answers a tick may carry the tick's number and its response time: how long its
//! participant had the tick before it sent the order. The order waits until a window after the
//! tick's publication has passed. Then those that waited leave by response time, not by arrival. So
//! a participant whose tick or order took longer on the way is not late, as long as the order
//! arrives within the window.
//!
//! The method is DBO (Goyal et al., SIGCOMM 2023). There an order waits until every participant has
//! shown that it can't be earlier. Here it waits for a time, so that no participant can hold up the
//! others.
//!
//! The order of release is total: by publication, then response time, then arrival.

use crate::publications::{Publication, Publications};
use std::collections::VecDeque;

/// The longest window, ns.
pub const WINDOW_NS_MAX: u64 = 10_000_000_000;
/// Limit on orders that wait. One more is rejected.
pub const ORDERS_WAITING_MAX: usize = 4_096;
/// Publications that are remembered. An order that answers an older one does not wait.
pub const PUBLICATIONS_MAX: usize = 16_384;

/// The tick that caused an order, as the order says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The number of a message of that tick.
    pub tick: u64,
    /// Time from the tick's arrival at the participant to the sending of the order, ns.
    pub response_ns: u64,
}

/// The ways in which an order with a claim is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It waits, and leaves in the order of response times.
    Held,
    /// It waited, and left before its window had passed because a later request needed it.
    Early,
    /// It arrived after its window, and does not wait.
    Late,
    /// It names a tick that was not published, or is too old. It does not wait.
    UnknownTick,
    /// It claims a response time that is longer than the time since the tick was published. It does
    /// not wait.
    Impossible,
}

impl Fate {
    /// All of them, in the order of their numbers.
    pub const ALL: [Fate; 5] =
        [Fate::Held, Fate::Early, Fate::Late, Fate::UnknownTick, Fate::Impossible];

    /// Its name in counts and records.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Held => "held",
            Fate::Early => "early",
            Fate::Late => "late",
            Fate::UnknownTick => "unknown_tick",
            Fate::Impossible => "impossible",
        }
    }
}

/// An order's part in the race for a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The order's own words.
    pub claim: Claim,
    /// The number of the publication that it answers; 0 if that is not known.
    pub publication: u64,
    /// Time from that publication to the order's arrival, ns; 0 if that is not known.
    pub elapsed_ns: u64,
    /// Its number in the order of arrival, from 1.
    pub arrival: u64,
    /// How it is treated.
    pub fate: Fate,
}

/// Too many orders wait; this one is given back.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{ORDERS_WAITING_MAX} orders wait for their windows already; send it again later")]
pub struct WindowFull;

/// The orders that wait for their windows. Takes all memory when it is made.
#[derive(Debug)]
pub struct DeliveryWindow<T> {
    window_ns: u64,
    publications: Publications,
    /// In the order of release.
    keys: VecDeque<Key>,
    /// By the slot that a key names; free slots are `None`.
    slots: Vec<Option<(Answer, T)>>,
    free: Vec<u32>,
    arrivals: u64,
}

/// The place of an order that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    publication: u64,
    response_ns: u64,
    arrival: u64,
    due_ns: u64,
    slot: u32,
}

impl<T> DeliveryWindow<T> {
    /// A window of `window_ns`, at most [`WINDOW_NS_MAX`].
    pub fn new(window_ns: u64) -> DeliveryWindow<T> {
        DeliveryWindow::with_room(window_ns, ORDERS_WAITING_MAX)
    }

    /// The same with room for fewer orders.
    pub fn with_room(window_ns: u64, orders_max: usize) -> DeliveryWindow<T> {
        let orders_max = orders_max.min(ORDERS_WAITING_MAX);
        DeliveryWindow {
            window_ns: window_ns.min(WINDOW_NS_MAX),
            publications: Publications::new(PUBLICATIONS_MAX),
            keys: VecDeque::with_capacity(orders_max),
            slots: (0..orders_max).map(|_| None).collect(),
            free: (0..orders_max as u32).rev().collect(),
            arrivals: 0,
        }
    }

    /// Its length, ns.
    pub fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// The messages up to number `last` are published at `at_ns`.
    pub fn published(&mut self, last: u64, at_ns: u64) {
        self.publications.add(last, at_ns);
    }

    /// An order with a claim arrives at `arrived_ns`, on the clock of the publications. If its fate
    /// is [`Fate::Held`], call [`DeliveryWindow::hold`].
    pub fn arrives(&mut self, claim: Claim, arrived_ns: u64) -> Answer {
        self.arrivals += 1;
        let answer = Answer {
            claim,
            publication: 0,
            elapsed_ns: 0,
            arrival: self.arrivals,
            fate: Fate::UnknownTick,
        };
        let Some(Publication { number, at_ns }) = self.publications.of(claim.tick) else {
            return answer;
        };
        let elapsed_ns = arrived_ns.saturating_sub(at_ns);
        let fate = if claim.response_ns > elapsed_ns {
            Fate::Impossible
        } else if elapsed_ns >= self.window_ns {
            Fate::Late
        } else {
            Fate::Held
        };
        Answer { publication: number, elapsed_ns, fate, ..answer }
    }

    /// Holds an order whose fate is [`Fate::Held`], until its window has passed. `arrived_ns` is as
    /// in [`DeliveryWindow::arrives`].
    ///
    /// # Errors
    /// If too many wait.
    pub fn hold(&mut self, answer: Answer, arrived_ns: u64, order: T) -> Result<(), WindowFull> {
        let slot = self.free.pop().ok_or(WindowFull)?;
        let key = Key {
            publication: answer.publication,
            response_ns: answer.claim.response_ns,
            arrival: answer.arrival,
            due_ns: (arrived_ns - answer.elapsed_ns.min(arrived_ns)).saturating_add(self.window_ns),
            slot,
        };
        self.slots[slot as usize] = Some((answer, order));
        let place = self.keys.partition_point(|other| *other < key);
        self.keys.insert(place, key);
        Ok(())
    }

    /// The next order whose window has passed at `now_ns`.
    pub fn release(&mut self, now_ns: u64) -> Option<(Answer, T)> {
        let first = self.keys.front().filter(|key| key.due_ns <= now_ns)?;
        let slot = first.slot;
        self.keys.pop_front();
        self.empty(slot)
    }

    /// The first order for which `wanted` holds, though its window has not passed.
    pub fn take(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Option<(Answer, T)> {
        let slots = &self.slots;
        let is_wanted =
            |key: &Key| matches!(&slots[key.slot as usize], Some((_, order)) if wanted(order));
        let place = self.keys.iter().position(is_wanted)?;
        let slot = self.keys.remove(place)?.slot;
        let (answer, order) = self.empty(slot)?;
        Some((Answer { fate: Fate::Early, ..answer }, order))
    }

    /// Whether an order waits that answers the same publication and arrived earlier.
    pub fn is_overtaking(&self, answer: &Answer) -> bool {
        let mut of_race = self.keys.iter().take_while(|key| key.publication == answer.publication);
        of_race.any(|key| key.arrival < answer.arrival)
    }

    /// Whether no order waits.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of orders that wait.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    fn empty(&mut self, slot: u32) -> Option<(Answer, T)> {
        self.free.push(slot);
        self.slots[slot as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(tick: u64, response_ns: u64) -> Claim {
        Claim { tick, response_ns }
    }

    /// A window of 1 000 ns, a tick 1 at 10 000 and a tick 2 at 10 400.
    fn window() -> DeliveryWindow<&'static str> {
        let mut window = DeliveryWindow::with_room(1_000, 3);
        window.published(1, 10_000);
        window.published(2, 10_400);
        window
    }

    fn arrive(
        window: &mut DeliveryWindow<&'static str>,
        (tick, response_ns): (u64, u64),
        at_ns: u64,
        order: &'static str,
    ) -> Fate {
        let answer = window.arrives(claim(tick, response_ns), at_ns);
        if answer.fate == Fate::Held {
            window.hold(answer, at_ns, order).unwrap();
        }
        answer.fate
    }

    fn all(window: &mut DeliveryWindow<&'static str>, now_ns: u64) -> Vec<&'static str> {
        std::iter::from_fn(|| window.release(now_ns)).map(|(_, order)| order).collect()
    }

    #[test]
    fn the_faster_answer_leaves_first_though_it_comes_later() {
        let mut window = window();
        assert_eq!(arrive(&mut window, (1, 300), 10_310, "near"), Fate::Held);
        assert_eq!(arrive(&mut window, (2, 10), 10_800, "next tick"), Fate::Held);
        assert_eq!(arrive(&mut window, (1, 200), 10_999, "far"), Fate::Held);
        assert_eq!(all(&mut window, 10_999), [""; 0], "the window is open");
        assert_eq!(all(&mut window, 11_000), ["far", "near"]);
        assert_eq!(all(&mut window, 11_400), ["next tick"]);
        assert!(window.is_empty());
    }

    #[test]
    fn what_can_not_be_ordered_does_not_wait() {
        let mut window = window();
        assert_eq!(arrive(&mut window, (1, 300), 11_000, ""), Fate::Late);
        assert_eq!(arrive(&mut window, (1, 301), 10_300, ""), Fate::Impossible);
        assert_eq!(arrive(&mut window, (3, 0), 10_500, ""), Fate::UnknownTick);
        assert_eq!(arrive(&mut window, (0, 0), 10_500, ""), Fate::UnknownTick);
        assert_eq!(arrive(&mut window, (1, 1), 9_000, ""), Fate::Impossible, "before its tick");
        assert!(window.is_empty());
    }

    #[test]
    fn equal_times_leave_as_they_arrived_and_one_too_many_is_rejected() {
        let mut window = window();
        for order in ["a", "b", "c"] {
            assert_eq!(arrive(&mut window, (1, 5), 10_100, order), Fate::Held);
        }
        let answer = window.arrives(claim(1, 1), 10_100);
        assert_eq!(window.hold(answer, 10_100, "d"), Err(WindowFull));
        assert_eq!(all(&mut window, 11_000), ["a", "b", "c"]);
        assert_eq!(arrive(&mut window, (2, 5), 10_500, "room again"), Fate::Held);
    }

    #[test]
    fn an_order_can_be_taken_early() {
        let mut window = window();
        for (order, response_ns) in [("a", 30), ("b", 20), ("c", 10)] {
            arrive(&mut window, (1, response_ns), 10_100, order);
        }
        let (answer, order) = window.take(|order| *order != "c").unwrap();
        assert_eq!((answer.fate, order), (Fate::Early, "b"));
        assert_eq!(window.take(|order| *order == "b"), None);
        assert_eq!(all(&mut window, 11_000), ["c", "a"]);
    }
}
