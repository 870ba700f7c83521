//! The client's end: what it trusts, and a blocking handshake before anything is measured.

use super::error::{HandshakeError, Side, TlsError};
use super::handshake::{Handshake, Progress};
use super::key::private_key;
use super::pinned::PinnedVerifier;
use super::policy::{HANDSHAKE_PATIENCE, certificates, provider};
use super::session::Session;
use crate::connection::Connection;
use crate::dialogue::Blocking;
use clock::Deadline;
use plan::trust::Trust;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName};
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// Where systems keep the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Handshakes as a client.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Connector {
    /// A client of `host`, a name or an address, with or without a port.
    ///
    /// # Errors
    /// If there is no authority to trust, or no name to check.
    pub fn new(trust: &Trust, target: &str) -> Result<Connector, TlsError> {
        let host = trust.name.as_deref().unwrap_or_else(|| host_of(target)).to_owned();
        let name = ServerName::try_from(host.clone()).map_err(|_| TlsError::Name { name: host })?;
        let Authorities { roots, given } = authorities(trust)?;
        let by_rustls = WebPkiServerVerifier::builder_with_provider(roots.into(), provider())
            .build()
            .expect("there are authorities, and no revocation lists");
        Ok(Connector { config: config(Arc::new(PinnedVerifier { by_rustls, given })), name })
    }

    /// The same; shows a server that asks for one this certificate, of two PEM files.
    ///
    /// # Errors
    /// If a file can't be read, or the two can't be used together.
    pub fn showing(mut self, certificate: &Path, key: &Path) -> Result<Connector, TlsError> {
        let chain = certificates(&read(certificate)?, certificate)?;
        let private = private_key(&read(key)?, key)?;
        let shown = CertifiedKey::from_der(chain, private, &provider());
        let shown = shown.map_err(|source| TlsError::Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })?;
        let config = Arc::make_mut(&mut self.config);
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(shown));
        Ok(self)
    }

    /// Makes `socket`, which blocks, a secure connection.
    ///
    /// # Errors
    /// A [`HandshakeError`] inside an [`io::Error`], or what the socket said.
    pub fn connect(&self, mut socket: TcpStream) -> io::Result<Connection> {
        let (reads, writes) = (socket.read_timeout()?, socket.write_timeout()?);
        let session = self.shake_hands(&mut socket)?;
        socket.set_read_timeout(reads)?;
        socket.set_write_timeout(writes)?;
        Ok(Connection { socket, session: Some(Box::new(session)) })
    }

    pub(super) fn begin(&self) -> Result<Handshake, HandshakeError> {
        Handshake::client(self.config.clone(), self.name.clone())
    }

    /// A handshake over rustls' own buffers.
    pub(super) fn buffered(&self) -> Result<ClientConnection, HandshakeError> {
        ClientConnection::new(self.config.clone(), self.name.clone())
            .map_err(|error| HandshakeError::of(Side::Client, error))
    }

    pub(super) fn shake_hands(&self, socket: &mut impl Blocking) -> io::Result<Session> {
        let mut handshake = self.begin()?;
        let deadline = Deadline::after(HANDSHAKE_PATIENCE);
        let mut bytes = [0; 4096];
        loop {
            let progress = handshake.advance();
            if !handshake.out().is_empty() {
                socket.set_patience(left(&deadline)?)?;
                let sent = socket.write_all(handshake.out());
                handshake.written(handshake.out().len());
                // Why we gave up says more than that nobody listens.
                if progress.is_ok() {
                    sent.map_err(in_words)?;
                }
            }
            if let Progress::Done = progress? {
                return Ok(handshake.finish()?);
            }
            socket.set_patience(left(&deadline)?)?;
            match socket.read(&mut bytes).map_err(in_words)? {
                0 => return Err(HandshakeError::ended().into()),
                n => handshake.received(&bytes[..n]),
            }
        }
    }
}

fn config(verifier: Arc<dyn ServerCertVerifier>) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has ciphers of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    // For our own records: see `Session`.
    config.enable_secret_extraction = true;
    Arc::new(config)
}

fn left(deadline: &Deadline) -> io::Result<std::time::Duration> {
    match deadline.left() {
        left if left.is_zero() => Err(HandshakeError::timed_out(HANDSHAKE_PATIENCE).into()),
        left => Ok(left),
    }
}

fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            HandshakeError::timed_out(HANDSHAKE_PATIENCE).into()
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            HandshakeError::ended().into()
        }
        _ => error,
    }
}

/// `HOST`, `HOST:PORT` or `[ADDRESS]:PORT` without the port.
fn host_of(target: &str) -> &str {
    if let Some((host, _)) = target.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    match target.rsplit_once(':') {
        Some((host, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.contains(':') =>
        {
            host
        }
        _ => target,
    }
}

struct Authorities {
    roots: RootCertStore,
    /// Certificates that the user has given, whole.
    given: Vec<CertificateDer<'static>>,
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

fn authorities(trust: &Trust) -> Result<Authorities, TlsError> {
    let (mut roots, mut given) = (RootCertStore::empty(), Vec::new());
    if trust.ca.is_none() && trust.ca_pem.is_none() {
        let found = SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
        let looked_in = SYSTEM_AUTHORITIES.join(", ");
        let path = found.ok_or(TlsError::NoAuthorities { looked_in })?;
        // A bundle may have some that rustls does not understand.
        roots.add_parsable_certificates(certificates(&read(path)?, path)?);
        return Ok(Authorities { roots, given });
    }
    let inline = Path::new("the given CA");
    let file = trust.ca.as_deref().map(|path| Ok((path, read(path)?))).transpose()?;
    let text = trust.ca_pem.as_ref().map(|pem| (inline, pem.clone().into_bytes()));
    for (path, pem) in file.into_iter().chain(text) {
        for certificate in certificates(&pem, path)? {
            given.push(certificate.clone());
            let added = roots.add(certificate);
            added.map_err(|error| TlsError::Certificate {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
        }
    }
    Ok(Authorities { roots, given })
}
