//! The server's end: its certificate, and what it counts of handshakes.

use super::error::{HandshakeError, Reason, Side, TlsError};
use super::handshake::Handshake;
use super::key::private_key;
use super::policy::{HANDSHAKE_PATIENCE, certificates, provider};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use rustls_pki_types::CertificateDer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A handshake that failed, for the operator.
#[derive(Clone, Debug)]
pub struct FailedHandshake {
    /// Where the client is, if that is known.
    pub peer: Option<SocketAddr>,
    /// Why, and what to do.
    pub error: HandshakeError,
    /// How many have failed so far.
    pub count: u64,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct CertificatePair {
    /// The certificate, then those of the authorities up to the root.
    pub certificate: Vec<u8>,
    /// The key of the first certificate.
    pub key: Vec<u8>,
}

impl CertificatePair {
    /// A fresh pair that nobody has signed but itself, for these host names and addresses.
    ///
    /// # Errors
    /// If a name is none.
    pub fn self_signed(names: &[String]) -> Result<CertificatePair, TlsError> {
        let failed = |error: rcgen::Error| TlsError::SelfSigned(error.to_string());
        let made = rcgen::generate_simple_self_signed(names).map_err(failed)?;
        let key = made.signing_key.serialize_pem().into_bytes();
        Ok(CertificatePair { certificate: made.cert.pem().into_bytes(), key })
    }
}

/// Handshakes as a server, with one certificate.
pub struct Acceptor {
    /// Where the pair was read; `None` for one that was given.
    files: Option<(PathBuf, PathBuf)>,
    /// Checks the certificates of clients; `None`: they need none.
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// For the next handshakes. Locked once for each of them, and by a reload.
    current: Mutex<Arc<ServerConfig>>,
    patience: Duration,
    counts: Mutex<Counts>,
    failures: Option<SyncSender<FailedHandshake>>,
}

#[derive(Default)]
struct Counts {
    done: u64,
    failed: BTreeMap<&'static str, u64>,
}

impl Acceptor {
    /// Reads the pair of two PEM files.
    ///
    /// # Errors
    /// If a file can't be read, or the two can't be used together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Acceptor, TlsError> {
        let current = read(certificate, key, None)?;
        Ok(Acceptor::with(current, Some((certificate.to_owned(), key.to_owned())), None))
    }

    /// The same. A client must have a certificate of these authorities, a PEM file.
    ///
    /// # Errors
    /// As [`Acceptor::read`], or if the file has no authorities.
    pub fn read_mutual(
        certificate: &Path,
        key: &Path,
        authorities: &Path,
    ) -> Result<Acceptor, TlsError> {
        let clients = clients_of(authorities)?;
        let current = read(certificate, key, Some(&clients))?;
        let files = Some((certificate.to_owned(), key.to_owned()));
        Ok(Acceptor::with(current, files, Some(clients)))
    }

    /// Uses a pair that is in memory.
    ///
    /// # Errors
    /// If certificate and key can't be used together.
    pub fn of(pair: &CertificatePair) -> Result<Acceptor, TlsError> {
        let here = Path::new("the pair in memory");
        Ok(Acceptor::with(current(pair, (here, here), None)?, None, None))
    }

    fn with(
        current: Arc<ServerConfig>,
        files: Option<(PathBuf, PathBuf)>,
        clients: Option<Arc<dyn ClientCertVerifier>>,
    ) -> Acceptor {
        Acceptor {
            files,
            clients,
            current: Mutex::new(current),
            patience: HANDSHAKE_PATIENCE,
            counts: Mutex::default(),
            failures: None,
        }
    }

    /// Limits the time of a handshake to `patience`.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Acceptor {
        self.patience = patience;
        self
    }

    /// Failed handshakes go there too; those for which there is no room are only counted.
    #[must_use]
    pub fn failures(mut self, failures: SyncSender<FailedHandshake>) -> Acceptor {
        self.failures = Some(failures);
        self
    }

    /// Reads the files again; connections that are open keep what they have. Without files there is
    /// nothing to do.
    ///
    /// # Errors
    /// As [`Acceptor::read`]; then the pair of before stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let Some((certificate, key)) = &self.files else { return Ok(()) };
        let current = read(certificate, key, self.clients.as_ref())?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// Handshakes that are done, and failed ones by [`Reason`].
    pub fn counts(&self) -> (u64, BTreeMap<&'static str, u64>) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        (counts.done, counts.failed.clone())
    }

    pub(super) fn begin(&self) -> Result<Handshake, HandshakeError> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Handshake::server(current)
    }

    /// A handshake over rustls' own buffers.
    pub(super) fn buffered(&self) -> Result<ServerConnection, HandshakeError> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ServerConnection::new(current).map_err(|error| HandshakeError::of(Side::Server, error))
    }

    pub(super) fn patience_ns(&self) -> u64 {
        self.patience.as_nanos() as u64
    }

    pub(super) fn timed_out(&self) -> HandshakeError {
        HandshakeError::timed_out(self.patience)
    }

    pub(super) fn done(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).done += 1;
    }

    pub(super) fn failed(&self, peer: Option<SocketAddr>, error: &HandshakeError) {
        let count = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.failed.entry(error.reason.name()).or_default() += 1;
            counts.failed.values().sum()
        };
        if let Some(failures) = &self.failures {
            let _ = failures.try_send(FailedHandshake { peer, error: error.clone(), count });
        }
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

/// Takes clients with a certificate of the authorities in a PEM file.
fn clients_of(authorities: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let bad = |why: String| TlsError::Certificate { path: authorities.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&bytes(authorities)?, authorities)? {
        roots.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider());
    verifier.build().map_err(|error| bad(error.to_string()))
}

fn read(
    certificate: &Path,
    key: &Path,
    clients: Option<&Arc<dyn ClientCertVerifier>>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let pair = CertificatePair { certificate: bytes(certificate)?, key: bytes(key)? };
    current(&pair, (certificate, key), clients)
}

fn current(
    pair: &CertificatePair,
    (certificate, key): (&Path, &Path),
    clients: Option<&Arc<dyn ClientCertVerifier>>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let chain: Vec<CertificateDer<'static>> = certificates(&pair.certificate, certificate)?;
    let private = private_key(&pair.key, key)?;
    let failed = |source| TlsError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    };
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(Arc::clone(clients)),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(failed)?;
    // A session lasts a day; nobody resumes one.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ignore_client_order = true;
    // For our own records: see `Session`.
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// The answer to a plain HTTP client before its connection is closed.
pub(super) fn answer_in_plain_text(error: &HandshakeError) -> Vec<u8> {
    if error.reason != Reason::NotTls {
        return Vec::new();
    }
    let body = "This port speaks TLS: use wss://\n";
    let length = body.len();
    format!("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}
