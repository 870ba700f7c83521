//! The addresses of an exchange, one of which is in use.

use crate::load::dialler::dial;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time limit for connecting to one address, and for each step of logging on there. An exchange
/// that is stopped or cut off still takes connections, or drops them silently.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);
/// Time between two rounds over all addresses, at first and at most.
const BACKOFF: Duration = Duration::from_millis(5);
const BACKOFF_MAX: Duration = Duration::from_millis(50);
/// Time after which no exchange is looked for any more.
pub(crate) const SEARCH: Duration = Duration::from_secs(30);

/// The index of the first address where something listens; the first one if nothing does.
pub(crate) fn first_of(targets: &[&str]) -> usize {
    match targets {
        [_] => 0,
        _ => targets.iter().position(|target| dial(target).is_ok()).unwrap_or(0),
    }
}

/// Tries all of `count` addresses, the one after `current` first, until `join` accepts one, `stop`
/// is set, or [`SEARCH`] is over. Moves `current` there.
pub(crate) fn search<T>(
    current: &mut usize,
    count: usize,
    stop: &AtomicBool,
    mut join: impl FnMut(usize) -> Option<T>,
) -> Option<T> {
    let deadline = clock::Deadline::after(SEARCH);
    let mut backoff = BACKOFF;
    while !stop.load(Ordering::Relaxed) && !deadline.left().is_zero() {
        for _ in 0..count {
            *current = (*current + 1) % count;
            if let Some(joined) = join(*current) {
                return Some(joined);
            }
        }
        thread::sleep(backoff);
        backoff = (2 * backoff).min(BACKOFF_MAX);
    }
    None
}
