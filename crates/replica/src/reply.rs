//! A follower's replies: sent at once, or after a delay that stands for the way between two zones.

use clock::monotonic_ns;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A sleeping thread wakes up to so much too late; it spins for the rest.
const SPIN_NS: u64 = 100_000;

/// Where a connection's replies go.
pub(crate) enum Replies {
    /// To the connection.
    Direct(TcpStream),
    /// To a thread that sends each when it is due, so that one reply does not wait for another.
    Delayed {
        delay_ns: u64,
        /// `None` once no more replies come.
        due: Option<Sender<(u64, Vec<u8>)>>,
        thread: Option<JoinHandle<()>>,
    },
}

impl Replies {
    pub fn new(stream: TcpStream, delay: Duration) -> io::Result<Replies> {
        if delay.is_zero() {
            return Ok(Replies::Direct(stream));
        }
        let (due, waiting) = channel::<(u64, Vec<u8>)>();
        let mut stream = stream;
        let work = move || {
            for (due_ns, reply) in waiting {
                wait_until(due_ns);
                // If the connection is broken, its reader finds out.
                if stream.write_all(&reply).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("replica-delay".to_owned()).spawn(work)?;
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Ok(Replies::Delayed { delay_ns, due: Some(due), thread: Some(thread) })
    }

    /// Sends what is in `reply`, now or later, and empties it.
    pub fn send(&mut self, reply: &mut Vec<u8>) -> io::Result<()> {
        if reply.is_empty() {
            return Ok(());
        }
        let sent = match self {
            Replies::Direct(stream) => stream.write_all(reply),
            Replies::Delayed { delay_ns, due, .. } => {
                let due_ns = monotonic_ns() + *delay_ns;
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
