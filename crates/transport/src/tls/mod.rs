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
mod duplex;
mod error;
mod handshake;
mod hello;
mod key;
mod pinned;
mod policy;
#[cfg(any(test, fuzzing))]
pub mod properties;
mod record;
pub(crate) mod session;
mod stepping;
mod streams;

pub use accept::{Acceptor, CertificatePair, FailedHandshake};
pub use connect::Connector;
pub use duplex::Duplex;
pub use error::{HandshakeError, Reason, TlsError};
pub use policy::HANDSHAKE_PATIENCE;
pub use record::{RECORD_OVERHEAD_BYTES, RecordError};
pub use session::Session;
pub use streams::{around, dialling};

pub(crate) use streams::TlsStreams;

/// Whether a connection begins with a TLS handshake.
pub fn looks_like_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [record::HANDSHAKE, 3, ..])
}

#[cfg(test)]
mod tests;
