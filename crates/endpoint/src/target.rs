//! How a connection to the target is opened: one step after the other, each timed.

use crate::line::Line;
use crate::timed::StepTimer;
use clock::random::SplitMix64;
use plan::process::endpoint::EndpointPlan;
use plan::tables::endpoint::split_header;
use std::cell::Cell;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use transport::Connection;
use transport::tls::{Connector, TlsError};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request, without_default_port};

/// The header that says who probes, unless the scenario has one.
const USER_AGENT: &str = concat!("tickpath/", env!("CARGO_PKG_VERSION"));

/// Where the probes go.
pub(crate) struct Target<'a> {
    /// In the resolver's order.
    addresses: Vec<SocketAddr>,
    /// Index of the one that accepted the last connection.
    first: Cell<usize>,
    /// Headers of the upgrade beyond those that every upgrade has.
    headers: Vec<(String, String)>,
    plan: &'a EndpointPlan,
    connector: Option<Connector>,
}

/// A step that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub(crate) struct StepError {
    step: &'static str,
    source: io::Error,
}

impl StepError {
    pub(crate) fn at(step: &'static str) -> impl Fn(io::Error) -> StepError {
        move |source| StepError { step, source }
    }
}

/// A fresh connection, and how long each step to it took, ns.
pub(crate) struct FreshConnection {
    pub connection: Connection,
    /// From the SYN until the connection stood.
    pub connect_ns: u64,
    /// From the first byte of the handshake until it was done; `None` without TLS.
    pub handshake_ns: Option<u64>,
}

impl<'a> Target<'a> {
    /// Resolves the name.
    ///
    /// # Errors
    /// If it has no address, a header's file can't be read, or there is nothing by which to check a
    /// certificate.
    pub(crate) fn find(plan: &'a EndpointPlan) -> Result<Target<'a>, TargetError> {
        let unknown = |why: String| TargetError::Unknown { target: plan.target.clone(), why };
        let found = plan.target.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let addresses: Vec<SocketAddr> = found.collect();
        if addresses.is_empty() {
            return Err(unknown("it has no address".to_owned()));
        }
        let connector = plan.tls.as_ref().map(|trust| Connector::new(trust, &plan.target));
        let (connector, headers) = (connector.transpose()?, headers(plan)?);
        Ok(Target { addresses, first: Cell::new(0), headers, plan, connector })
    }

    /// TCP, then TLS where it is asked for.
    pub(crate) fn open(&self, timed: &StepTimer<'_>) -> Result<FreshConnection, StepError> {
        let (socket, start_ns, connected_ns) =
            connect(&self.addresses, &self.first, timed).map_err(StepError::at("connect"))?;
        let options = || -> io::Result<()> {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(timed.patience))?;
            socket.set_write_timeout(Some(timed.patience))
        };
        options().map_err(StepError::at("connect"))?;
        let connect_ns = connected_ns - start_ns;
        let Some(connector) = &self.connector else {
            return Ok(FreshConnection {
                connection: socket.into(),
                connect_ns,
                handshake_ns: None,
            });
        };
        let start_ns = timed.clock.now_ns();
        let connection = connector.connect(socket).map_err(StepError::at("handshake"))?;
        let handshake_ns = Some(timed.clock.now_ns() - start_ns);
        Ok(FreshConnection { connection, connect_ns, handshake_ns })
    }

    /// Makes a WebSocket of it; also how long the server took to begin its answer, ns.
    pub(crate) fn upgrade(
        &self,
        mut connection: Connection,
        timed: &StepTimer<'_>,
        random: &mut SplitMix64,
    ) -> Result<(Line, u64), StepError> {
        let failed = StepError::at("upgrade");
        connection.set_nonblocking(timed.spins).map_err(&failed)?;
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&random.bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&random.bits().to_ne_bytes());
        let key = UpgradeKey::from_nonce(nonce);
        let mut request = Vec::new();
        let (host, probes) =
            (without_default_port(&self.plan.target, self.connector.is_some()), &self.plan.probes);
        upgrade_request(&mut request, host, &probes.path, &key, &self.headers);
        let start_ns = timed.clock.now_ns();
        connection.write_all(&request).map_err(&failed)?;
        let mut answer = Vec::new();
        let mut answered_ns = None;
        let mut piece = [0; 4096];
        loop {
            let (n, read_ns) = timed.read(&mut connection, &mut piece).map_err(&failed)?;
            let upgrade_ns = *answered_ns.get_or_insert(read_ns) - start_ns;
            answer.extend_from_slice(&piece[..n]);
            let head = check_upgrade_response(&answer, &key, &probes.subprotocols);
            if let Some(head_bytes) = head.map_err(|why| failed(io::Error::other(why)))? {
                let line = Line::new(connection, &answer[head_bytes..], random.bits());
                return Ok((line, upgrade_ns));
            }
        }
    }
}

/// A connection to the first address that accepts one, beginning with the `first`, which is then
/// that one; when its SYN left, and when it stood.
fn connect(
    addresses: &[SocketAddr],
    first: &Cell<usize>,
    timed: &StepTimer<'_>,
) -> io::Result<(TcpStream, u64, u64)> {
    let mut failed = Vec::new();
    for offset in 0..addresses.len() {
        let index = (first.get() + offset) % addresses.len();
        let start_ns = timed.clock.now_ns();
        let socket = TcpStream::connect_timeout(&addresses[index], timed.patience);
        let connected_ns = timed.clock.now_ns();
        match socket {
            Ok(socket) => {
                first.set(index);
                return Ok((socket, start_ns, connected_ns));
            }
            Err(error) if addresses.len() == 1 => return Err(error),
            Err(error) => failed.push(format!("{}: {error}", addresses[index])),
        }
    }
    Err(io::Error::other(failed.join("; ")))
}

/// The headers of the scenario, secrets read from their files, and what it does not say.
fn headers(plan: &EndpointPlan) -> Result<Vec<(String, String)>, TargetError> {
    let mut headers = Vec::new();
    for (name, value) in plan.probes.headers.iter().filter_map(|header| split_header(header)) {
        let value = match value.strip_prefix('@') {
            None => value.to_owned(),
            Some(path) => {
                let unreadable = |why: String| TargetError::Header {
                    name: name.to_owned(),
                    path: path.to_owned(),
                    why,
                };
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| unreadable(error.to_string()))?;
                match text.trim() {
                    "" => return Err(unreadable("it is empty".to_owned())),
                    text if text.chars().any(char::is_control) => {
                        return Err(unreadable("it has more than one line".to_owned()));
                    }
                    text => text.to_owned(),
                }
            }
        };
        headers.push((name.to_owned(), value));
    }
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
        headers.push(("User-Agent".to_owned(), USER_AGENT.to_owned()));
    }
    if !plan.probes.subprotocols.is_empty() {
        headers.push(("Sec-WebSocket-Protocol".to_owned(), plan.probes.subprotocols.join(", ")));
    }
    Ok(headers)
}

/// Why there is nothing to probe.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The name can't be resolved.
    #[error("{target}: {why}; write HOST:PORT")]
    Unknown {
        /// As given.
        target: String,
        /// The resolver's error.
        why: String,
    },
    /// The file of a header has no value.
    #[error("endpoint.headers: {name}: {path}: {why}; write the value alone to that file")]
    Header {
        /// The header's name.
        name: String,
        /// The file.
        path: String,
        /// The fault. Never the text.
        why: String,
    },
    /// Nothing to check a certificate by.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Clock;
    use std::net::TcpListener;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// A name may have an address where nobody listens, as an IPv6 one of a server that has only
    /// IPv4.
    #[test]
    fn an_address_that_rejects_does_not_end_the_run() {
        let (stop, patience) = (AtomicBool::new(false), Duration::from_secs(20));
        let timed = StepTimer { clock: Clock::calibrate(), stop: &stop, spins: false, patience };
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = listeners.each_ref().map(|one| one.local_addr().unwrap());
        let [nobody, here, also] = listeners;
        drop(nobody);
        let first = Cell::new(0);
        let open = || connect(&addresses, &first, &timed);
        let (socket, start_ns, connected_ns) = open().unwrap();
        assert_eq!(socket.peer_addr().unwrap(), addresses[1]);
        assert!(start_ns <= connected_ns);
        // The next probe begins there, and goes on behind it when that one is gone.
        drop((socket, here));
        assert_eq!(first.get(), 1);
        assert_eq!(open().unwrap().0.peer_addr().unwrap(), addresses[2]);
        drop(also);
        let error = open().unwrap_err().to_string();
        assert!(addresses.iter().all(|one| error.contains(&one.to_string())), "{error}");
    }
}
