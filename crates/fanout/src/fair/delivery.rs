//! Delivery-based ordering: an order's time is the tick that its participant had last, and how long
//! it had had it. So a participant whose tick came late is not late.
//!
//! The method is DBO (Goyal et al., SIGCOMM 2023). It puts races right whose response times are
//! below the time between two deliveries; the ticks must be paced accordingly. A participant that
//! answers a tick after it had the next one is ordered with the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Limit on orders that wait in an [`OrderingBuffer`].
pub const WAITING_MAX: usize = 65_536;

/// The time of a delivery clock: first the tick, then the time since it was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeliveryTime {
    /// Number of the latest tick that was delivered.
    pub tick: u64,
    /// Time since then, ns.
    pub elapsed_ns: u64,
}

/// The delivery clock of one participant: it goes on between ticks and starts anew with each.
/// Times are ns of that participant's own clock, which needs no relation to any other.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryClock {
    tick: u64,
    delivered_ns: u64,
}

impl DeliveryClock {
    /// A tick is delivered. One that is not newer than the last changes nothing.
    pub fn deliver(&mut self, tick: u64, now_ns: u64) {
        if tick > self.tick {
            *self = DeliveryClock { tick, delivered_ns: now_ns };
        }
    }

    /// Its time now.
    pub fn read(&self, now_ns: u64) -> DeliveryTime {
        DeliveryTime { tick: self.tick, elapsed_ns: now_ns.saturating_sub(self.delivered_ns) }
    }
}

/// An order in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered<T> {
    /// The participant's number.
    pub participant: usize,
    /// Its delivery time.
    pub at: DeliveryTime,
    /// Its number in the order of arrival: an audit compares both.
    pub arrival: u64,
    /// The order.
    pub order: T,
}

/// Why an order is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderReject {
    /// It claims to be earlier than what its participant said before.
    #[error("the order's delivery time is before an earlier one of participant {participant}")]
    Backwards {
        /// Its number.
        participant: usize,
    },
    /// There are too many that wait.
    #[error(
        "WAITING_MAX = {WAITING_MAX} orders wait already; remove the participant that sends no \
         heartbeats"
    )]
    Full,
    /// The participant is not one of this buffer's, or was removed.
    #[error("participant {participant} is not known")]
    Unknown {
        /// Its number.
        participant: usize,
    },
}

/// Puts orders in the order of their delivery times. It holds each until no participant can send
/// an earlier one: until all have shown, by an order or a heartbeat, that their clocks are past it.
#[derive(Debug)]
pub struct OrderingBuffer<T> {
    /// The latest time that each participant showed; `None`: it was removed.
    shown: Vec<Option<DeliveryTime>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Orders by the place that `waiting` names; free places are `None`.
    orders: Vec<Option<T>>,
    free: Vec<usize>,
    arrivals: u64,
}

/// The key of an order that waits. Equal times are decided by participant, then by arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    at: DeliveryTime,
    participant: usize,
    arrival: u64,
    place: usize,
}

impl<T> OrderingBuffer<T> {
    /// A buffer for participants `0..participants`.
    pub fn new(participants: usize) -> OrderingBuffer<T> {
        OrderingBuffer {
            shown: vec![Some(DeliveryTime::default()); participants],
            waiting: BinaryHeap::new(),
            orders: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
        }
    }

    /// An order arrives.
    ///
    /// # Errors
    /// See [`OrderReject`].
    pub fn push(
        &mut self,
        participant: usize,
        at: DeliveryTime,
        order: T,
    ) -> Result<(), OrderReject> {
        if self.waiting.len() >= WAITING_MAX {
            return Err(OrderReject::Full);
        }
        self.heartbeat(participant, at)?;
        let place = self.free.pop().unwrap_or(self.orders.len());
        if place == self.orders.len() {
            self.orders.push(None);
        }
        self.orders[place] = Some(order);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.waiting.push(Reverse(Waiting { at, participant, arrival, place }));
        Ok(())
    }

    /// A participant shows its time.
    ///
    /// # Errors
    /// If it is not known, or its time goes backwards.
    pub fn heartbeat(&mut self, participant: usize, at: DeliveryTime) -> Result<(), OrderReject> {
        let shown = self.shown.get_mut(participant).and_then(Option::as_mut);
        let shown = shown.ok_or(OrderReject::Unknown { participant })?;
        if at < *shown {
            return Err(OrderReject::Backwards { participant });
        }
        *shown = at;
        Ok(())
    }

    /// Stops waiting for a participant, such as one whose connection ended. Its orders stay.
    pub fn remove(&mut self, participant: usize) {
        if let Some(shown) = self.shown.get_mut(participant) {
            *shown = None;
        }
    }

    /// The next order, once nobody can send an earlier one.
    pub fn pop(&mut self) -> Option<Ordered<T>> {
        let Reverse(Waiting { at, participant, arrival, place }) = *self.waiting.peek()?;
        // A lower number would win at the same time.
        let is_past = |(other, shown): (usize, &Option<DeliveryTime>)| match shown {
            Some(shown) if other < participant => *shown > at,
            Some(shown) => *shown >= at,
            None => true,
        };
        if !self.shown.iter().enumerate().all(is_past) {
            return None;
        }
        self.waiting.pop();
        self.free.push(place);
        let order = self.orders[place].take()?;
        Some(Ordered { participant, at, arrival, order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    fn at(tick: u64, elapsed_ns: u64) -> DeliveryTime {
        DeliveryTime { tick, elapsed_ns }
    }

    #[test]
    fn a_delivery_clock_starts_anew_with_each_tick() {
        let mut clock = DeliveryClock::default();
        clock.deliver(1, 1_000);
        assert_eq!(clock.read(1_700), at(1, 700));
        clock.deliver(2, 2_000);
        clock.deliver(1, 2_100);
        assert_eq!(clock.read(2_300), at(2, 300), "an old tick that came late is no delivery");
        assert!(at(1, 999_999) < at(2, 0));
    }

    #[test]
    fn an_order_waits_until_nobody_can_be_earlier() {
        let mut buffer = OrderingBuffer::new(3);
        buffer.push(1, at(1, 500), "slow").unwrap();
        assert_eq!(buffer.pop(), None);
        buffer.push(2, at(1, 300), "fast").unwrap();
        assert_eq!(buffer.pop(), None, "participant 0 may still be earlier");
        buffer.heartbeat(0, at(1, 400)).unwrap();
        let first = buffer.pop().unwrap();
        assert_eq!((first.order, first.participant, first.arrival), ("fast", 2, 1));
        assert_eq!(buffer.pop(), None, "participants 0 and 2 are at 400 and 300");
        buffer.remove(0);
        buffer.heartbeat(2, at(2, 0)).unwrap();
        assert_eq!(buffer.pop().unwrap().order, "slow");
        assert_eq!(buffer.pop(), None);
    }

    /// At equal times the lower number wins, whichever came first.
    #[test]
    fn a_tie_does_not_depend_on_arrival() {
        for first in [0, 1] {
            let mut buffer = OrderingBuffer::new(2);
            buffer.push(first, at(1, 5), first).unwrap();
            let early = buffer.pop();
            buffer.push(1 - first, at(1, 5), 1 - first).unwrap();
            buffer.heartbeat(0, at(2, 0)).unwrap();
            buffer.heartbeat(1, at(2, 0)).unwrap();
            let rest = std::iter::from_fn(|| buffer.pop());
            let all: Vec<usize> = early.into_iter().chain(rest).map(|one| one.order).collect();
            assert_eq!(all, [0, 1], "{first} came first");
        }
    }

    #[test]
    fn the_past_strangers_and_too_many_are_rejected() {
        let mut buffer = OrderingBuffer::new(1);
        buffer.push(0, at(5, 5), ()).unwrap();
        assert_eq!(buffer.push(0, at(5, 4), ()), Err(OrderReject::Backwards { participant: 0 }));
        assert_eq!(buffer.push(1, at(9, 0), ()), Err(OrderReject::Unknown { participant: 1 }));
        for _ in 1..WAITING_MAX {
            buffer.push(0, at(5, 5), ()).unwrap();
        }
        assert_eq!(buffer.push(0, at(5, 5), ()), Err(OrderReject::Full));
        assert_eq!(std::iter::from_fn(|| buffer.pop()).count(), WAITING_MAX);
        buffer.remove(0);
        assert_eq!(buffer.push(0, at(9, 0), ()), Err(OrderReject::Unknown { participant: 0 }));
    }

    /// A seeded race: every participant gets the tick and answers it. Response times are at least
    /// `DIFFERENCE_NS` apart, and both ways differ by up to ten times as much.
    const PARTICIPANTS: usize = 5;
    const RACES: u64 = 10_000;
    const DIFFERENCE_NS: u64 = 500;
    const SKEW_NS: u64 = 10 * DIFFERENCE_NS;
    const TICK_EVERY_NS: u64 = 100_000;

    /// An event at the exchange: a participant's order, or its heartbeat at the next tick.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Arrival {
        at_ns: u64,
        participant: usize,
        says: DeliveryTime,
        is_order: bool,
    }

    #[test]
    fn ten_thousand_races_are_won_by_the_fastest_on_paths_with_ten_times_the_difference() {
        let mut random = SplitMix64::new(2303);
        let mut below = |n: u64| u64::from(random.below(n as u32));
        let mut buffer = OrderingBuffer::new(PARTICIPANTS);
        let mut clocks = [DeliveryClock::default(); PARTICIPANTS];
        let mut arrivals = Vec::new();
        let mut expected = Vec::new();
        // The last message that each participant's connection delivered: it keeps its order.
        let mut connection_ns = [0; PARTICIPANTS];
        for race in 1..=RACES + 1 {
            let tick_ns = race * TICK_EVERY_NS;
            let mut ranks: Vec<u64> = (0..PARTICIPANTS as u64).collect();
            (1..PARTICIPANTS)
                .rev()
                .for_each(|last| ranks.swap(last, below(last as u64 + 1) as usize));
            for (participant, clock) in clocks.iter_mut().enumerate() {
                let delivered_ns = tick_ns + below(SKEW_NS);
                clock.deliver(race, delivered_ns);
                let response_ns = 1_000 + ranks[participant] * DIFFERENCE_NS + below(100);
                for (says_ns, is_order) in
                    [(delivered_ns, false), (delivered_ns + response_ns, true)]
                {
                    let at_ns = (says_ns + below(SKEW_NS)).max(connection_ns[participant] + 1);
                    connection_ns[participant] = at_ns;
                    let says = clock.read(says_ns);
                    arrivals.push(Arrival { at_ns, participant, says, is_order });
                }
            }
            let mut winners: Vec<usize> = (0..PARTICIPANTS).collect();
            winners.sort_by_key(|one| ranks[*one]);
            expected.extend(winners.into_iter().map(|participant| (race, participant)));
        }
        expected.truncate(RACES as usize * PARTICIPANTS);
        arrivals.sort_unstable();
        let mut ordered = Vec::new();
        for Arrival { participant, says, is_order, .. } in arrivals {
            match is_order {
                true => buffer.push(participant, says, says.tick).unwrap(),
                false => buffer.heartbeat(participant, says).unwrap(),
            }
            ordered.extend(std::iter::from_fn(|| buffer.pop()));
        }
        ordered.truncate(expected.len());
        let found: Vec<(u64, usize)> =
            ordered.iter().map(|one| (one.order, one.participant)).collect();
        assert_eq!(found, expected);
        // The audit: the order of arrival would have decided most races otherwise.
        let is_as_arrived = |race: &&[Ordered<u64>]| race.is_sorted_by_key(|one| one.arrival);
        let kept = ordered.chunks(PARTICIPANTS).filter(is_as_arrived).count();
        assert!(kept < RACES as usize / 2, "arrival agreed in {kept} of {RACES} races");
    }
}
