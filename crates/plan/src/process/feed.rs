//! `feed`: a feed on a schedule, into a book on one core.

use crate::backend::Queue;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Until the book has all messages of a datagram.
pub const BOOK: &str = "book";
/// From the read of a datagram until then, the second stage of a tick.
pub const NORMALISE: &str = "normalise";

/// The plan, JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedPlan {
    /// Name of the subject, for messages and tags.
    pub subject: String,
    /// Address at which the book's end receives.
    pub own: Ipv4Addr,
    /// The network namespace of the source, by a path; `None`: the process's own.
    pub source_network: Option<String>,
    /// Backend of the book's end.
    pub backend: String,
    /// Its queues, if it has any.
    pub queue: Queue,
    /// Limit on the length of a datagram.
    pub datagram_bytes: usize,
    /// Receive buffer that is requested from the kernel.
    pub receive_buffer_bytes: usize,
    /// Messages a second.
    pub rate_per_second: f64,
    /// Seed of the orders behind the feed.
    pub seed: u64,
    /// Messages that are sent first and don't count; a few more, so that a datagram ends.
    pub warm_up_messages: u64,
    /// Measured messages; some more, so that a pack of inputs ends.
    pub messages: u64,
    /// The source's core; `None`: not pinned.
    pub source_core: Option<usize>,
    /// The measuring thread's core, which has the book; `None`: not pinned.
    pub core: Option<usize>,
    /// Scheduling class of both threads.
    pub scheduling: Scheduling,
    /// The HdrHistogram log to append to.
    pub hlog: String,
}
