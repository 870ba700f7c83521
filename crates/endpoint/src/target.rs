//! How a connection to the target is opened: one step after the other, each timed.

use crate::connection::ProbeConnection;
use crate::timed::StepTimer;
use clock::random::SplitMix64;
use plan::process::endpoint::EndpointPlan;
use plan::tables::endpoint::split_header;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use transport::Connection;
use transport::tls::{Connector, TlsError};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request, without_default_port};

/// The header that says who probes, unless the scenario has one.
const USER_AGENT: &str = concat!("tickpath/", env!("CARGO_PKG_VERSION"));

/// How the target is spoken to, whichever of its addresses it is.
pub(crate) struct Target<'a> {
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
    /// From the SYN until the connection was open.
    pub connect_ns: u64,
    /// From the first byte of the handshake until it was done; `None` without TLS.
    pub handshake_ns: Option<u64>,
}

impl<'a> Target<'a> {
    /// # Errors
    /// If a header's file can't be read, or there is nothing by which to check a certificate.
    pub(crate) fn new(plan: &'a EndpointPlan) -> Result<Target<'a>, TargetError> {
        let connector = plan.tls.as_ref().map(|trust| Connector::new(trust, &plan.target));
        let (connector, headers) = (connector.transpose()?, headers(plan)?);
        Ok(Target { headers, plan, connector })
    }

    /// TCP, then TLS where it is asked for.
    pub(crate) fn open(
        &self,
        address: SocketAddr,
        timed: &StepTimer<'_>,
    ) -> Result<FreshConnection, StepError> {
        let start_ns = timed.clock.now_ns();
        let socket = TcpStream::connect_timeout(&address, timed.patience);
        let connect_ns = timed.clock.now_ns() - start_ns;
        let socket = socket.map_err(StepError::at("connect"))?;
        let options = || -> io::Result<()> {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(timed.patience))?;
            socket.set_write_timeout(Some(timed.patience))
        };
        options().map_err(StepError::at("connect"))?;
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
    ) -> Result<(ProbeConnection, u64), StepError> {
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
                let line = ProbeConnection::new(
                    connection,
                    &answer[head_bytes..],
                    probes.payload_bytes,
                    random.bits(),
                );
                return Ok((line, upgrade_ns));
            }
        }
    }
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
