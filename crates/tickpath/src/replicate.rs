//! `tickpath follower`, and the threads by which an exchange ships its journal to one.

use crate::cli::{ExchangeArguments, FollowerArguments, ReplicateArguments, TlsArguments};
use crate::exit::DONE;
use crate::process::{bind, die_with, say};
use crate::secure::{Reload, reload, stop_flag_or_reload};
use crate::signals::stop_flag;
use anyhow::bail;
use exchange::Exchange;
use journal::{Mode, Options, Replication};
use plan::trust::Trust;
use replica::Distance;
use replica::follow::{FollowCounts, FollowEvent, FollowSettings, follow};
use replica::ship::{ShipEvent, ShipSettings, Shipper};
use replica::store::{DirectoryStore, TellRoom};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use transport::tls::{Acceptor, Connector, TlsError};

/// Limits of the time after which a follower is lost.
const FOLLOWER_SECONDS_MIN: f64 = 0.01;
const FOLLOWER_SECONDS_MAX: f64 = 3600.0;

/// How the journal is replicated; `None` if it is not.
pub(crate) fn replication(arguments: &ReplicateArguments) -> Option<Replication> {
    let mode = match arguments.replicate.as_deref()? {
        "sync" => Mode::Sync,
        _ => Mode::Async,
    };
    Some(Replication { mode, lag_max: arguments.follower_lag_max })
}

/// Starts to ship the journal, with --replicate. Waits for the follower's first answer, but not
/// longer than --follower-seconds, unless this exchange has just taken over: nobody may be there to
/// follow it yet, and clients wait. `tls` is that of the connection; `cores` are those of its
/// threads.
pub(crate) fn start(
    arguments: &ExchangeArguments,
    exchange: &Exchange,
    tls: Option<&FollowerTls>,
    has_taken_over: bool,
    cores: &[usize],
) -> anyhow::Result<Option<Shipper>> {
    let ReplicateArguments { follower, follower_seconds, .. } = &arguments.replicate;
    let (Some(follower), Some(journal)) = (follower, &arguments.journal) else { return Ok(None) };
    if !(FOLLOWER_SECONDS_MIN..=FOLLOWER_SECONDS_MAX).contains(follower_seconds) {
        bail!(
            "--follower-seconds {follower_seconds}: use {FOLLOWER_SECONDS_MIN} to \
             {FOLLOWER_SECONDS_MAX} seconds"
        );
    }
    let Some(shipping) = exchange.journal_shipping() else {
        bail!("--replicate needs a journal: set --journal-mode to async or sync");
    };
    let settings = ShipSettings {
        tls: tls.map(|tls| Arc::clone(&tls.connector)),
        journal: journal.clone(),
        follower: follower.clone(),
        limit: Duration::from_secs_f64(*follower_seconds),
        is_sync: arguments.replicate.replicate.as_deref() == Some("sync"),
        lag_max: arguments.replicate.follower_lag_max,
    };
    let cores = cores.to_vec();
    let place = move || {
        if let Err(error) = host::thread::run_on(&cores) {
            eprintln!("warning: {error}");
        }
    };
    let shipper = Shipper::start(settings, shipping, tell, place)?;
    if !has_taken_over && shipper.await_first() {
        bail!("the follower follows another primary by now: {TAKEN_OVER}");
    }
    Ok(Some(shipper))
}

/// The TLS of the connection to the follower.
#[derive(Clone)]
pub(crate) struct FollowerTls {
    own: TlsArguments,
    follower: String,
    ca: PathBuf,
    /// For the next connections.
    connector: Arc<Mutex<Connector>>,
}

impl FollowerTls {
    /// As the command line asks; `None`: the connection is plain, or there is none.
    ///
    /// # Errors
    /// A file can't be read or used.
    pub(crate) fn new(arguments: &ExchangeArguments) -> Result<Option<FollowerTls>, TlsError> {
        let ReplicateArguments { follower, follower_ca, .. } = &arguments.replicate;
        let (Some(follower), Some(ca)) = (follower, follower_ca) else { return Ok(None) };
        let own = &arguments.tls;
        let connector = Arc::new(Mutex::new(connector(own, follower, ca)?));
        let (own, follower, ca) = (own.clone(), follower.clone(), ca.clone());
        Ok(Some(FollowerTls { own, follower, ca, connector }))
    }

    /// Reads its files again.
    pub(crate) fn reload(&self) -> Reload {
        let tls = self.clone();
        Box::new(move || {
            let connector = connector(&tls.own, &tls.follower, &tls.ca)?;
            *tls.connector.lock().unwrap_or_else(PoisonError::into_inner) = connector;
            Ok(())
        })
    }
}

/// How the follower's certificate is checked, and which one it is shown if it asks.
fn connector(own: &TlsArguments, follower: &str, ca: &Path) -> Result<Connector, TlsError> {
    let trust = Trust { ca: Some(ca.to_owned()), ..Trust::default() };
    let connector = Connector::new(&trust, follower)?;
    match (&own.tls_certificate, &own.tls_key) {
        (Some(certificate), Some(key)) => connector.showing(certificate, key),
        _ => Ok(connector),
    }
}

const TAKEN_OVER: &str =
    "use that exchange; to keep a copy here, start a follower with an empty directory";

fn tell(event: &ShipEvent) {
    match event {
        ShipEvent::Connected { next, behind } => {
            eprintln!("the follower needs record {next} next; it is {behind} records behind");
        }
        ShipEvent::Broken(why) => eprintln!("warning: {why}"),
        ShipEvent::Lost => eprintln!(
            "warning: the follower has not acknowledged within --follower-seconds; with \
             --replicate sync, nothing is executed until it does"
        ),
        ShipEvent::Back => eprintln!("the follower acknowledges again"),
        ShipEvent::Fenced(why) => eprintln!("error: {why}: {TAKEN_OVER}"),
    }
}

/// Ends the shipping after the journal was closed; what it did.
pub(crate) fn end(shipper: Shipper) -> Value {
    let connections = shipper.connections();
    let (records, replicated) = shipper.end();
    json!({ "records": records, "replicated": replicated, "connections": connections })
}

/// The TLS of a follower's end: its certificate, and the authorities of the primaries that it
/// accepts, if it checks them. `None` without a certificate: it is plain.
///
/// # Errors
/// A file can't be read or used.
pub(crate) fn for_primaries(
    certificate: Option<&Path>,
    key: Option<&Path>,
    primary_ca: Option<&Path>,
) -> Result<Option<Arc<Acceptor>>, TlsError> {
    let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
    let acceptor = match primary_ca {
        Some(ca) => Acceptor::read_mutual(certificate, key, ca),
        None => Acceptor::read(certificate, key),
    };
    acceptor.map(|acceptor| Some(Arc::new(acceptor)))
}

/// `tickpath follower`.
pub(crate) fn follower(arguments: &FollowerArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let FollowerArguments { tls_certificate, tls_key, primary_ca, .. } = arguments;
    let tls = for_primaries(tls_certificate.as_deref(), tls_key.as_deref(), primary_ca.as_deref())?;
    let stop = match &tls {
        Some(acceptor) => stop_flag_or_reload(vec![reload(Arc::clone(acceptor))])?,
        None => stop_flag()?,
    };
    if let Some(core) = arguments.core {
        host::thread::pin(core)?;
    }
    let mut store = DirectoryStore::open(&arguments.journal, Options::default())?;
    store.tell_room(tell_room(&arguments.journal, &stop));
    let listener = bind(&arguments.listen)?;
    say(&json!({ "listening": listener.local_addr()?.to_string() }).to_string());
    let distance = Distance {
        delay: Duration::from_micros(arguments.delay_us),
        jitter: Duration::from_micros(arguments.jitter_us),
    };
    let settings = FollowSettings { distance, promote_after: None, tls };
    let counts = follow(&listener, &mut store, settings, &stop, &mut tell_followed)?;
    say(&last_line(&store, counts).to_string());
    Ok(DONE)
}

/// Tells the operator when the disk of the copy in `path` is full and when it has room again. A
/// wait for room ends when `stop` is set.
pub(crate) fn tell_room(path: &Path, stop: &Arc<AtomicBool>) -> Box<TellRoom> {
    let (path, stop, mut was_full) = (path.display().to_string(), Arc::clone(stop), false);
    Box::new(move |is_full| {
        match (was_full, is_full) {
            (false, true) => eprintln!(
                "warning: the disk of {path} is full: free some space. Records still go where room \
                 is allocated. After that nothing is acknowledged, and an exchange with --replicate \
                 sync executes nothing"
            ),
            (true, false) => eprintln!("the disk of {path} has room again"),
            _ => {}
        }
        was_full = is_full;
        !stop.load(Ordering::Relaxed)
    })
}

/// The last line of a follower.
pub(crate) fn last_line(store: &DirectoryStore, counts: FollowCounts) -> Value {
    let FollowCounts { connections, rejected, .. } = counts;
    json!({ "records": store.next_sequence(), "connections": connections, "refused": rejected })
}

pub(crate) fn tell_followed(event: &FollowEvent<'_>) {
    match event {
        FollowEvent::Following(peer, next) => {
            eprintln!("following the exchange at {peer} from record {next} on");
        }
        FollowEvent::Ended(peer, why) => eprintln!("the connection from {peer} ended: {why}"),
        FollowEvent::MayLead(true, silence) => {
            eprintln!("the copy is complete: this standby takes over after {silence:?} of silence");
        }
        FollowEvent::MayLead(false, _) => eprintln!(
            "the copy may lack acknowledged orders, so this standby does not take over: wait until \
             it has caught up, and use --replicate sync at the other exchange"
        ),
    }
}
