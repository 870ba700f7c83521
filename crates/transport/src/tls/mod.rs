//! TLS 1.3 as a layer around any [`Streams`](crate::Streams). The code above it reads and writes
//! plain text and doesn't know of it.
//!
//! ```text
//!   serve, desk ── plain text ── tls::around ── records ── spin, block, one gateway's sockets
//! ```
//!
//! - **Handshakes** are rustls'. A server makes them step by step inside
//!   [`read`](crate::Streams::read): at most one step between two waits, and after everything else
//!   that is ready. A client makes its own while it connects ([`Connector::connect`]), before
//!   anything is measured.
//! - **Records** are sealed and opened in place by [`Session`]; after the handshake nothing
//!   allocates.
//! - **Stamps** stay next to the system call: a write is stamped after its bytes were encrypted, a
//!   read before they are decrypted.
//!
//! TLS 1.3 only: a peer that offers less is rejected.
//!
//! See docs/decisions/015-tls.md.

mod accept;
mod connect;
mod error;
mod handshake;
#[cfg(any(test, fuzzing))]
pub mod properties;
mod record;
mod session;
mod stepping;
mod streams;

pub use accept::{Acceptor, FailedHandshake, Pair};
pub use connect::Connector;
pub use error::{HandshakeError, Reason, TlsError};
pub use record::{RECORD_OVERHEAD_BYTES, RecordError};
pub use session::Session;
pub use streams::around;

pub(crate) use error::Side;
pub(crate) use streams::TlsStreams;

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
fn provider() -> Arc<CryptoProvider> {
    let cipher_suites = vec![
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
        cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    Arc::new(CryptoProvider { cipher_suites, ..default_provider() })
}

/// Whether a connection begins with a TLS handshake.
pub fn looks_like_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [record::HANDSHAKE, 3, ..])
}

/// The certificates of a PEM text; at least one.
fn certificates(pem: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let bad = |why: String| TlsError::Certificate { path: path.to_owned(), why };
    let certificates = read.map_err(|error| bad(error.to_string()))?;
    match certificates.is_empty() {
        true => Err(bad(format!("it has no {:?} section", SectionKind::Certificate))),
        false => Ok(certificates),
    }
}

#[cfg(test)]
mod tests;
