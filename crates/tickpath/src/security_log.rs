//! The operator's log of failed logins, TLS handshakes and connections to the exchange: lines on
//! stderr, each kind written by a thread of its own.

use exchange::FailedLogin;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use transport::forward::UnreachableExchange;
use transport::tls::FailedHandshake;

/// Failures that wait to be written; more are only counted.
const WAITING_MAX: usize = 64;
/// The least time between two lines: an attack does not fill the disk.
const LINE_INTERVAL: Duration = Duration::from_millis(200);

/// Starts the thread of failed logins. It ends when the exchange is gone.
///
/// # Errors
/// The system has no thread for it.
pub(crate) fn start() -> io::Result<SyncSender<FailedLogin>> {
    start_log("security-log", |FailedLogin { peer, count }| {
        (format!("login failed from {}: unknown api_token", from(peer)), count)
    })
}

/// The same of failed TLS handshakes.
///
/// # Errors
/// The system has no thread for it.
pub(crate) fn start_handshakes() -> io::Result<SyncSender<FailedHandshake>> {
    start_log("tls-log", |FailedHandshake { peer, error, count }| {
        (format!("{error}; the client is {}", from(peer)), count)
    })
}

/// The same of clients of a gateway process that it could not connect to the exchange.
///
/// # Errors
/// The system has no thread for it.
pub(crate) fn start_unreachable() -> io::Result<SyncSender<UnreachableExchange>> {
    start_log("gateway-log", |UnreachableExchange { address, error, count }| {
        let advice = "the gateway closed a client; is the exchange running, and is its port open?";
        (format!("cannot reach the exchange at {address}: {error}; {advice}"), count)
    })
}

fn from(peer: Option<SocketAddr>) -> String {
    peer.map_or_else(|| "an unknown address".to_owned(), |peer| peer.to_string())
}

fn start_log<T: Send + 'static>(
    name: &str,
    told: fn(T) -> (String, u64),
) -> io::Result<SyncSender<T>> {
    let (reports, reported) = sync_channel(WAITING_MAX);
    std::thread::Builder::new().name(name.into()).spawn(move || write(&reported, told))?;
    Ok(reports)
}

fn write<T>(reported: &Receiver<T>, told: fn(T) -> (String, u64)) {
    let mut logged = 0;
    while let Ok(failed) = reported.recv() {
        let (what, count) = told(failed);
        eprintln!("{}", line(&what, count, logged));
        logged = count;
        std::thread::sleep(LINE_INTERVAL);
    }
}

fn line(what: &str, count: u64, logged: u64) -> String {
    let unlogged = count.saturating_sub(logged + 1);
    let others =
        if unlogged > 0 { format!(", {unlogged} of them not logged") } else { String::new() };
    format!("warning: {what} ({count} failed so far{others})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_address_and_what_it_leaves_out() {
        let peer = Some("192.0.2.7:4000".parse().unwrap());
        let what = format!("login failed from {}: unknown api_token", from(peer));
        let first = line(&what, 1, 0);
        assert_eq!(
            first,
            "warning: login failed from 192.0.2.7:4000: unknown api_token (1 failed so far)"
        );
        let later = line(&what, 9, 3);
        assert!(later.ends_with("(9 failed so far, 5 of them not logged)"), "{later}");
    }
}
