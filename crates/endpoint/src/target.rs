//! How a connection to the target is opened: one step after the other, each timed.

use crate::line::Line;
use crate::timed::Timed;
use clock::random::SplitMix64;
use plan::process::endpoint::EndpointPlan;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use transport::Connection;
use transport::tls::{Connector, TlsError};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};

/// Where the probes go.
pub(crate) struct Target<'a> {
    address: SocketAddr,
    plan: &'a EndpointPlan,
    connector: Option<Connector>,
}

/// A step that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub(crate) struct Failed {
    step: &'static str,
    source: io::Error,
}

impl Failed {
    pub(crate) fn at(step: &'static str) -> impl Fn(io::Error) -> Failed {
        move |source| Failed { step, source }
    }
}

/// A fresh connection, and how long each step to it took, ns.
pub(crate) struct Opened {
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
    /// If it has no address, or there is nothing by which to check a certificate.
    pub(crate) fn find(plan: &'a EndpointPlan) -> Result<Target<'a>, TargetError> {
        let unknown = |why: String| TargetError::Unknown { target: plan.target.clone(), why };
        let mut addresses =
            plan.target.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let address = addresses.next().ok_or_else(|| unknown("it has no address".to_owned()))?;
        let connector = plan.tls.as_ref().map(|trust| Connector::new(trust, &plan.target));
        Ok(Target { address, plan, connector: connector.transpose()? })
    }

    /// TCP, then TLS where it is asked for.
    pub(crate) fn open(&self, timed: &Timed<'_>) -> Result<Opened, Failed> {
        let start_ns = timed.clock.now_ns();
        let socket = TcpStream::connect_timeout(&self.address, timed.patience);
        let connected_ns = timed.clock.now_ns();
        let socket = socket.map_err(Failed::at("connect"))?;
        let options = || -> io::Result<()> {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(timed.patience))?;
            socket.set_write_timeout(Some(timed.patience))
        };
        options().map_err(Failed::at("connect"))?;
        let connect_ns = connected_ns - start_ns;
        let Some(connector) = &self.connector else {
            return Ok(Opened { connection: socket.into(), connect_ns, handshake_ns: None });
        };
        let start_ns = timed.clock.now_ns();
        let connection = connector.connect(socket).map_err(Failed::at("handshake"))?;
        let handshake_ns = Some(timed.clock.now_ns() - start_ns);
        Ok(Opened { connection, connect_ns, handshake_ns })
    }

    /// Makes a WebSocket of it; also how long the server took to begin its answer, ns.
    pub(crate) fn upgrade(
        &self,
        mut connection: Connection,
        timed: &Timed<'_>,
        random: &mut SplitMix64,
    ) -> Result<(Line, u64), Failed> {
        let failed = Failed::at("upgrade");
        connection.set_nonblocking(timed.spins).map_err(&failed)?;
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&random.bits().to_ne_bytes());
        nonce[8..].copy_from_slice(&random.bits().to_ne_bytes());
        let key = UpgradeKey::from_nonce(nonce);
        let mut request = Vec::new();
        upgrade_request(&mut request, &self.plan.target, &self.plan.probes.path, &key);
        let start_ns = timed.clock.now_ns();
        connection.write_all(&request).map_err(&failed)?;
        let mut answer = Vec::new();
        let mut answered_ns = None;
        let mut piece = [0; 4096];
        loop {
            let (n, read_ns) = timed.read(&mut connection, &mut piece).map_err(&failed)?;
            let upgrade_ns = *answered_ns.get_or_insert(read_ns) - start_ns;
            answer.extend_from_slice(&piece[..n]);
            let head = check_upgrade_response(&answer, &key);
            if let Some(head_bytes) = head.map_err(|why| failed(io::Error::other(why)))? {
                let line = Line::new(connection, &answer[head_bytes..], random.bits());
                return Ok((line, upgrade_ns));
            }
        }
    }
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
    /// Nothing to check a certificate by.
    #[error(transparent)]
    Tls(#[from] TlsError),
}
