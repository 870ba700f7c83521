//! Rules of both ends: ciphers, patience, and how certificates are read.

use super::error::TlsError;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{PemObject, SectionKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a handshake may take at either end, unless the acceptor is told otherwise.
pub const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);

/// ring, with the ciphers in the order of their speed on processors with AES instructions.
pub(super) fn provider() -> Arc<CryptoProvider> {
    let cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    Arc::new(CryptoProvider { cipher_suites, ..default_provider() })
}

/// The certificates of a PEM text; at least one.
pub(super) fn certificates(
    pem: &[u8],
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let bad = |why: String| TlsError::Certificate { path: path.to_owned(), why };
    let certificates = read.map_err(|error| bad(error.to_string()))?;
    match certificates.is_empty() {
        true => Err(bad(format!("it has no {:?} section", SectionKind::Certificate))),
        false => Ok(certificates),
    }
}
