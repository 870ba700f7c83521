//! A follower's replies: sent at once, or after a delay that stands for the way between two zones.
//! Replies keep their order whatever the jitter, as those of one TCP connection do.

use crate::wire::Wire;
use clock::monotonic_ns;
use clock::random::SplitMix64;
use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How far away a follower seems to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distance {
    /// Delay of each reply.
    pub delay: Duration,
    /// A random time below this is added to it: each value is as likely as any other.
    pub jitter: Duration,
}

/// The times when replies are due.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    delay_ns: u64,
    jitter_ns: u64,
    random: SplitMix64,
    last_ns: u64,
}

impl Schedule {
    fn new(distance: Distance) -> Schedule {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (delay_ns, jitter_ns) = (ns(distance.delay), ns(distance.jitter));
        Schedule { delay_ns, jitter_ns, random: SplitMix64::new(0), last_ns: 0 }
    }

    /// When a reply of this moment is due; never before an earlier one.
    fn due_ns(&mut self, now_ns: u64) -> u64 {
        let jitter_ns = match self.jitter_ns {
            0 => 0,
            jitter_ns => self.random.bits() % jitter_ns,
        };
        let due_ns = now_ns.saturating_add(self.delay_ns).saturating_add(jitter_ns);
        self.last_ns = self.last_ns.max(due_ns);
        self.last_ns
    }
}

/// A sleeping thread wakes up to this much too late; it spins for the rest.
const SPIN_NS: u64 = 100_000;

/// Where a connection's replies go.
pub(crate) enum Replies {
    /// To the connection.
    Direct(Wire),
    /// To a thread that sends each when it is due, so that one reply does not wait for another.
    Delayed {
        schedule: Schedule,
        /// `None` once no more replies come.
        due: Option<Sender<(u64, Vec<u8>)>>,
        thread: Option<JoinHandle<()>>,
    },
}

impl Replies {
    pub fn new(stream: Wire, distance: Distance) -> io::Result<Replies> {
        if distance == Distance::default() {
            return Ok(Replies::Direct(stream));
        }
        let (due, waiting) = channel::<(u64, Vec<u8>)>();
        let work = move || {
            for (due_ns, reply) in waiting {
                wait_until(due_ns);
                // If the connection is broken, its reader finds out.
                if (&stream).write_all(&reply).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("replica-delay".to_owned()).spawn(work)?;
        let schedule = Schedule::new(distance);
        Ok(Replies::Delayed { schedule, due: Some(due), thread: Some(thread) })
    }

    /// Sends what is in `reply`, now or later, and empties it.
    pub fn send(&mut self, reply: &mut Vec<u8>) -> io::Result<()> {
        if reply.is_empty() {
            return Ok(());
        }
        let sent = match self {
            Replies::Direct(stream) => (&*stream).write_all(reply),
            Replies::Delayed { schedule, due, .. } => {
                let due_ns = schedule.due_ns(monotonic_ns());
                let sent = due.as_ref().map(|due| due.send((due_ns, reply.clone())));
                match sent {
                    Some(Ok(())) => Ok(()),
                    _ => Err(io::ErrorKind::BrokenPipe.into()),
                }
            }
        };
        reply.clear();
        sent
    }
}

impl Drop for Replies {
    /// Sends the replies that are due, such as the one that rejects a primary.
    fn drop(&mut self) {
        if let Replies::Delayed { due, thread, .. } = self {
            *due = None;
            if let Some(thread) = thread.take() {
                // It has no reason to panic; if it did, it has said so.
                let _ = thread.join();
            }
        }
    }
}

fn wait_until(due_ns: u64) {
    let left_ns = due_ns.saturating_sub(monotonic_ns());
    if left_ns > SPIN_NS {
        thread::sleep(Duration::from_nanos(left_ns - SPIN_NS));
    }
    while monotonic_ns() < due_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_delays_within_its_limits_and_keeps_the_order() {
        let (delay, jitter) = (Duration::from_nanos(500), Duration::from_nanos(1000));
        let mut far_apart = Schedule::new(Distance { delay, jitter });
        let late: Vec<u64> =
            (1..=1000).map(|n| far_apart.due_ns(n * 10_000) - n * 10_000).collect();
        assert!(late.iter().all(|late| (500..1500).contains(late)), "{late:?}");
        for begin in [500, 750, 1000, 1250] {
            let quarter = late.iter().filter(|late| (begin..begin + 250).contains(*late)).count();
            assert!((150..350).contains(&quarter), "{quarter} of 1000 from {begin} on");
        }

        // Replies of which the first is late delay those behind it.
        let mut close = Schedule::new(Distance { delay, jitter });
        let due: Vec<u64> = (0..1000).map(|now_ns| close.due_ns(now_ns)).collect();
        assert!(due.is_sorted());
        assert!(due.iter().zip(0..).all(|(due, now_ns)| (500..1500).contains(&(due - now_ns))));

        let mut steady = Schedule::new(Distance { delay, jitter: Duration::ZERO });
        assert_eq!([1, 2, 3].map(|now_ns| steady.due_ns(now_ns)), [501, 502, 503]);
    }
}
