//! Sends the feed: each datagram when its last message is due.

use crate::prepared::PreparedFeed;
use clock::Clock;
use plan::process::feed::FeedPlan;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::datagram::{DatagramSender, SendOutcome};

/// From the first look at the clock to the first datagram, ns.
const LEAD_NS: u64 = 1_000_000;

/// The part of the feed that a run sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The number of the first measured message.
    pub first: u64,
    /// Datagrams, warm-up included.
    pub datagrams: u64,
    /// The number of the last message.
    pub last: u64,
}

impl Extent {
    /// At least the messages of the plan: the warm-up ends with a datagram, and the rest where the
    /// publisher's book is known.
    pub(crate) fn of(plan: &FeedPlan, feed: &PreparedFeed) -> Extent {
        let mut extent = Extent { first: 1, datagrams: 0, last: 0 };
        for datagram in feed.datagrams.iter().cycle() {
            if extent.last < plan.warm_up_messages {
                extent.first = extent.last + datagram.messages + 1;
            }
            extent.datagrams += 1;
            extent.last += datagram.messages;
            let measured = extent.last.saturating_sub(extent.first - 1);
            if measured >= plan.messages.max(1) && datagram.book_hash.is_some() {
                break;
            }
        }
        extent
    }
}

/// How the sending went.
pub(crate) struct SourceResult {
    /// When the first measured message was due, ns.
    pub start_ns: u64,
    /// When the last datagram was sent, ns.
    pub end_ns: u64,
    /// Measured datagrams that were sent.
    pub datagrams: u64,
    /// The number of the last message that was sent.
    pub last: u64,
    /// The p99 of the delay of measured datagrams behind the schedule, ns.
    pub lateness_ns_p99: Option<u64>,
    /// Hash of the publisher's book at the end, if it sent all.
    pub book_hash: Option<u64>,
    /// Why it ended before its time.
    pub failure: Option<String>,
}

/// A feed on its way to one follower.
pub(crate) struct Source<'a> {
    pub sender: DatagramSender,
    pub to: SocketAddr,
    pub clock: Clock,
    pub rate_per_second: f64,
    pub stop: &'a AtomicBool,
}

impl Source<'_> {
    /// Lets both ends find each other before anything is timed.
    pub(crate) fn greet(&mut self, heartbeat: &[u8]) -> SendOutcome {
        self.sender.send(self.to, heartbeat)
    }

    /// Sends all of it. The schedule is never re-based: what is late leaves at once.
    pub(crate) fn send(&mut self, feed: &mut PreparedFeed, extent: Extent) -> SourceResult {
        let gap_ns = 1e9 / self.rate_per_second;
        let origin_ns = self.clock.now_ns() + LEAD_NS;
        let due_ns = |messages: u64| origin_ns + (messages as f64 * gap_ns) as u64;
        let start_ns = due_ns(extent.first - 1);
        let mut lateness = clock::recorder::histogram();
        let (mut datagrams, mut last, mut book_hash, mut failure) = (0, 0, None, None);
        for number in 0..extent.datagrams {
            let count = feed.datagrams.len() as u64;
            let (round, index) = (number / count, (number % count) as usize);
            let datagram = &mut feed.datagrams[index];
            let due_ns = due_ns(last + datagram.messages);
            let sequence = round * feed.messages + datagram.sequence;
            feed::patch_place(&mut datagram.bytes, sequence, due_ns);
            match self.send_at(due_ns, &mut datagram.bytes) {
                Ok(sent_ns) if sequence >= extent.first => {
                    datagrams += 1;
                    lateness.saturating_record(sent_ns - due_ns);
                }
                Ok(_) => {}
                Err(why) => {
                    failure = Some(format!("the source ended before its time: {why}"));
                    break;
                }
            }
            (last, book_hash) = (last + datagram.messages, datagram.book_hash);
        }
        let lateness_ns_p99 = stats::percentiles(&lateness).0.p99;
        let end_ns = self.clock.now_ns();
        SourceResult { start_ns, end_ns, datagrams, last, lateness_ns_p99, book_hash, failure }
    }

    /// Sends it when it is due, or as soon as the kernel takes it. Returns when that was, ns.
    fn send_at(&mut self, due_ns: u64, datagram: &mut [u8]) -> Result<u64, String> {
        loop {
            let now_ns = self.clock.now_ns();
            if self.stop.load(Ordering::Relaxed) {
                return Err("it was told to stop".to_owned());
            }
            if now_ns < due_ns {
                std::hint::spin_loop();
                continue;
            }
            feed::patch_published(datagram, now_ns);
            match self.sender.send(self.to, datagram) {
                SendOutcome::Whole => return Ok(now_ns),
                SendOutcome::Full => {}
                SendOutcome::Failed(error) => return Err(error.to_string()),
            }
        }
    }
}
