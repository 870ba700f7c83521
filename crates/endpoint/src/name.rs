//! The addresses of the target's name, before the run and as they change during it.

use plan::process::endpoint::ADDRESSES_MAX;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Looks up `HOST:PORT`; tests have one of their own.
pub(crate) type Resolve = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// The system's resolver.
pub(crate) fn system(target: &str) -> io::Result<Vec<SocketAddr>> {
    target.to_socket_addrs().map(Iterator::collect)
}

/// The name has no address.
#[derive(Debug, thiserror::Error)]
#[error("{target}: {why}; write HOST:PORT")]
pub struct NameError {
    /// As given.
    target: String,
    /// The resolver's error.
    why: String,
}

/// The addresses before the run, in the resolver's order, each once.
///
/// # Errors
/// If there are none.
pub(crate) fn look_up(target: &str, resolve: Resolve) -> Result<Vec<SocketAddr>, NameError> {
    let unknown = |why: String| NameError { target: target.to_owned(), why };
    let found = resolve(target).map_err(|error| unknown(error.to_string()))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err(unknown("it has no address".to_owned())),
        false => Ok(addresses),
    }
}

/// A change of the name, or a look-up that failed.
pub(crate) type LookUp = Result<Vec<SocketAddr>, NameError>;

/// Looks the name up again and again, on a thread of its own that is not pinned.
pub(crate) struct Follower {
    changes: Option<Receiver<LookUp>>,
    /// Its end ends the thread.
    _running: Option<Sender<()>>,
}

impl Follower {
    /// Starts from the addresses `known`. An address without a name can't change.
    pub(crate) fn start(
        target: &str,
        every: Duration,
        known: &[SocketAddr],
        resolve: Resolve,
    ) -> Follower {
        if target.parse::<SocketAddr>().is_ok() {
            return Follower { changes: None, _running: None };
        }
        let (sender, changes) = mpsc::channel();
        let (running, ended) = mpsc::channel::<()>();
        let (target, mut last) = (target.to_owned(), Some(sorted(known.to_vec())));
        // A look-up may take many seconds, so nothing waits for the end of this thread.
        std::thread::spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let found = look_up(&target, resolve).map(sorted);
                let now = found.as_ref().ok().cloned();
                if now != last {
                    last = now;
                    if sender.send(found).is_err() {
                        break;
                    }
                }
            }
        });
        Follower { changes: Some(changes), _running: Some(running) }
    }

    /// The next change that was seen, if there was one. Returns at once.
    pub(crate) fn change(&self) -> Option<LookUp> {
        self.changes.as_ref()?.try_recv().ok()
    }
}

fn sorted(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    addresses.sort_unstable();
    addresses
}

/// Removes what is beyond the limit; a sentence about it.
pub(crate) fn limit(target: &str, addresses: &mut Vec<SocketAddr>) -> Option<String> {
    let count = addresses.len();
    addresses.truncate(ADDRESSES_MAX);
    (count > ADDRESSES_MAX).then(|| {
        format!(
            "{target} has {count} addresses: the first {ADDRESSES_MAX} are probed, others are not"
        )
    })
}
