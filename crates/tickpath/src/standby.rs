//! An exchange with `--standby`: first a follower, then the exchange.

use crate::cli::{ExchangeArguments, StandbyArguments, TlsArguments};
use crate::process::{bind, reserve, say};
use crate::replicate::{for_primaries, last_line, tell_followed, tell_room};
use anyhow::{Context, bail};
use journal::Options;
use plan::backend as rows;
use replica::fence::Fence;
use replica::follow::{FollowSettings, follow};
use replica::lease::Promotion;
use replica::store::DirectoryStore;
use serde_json::json;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use transport::tls::{Acceptor, TlsError};

/// Limits of the silence after which it takes over. A shorter one is no silence: the standby looks
/// 50 times a second.
const STANDBY_SECONDS_MIN: f64 = 0.1;
const STANDBY_SECONDS_MAX: f64 = 3600.0;

/// Segments of the copy. Recovery reads the last one and the prepared one to their ends, and
/// clients wait for it: with the usual 256 MiB that takes a second.
const SEGMENT_BYTES: u64 = 16 << 20;

/// How the wait ended.
pub(crate) enum Turn {
    /// It is this exchange's turn; it has taken over from another one, or waited for none.
    Exchange(Option<TakenOver>),
    /// A signal ended it before.
    Stopped,
}

/// The sockets of an exchange that has taken over.
pub(crate) struct TakenOver {
    /// Tells old primaries.
    pub fence: Fence,
    /// Where its clients are going to connect; nobody listens there yet.
    pub clients: OwnedFd,
    /// The same for clients that speak FIX; `None` without `--fix`.
    pub fix: Option<OwnedFd>,
}

/// The TLS for the primaries that a standby follows; `None`: it is plain.
pub(crate) fn acceptor(arguments: &ExchangeArguments) -> Result<Option<Arc<Acceptor>>, TlsError> {
    let TlsArguments { tls_certificate, tls_key, .. } = &arguments.tls;
    // The certificate without authorities is for its clients.
    let primary_ca = arguments.standby.primary_ca.as_deref();
    match primary_ca {
        Some(_) => for_primaries(tls_certificate.as_deref(), tls_key.as_deref(), primary_ca),
        None => Ok(None),
    }
}

/// Waits until it is this exchange's turn. `tls` is that of its primaries; `cores` are those of the
/// fence's thread.
pub(crate) fn wait(
    arguments: &ExchangeArguments,
    tls: Option<Arc<Acceptor>>,
    stop: &Arc<AtomicBool>,
    cores: &[usize],
) -> anyhow::Result<Turn> {
    let StandbyArguments { standby, standby_seconds, .. } = &arguments.standby;
    let (Some(address), Some(journal)) = (standby, &arguments.journal) else {
        return Ok(Turn::Exchange(None));
    };
    if !(STANDBY_SECONDS_MIN..=STANDBY_SECONDS_MAX).contains(standby_seconds) {
        bail!(
            "--standby-seconds {standby_seconds}: use {STANDBY_SECONDS_MIN} to \
             {STANDBY_SECONDS_MAX} seconds"
        );
    }
    if arguments.journal_mode == "none" {
        bail!("--standby keeps a journal: set --journal-mode to async or sync");
    }
    if rows::is_below(&arguments.backend) {
        bail!("--standby with --backend {}: use one with sockets of the kernel", arguments.backend);
    }
    // Until it has taken over, clients have to be rejected.
    let clients = reserve(&arguments.listen)?;
    let fix = arguments.fix.fix.as_deref().map(reserve).transpose().context("--fix")?;
    let options = Options { segment_bytes: SEGMENT_BYTES, ..Options::default() };
    let mut store = DirectoryStore::open(journal, options)?;
    store.tell_room(tell_room(journal, stop));
    let listener = bind(address)?;
    let mut first = json!({
        "standby": listener.local_addr()?.to_string(),
        "clients": address_of(&clients)?,
    });
    if let Some(fix) = &fix {
        first["fix"] = address_of(fix)?.into();
    }
    say(&first.to_string());
    let promote_after = Some(Duration::from_secs_f64(*standby_seconds));
    let settings = FollowSettings { promote_after, tls: tls.clone(), ..FollowSettings::default() };
    let counts = follow(&listener, &mut store, settings, stop, &mut tell_followed)?;
    let records = store.next_sequence();
    let Some(promotion) = counts.promotion else {
        eprintln!("stopped by a signal before it took over: its copy has {records} records");
        say(&last_line(&store, counts).to_string());
        return Ok(Turn::Stopped);
    };
    let lost = match promotion {
        Promotion::Silence => "the silent exchange",
        Promotion::Farewell => "the exchange, which has ended,",
    };
    eprintln!("this standby takes over from {lost} at record {records}");
    // The journal has one writer.
    drop(store);
    let cores = cores.to_vec();
    let place = move || {
        if let Err(error) = host::thread::run_on(&cores) {
            eprintln!("warning: {error}");
        }
    };
    let fence = Fence::start(listener, journal, tls, place)?;
    Ok(Turn::Exchange(Some(TakenOver { fence, clients, fix })))
}

/// The address of a reserved socket.
fn address_of(reserved: &OwnedFd) -> anyhow::Result<String> {
    let address: SocketAddr = rustix::net::getsockname(reserved)?.try_into()?;
    Ok(address.to_string())
}
