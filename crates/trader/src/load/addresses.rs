//! The addresses of an exchange, one of which is in use.

use crate::load::dialler::dial;
use crate::load::error::TraderError;
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

/// The index of the first address where something listens; a single one is not tried.
///
/// # Errors
/// [`TraderError::Nowhere`], with what each address said.
pub(crate) fn first_of(targets: &[&str]) -> Result<usize, TraderError> {
    if let [_] = targets {
        return Ok(0);
    }
    let mut said = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        match dial(target) {
            Ok(_) => return Ok(index),
            Err(error) => said.push(format!("{target}: {error}")),
        }
    }
    Err(TraderError::Nowhere(said.join("; ")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn all_addresses_are_named_if_nothing_listens_at_any() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (live, dead) = (listener.local_addr().unwrap().to_string(), "127.0.0.1:1");
        assert_eq!(first_of(&[dead]).unwrap(), 0);
        assert_eq!(first_of(&[dead, &live]).unwrap(), 1);
        let error = first_of(&[dead, "127.0.0.1:2"]).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:1: ") && error.contains("127.0.0.1:2: "), "{error}");
    }
}
