//! Set-up that every process of a run makes itself: limits, cores, its listener, lines for its
//! parent.

use anyhow::{Context, anyhow, bail};
use clock::Clock;
use record::progress::{ProgressLine, Second};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, Signal};
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;

/// Descriptors beside those of connections: standard streams, epoll, files.
const DESCRIPTORS_SPARE: u64 = 128;

/// Raises the limit of descriptors to what the connections need. Warns if the hard limit is lower.
pub(crate) fn raise_descriptors(connections: u64) {
    let wanted = connections + DESCRIPTORS_SPARE;
    let now = rustix::process::getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let reached = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = Rlimit { current: Some(reached), maximum: now.maximum };
    if rustix::process::setrlimit(Resource::Nofile, raised).is_err() || reached < wanted {
        eprintln!(
            "warning: this process may have {reached} descriptors, and {connections} connections \
             need {wanted}; raise the limit (ulimit -Hn) or use fewer"
        );
    }
}

/// Ends this process with its parent, even if the parent is killed.
pub(crate) fn die_with(parent: Option<i32>) -> anyhow::Result<()> {
    let Some(parent) = parent else { return Ok(()) };
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have died before the line above.
    if rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) != Some(parent) {
        bail!("the parent process {parent} has ended");
    }
    Ok(())
}

/// Moves this thread, which writes the log and reports progress, off the core of the measuring
/// thread, if there is another core and the kernel allows it.
pub(crate) fn keep_off(core: Option<usize>) {
    let mut cores = host::thread::allowed().unwrap_or_default();
    cores.retain(|one| Some(*one) != core);
    if !cores.is_empty() {
        let _ = host::thread::run_on(&cores);
    }
}

/// The clock that was given, so that its stamps and another process's are on one timeline, or one
/// of its own.
pub(crate) fn clock_of(given: Option<&str>) -> anyhow::Result<Clock> {
    let Some(text) = given else { return Ok(Clock::calibrate()) };
    let clock: Clock = serde_json::from_str(text).with_context(|| {
        format!("--clock {text} is no clock; take it from a process's first line")
    })?;
    if !clock.is_readable() {
        bail!("--clock {text} reads a counter that is not here; it is from another machine");
    }
    Ok(clock)
}

/// One line on stdout for the parent. It is dropped if the parent reads too slowly:
/// blocking would delay the log.
pub(crate) fn tell(second: &Second) {
    let mut stdout = std::io::stdout().lock();
    let mut writable = [PollFd::new(&stdout, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let takes_it = poll(&mut writable, Some(&now)).is_ok_and(|ready| ready > 0);
    if takes_it && let Ok(line) = serde_json::to_string(&ProgressLine { progress: second.clone() })
    {
        // Nobody may be listening any more.
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

/// Connections that may wait to be accepted, as far as `net.core.somaxconn` allows. The standard
/// library asks for 128: in a burst the kernel then drops the rest, and those try again a second
/// later, which is as long as a gateway waits for the exchange.
const BACKLOG: i32 = 4096;

/// Listens on `address`, which is `HOST:PORT`.
pub(crate) fn bind(address: &str) -> anyhow::Result<TcpListener> {
    listen(reserve(address)?)
}

/// Listens on a reserved address.
pub(crate) fn listen(reserved: OwnedFd) -> anyhow::Result<TcpListener> {
    rustix::net::listen(&reserved, BACKLOG)?;
    Ok(reserved.into())
}

/// Takes `HOST:PORT` without listening, so that a connection there fails at once.
pub(crate) fn reserve(address: &str) -> anyhow::Result<OwnedFd> {
    let mut reserved = Err(std::io::Error::from(ErrorKind::InvalidInput));
    match address.to_socket_addrs() {
        Ok(all) => {
            for one in all {
                reserved = reserve_one(one);
                if reserved.is_ok() {
                    break;
                }
            }
        }
        Err(error) => reserved = Err(error),
    }
    reserved.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                "another process listens there: end it, or use port 0 and let the system choose"
            }
            ErrorKind::PermissionDenied => {
                "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one"
            }
            ErrorKind::AddrNotAvailable => {
                "this machine has no such address: `ip address` lists them"
            }
            _ => "write HOST:PORT with a port from 0 to 65535",
        };
        anyhow!("cannot listen on {address}: {error}; {advice}")
    })
}

fn reserve_one(address: SocketAddr) -> std::io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, kind, flags, None)?;
    // As the standard library does: an earlier listener's connections may linger.
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// The first line of a process that listens, besides its address.
#[derive(Serialize)]
pub(crate) struct FirstLine<'a> {
    /// The clock of its stamps.
    pub clock: Clock,
    /// The certificate that it made, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<&'a str>,
    /// Where it takes FIX.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<SocketAddr>,
    /// Where it takes SBE over UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sbe_udp: Option<SocketAddr>,
    /// The stack below it, unless that is the kernel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

impl FirstLine<'_> {
    /// With nothing but the clock.
    pub(crate) fn of(clock: Clock) -> Self {
        FirstLine { clock, certificate: None, fix: None, sbe_udp: None, stack: None }
    }
}

/// Prints it.
pub(crate) fn say_ready(address: SocketAddr, line: &FirstLine<'_>) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Ready<'a> {
        listening: SocketAddr,
        #[serde(flatten)]
        line: &'a FirstLine<'a>,
    }
    say(&serde_json::to_string(&Ready { listening: address, line })?);
    Ok(())
}

/// One line on stdout. Nobody may be listening there any more.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::time::Duration;

    /// Two thousand clients that came at once through a gateway took 12 s, and some were closed.
    #[test]
    fn a_burst_of_connections_is_not_dropped() {
        const BURST: usize = 300;
        let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        if somaxconn.trim().parse::<usize>().unwrap() < BURST {
            testing::skip!(Kernel, "net.core.somaxconn is {somaxconn}");
        }
        let listener = bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
        let clients: Vec<TcpStream> = (0..BURST).map(connect).collect();
        assert_eq!(clients.len(), BURST);
    }
}
