//! When each copy of each message arrived.

use fanout::tunnel::Stamps;

/// A time that is not known, or did not come to be.
const NEVER: u32 = u32::MAX;

/// The stamps of all messages and copies, ns after the message was sent. Longer than 4.29 s counts
/// as that.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    subscribers: usize,
    /// When each message was due, and when it was sent, ns after the start.
    due_ns: Vec<u64>,
    sent_ns: Vec<u64>,
    received: Vec<u32>,
    resent: Vec<u32>,
    copies: Vec<u32>,
    /// The certain ranks of each message; empty where all stamps are of one clock.
    certain: Vec<CertainRanks>,
    /// When each copy was handed on; empty without a hold.
    releases: Vec<u32>,
    came: u64,
    released: u64,
    /// Copies that came twice.
    pub duplicated: u64,
    /// Datagrams that are no copy of a message of this run.
    pub strange: u64,
    /// Stamps before those of an earlier place of the same message.
    pub backwards: u64,
    /// Copies that the kernel did not stamp.
    pub unstamped: u64,
}

/// The subscribers that certainly got a message first and last; `None`: the clocks leave it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CertainRanks {
    /// Number of the subscriber, from 0.
    pub first: Option<usize>,
    /// As `first`.
    pub last: Option<usize>,
}

/// One message, as far as it came. All times are ns after it was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// When it was due, ns after the start.
    pub due_ns: u64,
    /// How much later than due it was sent, ns.
    pub lateness_ns: u64,
    /// When the replicator had received it.
    pub received_ns: Option<u64>,
    /// When the replicator sent its copies.
    pub resent_ns: Option<u64>,
    copies: &'a [u32],
    releases: &'a [u32],
    certain: Option<CertainRanks>,
}

impl Message<'_> {
    /// The arrival at each subscriber that got a copy, with the subscriber's number.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let came = self.copies.iter().enumerate().filter(|(_, ns)| **ns != NEVER);
        came.map(|(subscriber, ns)| (subscriber, u64::from(*ns)))
    }

    /// When each copy was handed on, of those that were.
    pub(crate) fn releases(&self) -> impl Iterator<Item = u64> + '_ {
        self.releases.iter().filter(|ns| **ns != NEVER).map(|ns| u64::from(*ns))
    }

    /// The first and the last one of the subscribers that got it. Where all stamps are of one
    /// clock, and two got it at the same nanosecond, the one with the lower number is first.
    pub(crate) fn ranks(&self) -> CertainRanks {
        let by_time = |copy: &(usize, u64)| (copy.1, copy.0);
        self.certain.unwrap_or_else(|| CertainRanks {
            first: self.copies().min_by_key(by_time).map(|(subscriber, _)| subscriber),
            last: self.copies().max_by_key(by_time).map(|(subscriber, _)| subscriber),
        })
    }

    /// Whether every subscriber got a copy.
    pub(crate) fn is_whole(&self) -> bool {
        self.copies.iter().all(|ns| *ns != NEVER)
    }
}

impl Arrivals {
    /// Room for the arrivals of all messages, and for their releases if they are held. It is
    /// written, so that the pages are mapped before the first message.
    pub(crate) fn new(messages: usize, subscribers: usize, holds: bool) -> Arrivals {
        Arrivals {
            subscribers,
            due_ns: vec![0; messages],
            sent_ns: vec![u64::MAX; messages],
            received: vec![NEVER; messages],
            resent: vec![NEVER; messages],
            copies: vec![NEVER; messages * subscribers],
            certain: Vec::new(),
            releases: vec![NEVER; if holds { messages * subscribers } else { 0 }],
            came: 0,
            released: 0,
            duplicated: 0,
            strange: 0,
            backwards: 0,
            unstamped: 0,
        }
    }

    /// Message `number` was due and sent at these times after the start.
    pub(crate) fn sent(&mut self, number: usize, due_ns: u64, sent_ns: u64) {
        (self.due_ns[number], self.sent_ns[number]) = (due_ns, sent_ns);
    }

    /// A copy of message `number` arrived at a subscriber, by the kernel's stamp. Returns whether
    /// it counts: the first one does.
    pub(crate) fn came(
        &mut self,
        number: usize,
        subscriber: usize,
        stamps: &Stamps,
        arrival_wall_ns: Option<u64>,
    ) -> bool {
        if self.sent_ns.get(number).is_none_or(|sent_ns| *sent_ns == u64::MAX) {
            self.strange += 1;
            return false;
        }
        let Some(arrival_wall_ns) = arrival_wall_ns else {
            self.unstamped += 1;
            return false;
        };
        let place = number * self.subscribers + subscriber;
        if self.copies[place] != NEVER {
            self.duplicated += 1;
            return false;
        }
        // A replicator whose copies the kernel makes does not stamp them.
        let passed = [stamps.received_ns, stamps.resent_ns].into_iter().filter(|ns| *ns != 0);
        let path = [stamps.sent_ns].into_iter().chain(passed).chain([arrival_wall_ns]);
        self.backwards += u64::from(!path.is_sorted());
        let after = |wall_ns: u64| after(stamps.sent_ns, wall_ns);
        self.copies[place] = after(arrival_wall_ns);
        self.came += 1;
        self.received[number] = after(stamps.received_ns);
        self.resent[number] = after(stamps.resent_ns);
        true
    }

    /// The same messages with room for copies that other hosts received.
    pub(crate) fn elsewhere(self, subscribers: usize) -> Arrivals {
        let messages = self.sent_ns.len();
        Arrivals {
            subscribers,
            copies: vec![NEVER; messages * subscribers],
            certain: vec![CertainRanks::default(); messages],
            ..self
        }
    }

    /// When message `number` was sent, ns after the start; `None`: it was not.
    pub(crate) fn sent_at(&self, number: usize) -> Option<u64> {
        self.sent_ns.get(number).copied().filter(|sent_ns| *sent_ns != u64::MAX)
    }

    /// A copy of message `number` arrived on another host, this long after sending as far as the
    /// clocks are known; `None`: nobody knows when.
    pub(crate) fn came_elsewhere(
        &mut self,
        number: usize,
        subscriber: usize,
        after_ns: Option<i64>,
    ) {
        self.came += 1;
        if let Some(after_ns) = after_ns {
            self.copies[number * self.subscribers + subscriber] = elsewhere(after_ns);
        }
    }

    /// The replicator had received message `number`, and sent its copies, this long after the
    /// source had sent it, as far as the clocks are known.
    pub(crate) fn passed(&mut self, number: usize, [received, resent]: [i64; 2]) {
        (self.received[number], self.resent[number]) = (elsewhere(received), elsewhere(resent));
    }

    /// Sets the certain ranks of message `number`.
    pub(crate) fn ranked(&mut self, number: usize, ranks: CertainRanks) {
        self.certain[number] = ranks;
    }

    /// A copy that counts was handed on, and its message sent, at these times of the wall clock.
    pub(crate) fn handed_on(
        &mut self,
        (number, subscriber): (usize, usize),
        sent_wall_ns: u64,
        wall_ns: u64,
    ) {
        self.releases[number * self.subscribers + subscriber] = after(sent_wall_ns, wall_ns);
        self.released += 1;
    }

    /// Subscribers.
    pub(crate) fn subscribers(&self) -> usize {
        self.subscribers
    }

    /// Copies that arrived, of whichever message.
    pub(crate) fn copies(&self) -> u64 {
        self.came
    }

    /// Copies that were handed on.
    pub(crate) fn released(&self) -> u64 {
        self.released
    }

    /// Every message that was sent, in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message<'_>> + '_ {
        let seen = |ns: u32| (ns != NEVER).then_some(u64::from(ns));
        let sent = (0..self.sent_ns.len()).filter(|at| self.sent_ns[*at] != u64::MAX);
        sent.map(move |at| Message {
            due_ns: self.due_ns[at],
            lateness_ns: self.sent_ns[at].saturating_sub(self.due_ns[at]),
            received_ns: seen(self.received[at]),
            resent_ns: seen(self.resent[at]),
            copies: &self.copies[at * self.subscribers..(at + 1) * self.subscribers],
            certain: self.certain.get(at).copied(),
            releases: match self.releases.is_empty() {
                true => &[],
                false => &self.releases[at * self.subscribers..(at + 1) * self.subscribers],
            },
        })
    }
}

/// A time on another host, as far as the clocks are known. One before sending is within their
/// error of it.
fn elsewhere(after_ns: i64) -> u32 {
    u32::try_from(after_ns.max(0)).unwrap_or(NEVER).min(NEVER - 1)
}

/// The time since sending, both by the wall clock. 0 stands for a time that nobody stamped.
fn after(sent_wall_ns: u64, wall_ns: u64) -> u32 {
    match wall_ns {
        0 => NEVER,
        _ => u32::try_from(wall_ns.saturating_sub(sent_wall_ns)).unwrap_or(NEVER).min(NEVER - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPS: Stamps =
        Stamps { sequence: 0, sent_ns: 1_000, received_ns: 1_010, resent_ns: 1_012 };

    #[test]
    fn a_copy_has_one_place_and_the_rest_is_counted() {
        let mut arrivals = Arrivals::new(2, 2, false);
        arrivals.sent(0, 50, 53);
        let mut came =
            |number, subscriber, arrival_ns| arrivals.came(number, subscriber, &STAMPS, arrival_ns);
        assert!(came(0, 1, Some(1_020)));
        assert!(!came(0, 1, Some(1_030)) && !came(0, 0, None));
        assert!(!came(1, 0, Some(1_020)) && !came(9, 0, Some(1_020)));
        let messages: Vec<_> = arrivals.messages().collect();
        let [message] = messages[..] else { panic!("{messages:?}") };
        assert_eq!(message.copies().collect::<Vec<_>>(), [(1, 20)]);
        assert!(!message.is_whole());
        assert_eq!((message.due_ns, message.lateness_ns), (50, 3));
        assert_eq!((message.received_ns, message.resent_ns), (Some(10), Some(12)));
        assert_eq!((arrivals.duplicated, arrivals.unstamped, arrivals.strange), (1, 1, 2));
        assert_eq!((arrivals.copies(), arrivals.backwards), (1, 0));
    }

    #[test]
    fn stamps_that_a_replicator_did_not_write_are_not_known() {
        let mut arrivals = Arrivals::new(1, 1, false);
        arrivals.sent(0, 0, 0);
        let unstamped = Stamps { received_ns: 0, resent_ns: 0, ..STAMPS };
        arrivals.came(0, 0, &unstamped, Some(1_020));
        let message = arrivals.messages().next().unwrap();
        assert_eq!((message.received_ns, message.resent_ns), (None, None));
        assert_eq!(message.copies().collect::<Vec<_>>(), [(0, 20)]);
        assert_eq!(arrivals.backwards, 0);
    }

    #[test]
    fn a_copy_that_is_held_has_two_times() {
        let mut arrivals = Arrivals::new(1, 2, true);
        arrivals.sent(0, 0, 0);
        assert!(arrivals.came(0, 1, &STAMPS, Some(1_020)));
        assert_eq!(arrivals.messages().next().unwrap().releases().count(), 0);
        arrivals.handed_on((0, 1), STAMPS.sent_ns, 1_100);
        let message = arrivals.messages().next().unwrap();
        assert_eq!(message.releases().collect::<Vec<_>>(), [100]);
        assert_eq!((message.copies().collect::<Vec<_>>(), arrivals.released()), (vec![(1, 20)], 1));
    }

    /// Somebody set the clock between two stamps: the times mean nothing.
    #[test]
    fn a_clock_that_goes_back_is_counted() {
        let mut arrivals = Arrivals::new(1, 1, false);
        arrivals.sent(0, 0, 0);
        arrivals.came(0, 0, &STAMPS, Some(900));
        assert_eq!(arrivals.backwards, 1);
    }
}
