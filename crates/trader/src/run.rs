//! One run of one plan: connect, log on, warm up, measure, drain, tell.

use crate::desk::{Desk, SERIES};
use crate::order_entry::OrderEntry;
use crate::plan::{Model, Plan, Wire};
use crate::progress::Teller;
use crate::raw::Raw;
use crate::websocket::WebSocket;
use crate::{open_loop, ping_pong};
use measure::clock::Clock;
use measure::progress::Second;
use measure::record::{self, ClientResult};
use measure::recorder::{self, Drain, Interval, Recorder, SECONDS_IN_MEMORY_MAX};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use transport::inject;

/// How long connecting, and each step of logging on, may take.
const LOG_ON: Duration = Duration::from_secs(5);

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum TraderError {
    /// The plan's load is out of range.
    #[error(transparent)]
    Load(#[from] crate::plan::BadLoad),
    /// The plan names no backend that there is.
    #[error(transparent)]
    Backend(#[from] transport::UnknownBackend),
    /// The backend can't be opened.
    #[error("cannot open backend {backend}: {source}; the kernel may be too old or forbid it")]
    Open {
        /// Its name.
        backend: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Nobody is there, or not whom we expect.
    #[error("connection {lane} to {target}: {source}; is an exchange running there?")]
    Connect {
        /// `HOST:PORT`.
        target: String,
        /// Which connection.
        lane: usize,
        /// What went wrong.
        source: io::Error,
    },
    /// No datagrams can be received as asked.
    #[error(transparent)]
    Datagrams(#[from] transport::datagrams::DatagramError),
    /// The feed can't be followed.
    #[error("the feed of {target}: {why}")]
    Feed {
        /// `HOST:PORT`.
        target: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There is no risk, and so no trading.
    #[error(transparent)]
    Risk(#[from] crate::risk::RiskError),
    /// The audit log can't be begun.
    #[error(transparent)]
    Audit(#[from] audit::AuditError),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// The log can't be written.
    #[error("cannot write {path}: {source}; free some space or choose another place")]
    Log {
        /// Its path.
        path: String,
        /// What the file system said.
        source: io::Error,
    },
    /// Before anything was measured.
    #[error("interrupted while connecting; nothing was measured")]
    Interrupted,
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panic,
}

/// What the measuring thread hands out when it is set up.
struct Draining {
    drain: Drain,
    started: SystemTime,
    start_ns: u64,
}

/// Carries the plan out. Returns as soon as `stop` is set, with what was measured until then.
///
/// The measuring thread is a thread of its own, pinned; the caller's thread writes the log: after the
/// run, or, if that is longer than a minute, while it lasts. Where the plan asks for progress it calls
/// `tell` for each second as it ends, and sleeps in between: keep that thread off the measured cores.
///
/// # Errors
/// If there is no result at all. A run that broke off has a result that says so.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, TraderError> {
    plan.check()?;
    let (sender, receiver) = mpsc::channel::<Draining>();
    let log_failed = |source| TraderError::Log { path: plan.hlog.clone(), source };
    let mut log = File::options().create(true).append(true).open(&plan.hlog).map_err(log_failed)?;
    let mut teller = Teller::new(plan.load.model, tell);
    let mut watch = |interval: &Interval| {
        if plan.progress {
            teller.tell(interval);
        }
    };
    let mut write_log = |draining: Draining, watch: &mut dyn FnMut(&Interval)| {
        let Draining { drain, started, start_ns } = draining;
        // A day that can't be written need not be measured.
        let failed = || stop.store(true, Ordering::Relaxed);
        let mut log = io::BufWriter::new(&mut log);
        drain.run_watched(&plan.subject, &mut log, started, start_ns, &failed, watch)
    };
    std::thread::scope(|scope| {
        let measuring = scope.spawn(move || measure(plan, stop, sender));
        let mut logged = Ok(());
        let mut kept = None;
        if plan.seconds > SECONDS_IN_MEMORY_MAX {
            if let Ok(draining) = receiver.recv() {
                logged = write_log(draining, &mut watch);
            }
        } else if plan.progress {
            kept = receiver.recv().ok();
            kept.iter_mut().for_each(|draining| draining.drain.keep(&mut watch));
        }
        let mut result = measuring.join().map_err(|_| TraderError::Panic)??;
        if let Some(draining) = kept.or_else(|| receiver.try_recv().ok()) {
            logged = write_log(draining, &mut |_| ());
        }
        if let Err(source) = logged {
            result.complete = false;
            result.failures.insert(0, log_failed(source).to_string());
        }
        Ok(result)
    })
}

/// The measuring thread.
fn measure(
    plan: &Plan,
    stop: &AtomicBool,
    sender: mpsc::Sender<Draining>,
) -> Result<ClientResult, TraderError> {
    // First the core, so that memory comes from its NUMA node.
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    let lanes = plan.load.connections;
    match plan.wire {
        Wire::WebsocketJson => measure_over(plan, stop, clock, WebSocket::new(plan), sender),
        Wire::Raw(bytes) => measure_over(plan, stop, clock, Raw::new(bytes, lanes), sender),
    }
}

fn measure_over<E: OrderEntry>(
    plan: &Plan,
    stop: &AtomicBool,
    clock: Clock,
    mut entry: E,
    sender: mpsc::Sender<Draining>,
) -> Result<ClientResult, TraderError> {
    let open_failed = |source| TraderError::Open { backend: plan.backend.clone(), source };
    let streams = transport::backend(&plan.backend)?.open(clock).map_err(open_failed)?;
    let mut streams = inject::around(streams, &plan.inject, clock);
    let mut ids = Vec::new();
    for lane in 0..plan.load.connections {
        if stop.load(Ordering::Relaxed) {
            return Err(TraderError::Interrupted);
        }
        let connected = connect(plan, lane, &mut entry).and_then(|stream| streams.add(stream));
        let failed = |source| TraderError::Connect { target: plan.target.clone(), lane, source };
        ids.push(connected.map_err(failed)?);
    }
    let (recorder, drain): (Recorder, Drain) = recorder::recorder(&SERIES, plan.seconds);
    let mut desk = Desk::new(clock, streams, &ids, entry, recorder);
    // Last, so that the set-up above does not run in a real-time class.
    host::thread::set_scheduling(plan.scheduling)?;
    let draining = Draining { drain, started: SystemTime::now(), start_ns: clock.now_ns() };
    // The other end waits for it as long as we live.
    let _ = sender.send(draining);
    let load = &plan.load;
    let run = match load.model {
        Model::Open => open_loop::run,
        Model::PingPong => ping_pong::run,
    };
    let complete = run(&mut desk, load, plan.warm_up_seconds, plan.seconds, stop);
    let (mut counted, failure, entry) = desk.finish();
    counted.model = load.model.name().to_owned();
    let complaint =
        entry.first_complaint().map(|complaint| format!("first complaint: {complaint}"));
    Ok(ClientResult {
        complete,
        failures: failure.into_iter().chain(complaint).collect(),
        load: counted,
        clock: record::Clock { source: clock.source().name().to_owned(), cost_ns: clock.cost_ns() },
        exchange: None,
    })
}

fn connect<E: OrderEntry>(plan: &Plan, lane: usize, entry: &mut E) -> io::Result<TcpStream> {
    let mut stream = dial(&plan.target)?;
    let accounts: Vec<usize> = (lane..plan.load.accounts).step_by(plan.load.connections).collect();
    entry.log_on(lane, &mut stream, &accounts)?;
    Ok(stream)
}

/// A fresh connection to `HOST:PORT` that blocks, but not for ever.
pub(crate) fn dial(target: &str) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = target.to_socket_addrs()?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, LOG_ON) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LOG_ON))?;
                stream.set_write_timeout(Some(LOG_ON))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
