//! Why a load, or a trader, has no result.

use crate::load::session::fix::KeysError;
use host::measuring::MeasuringError;
use std::io;
use transport::tls::{HandshakeError, TlsError};

/// Why a recorded day gives no schedule.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Its file can't be used.
    #[error("load.source = {file}: {source}")]
    File {
        /// The file.
        file: String,
        /// The cause.
        source: flow::FlowError,
    },
    /// It ends too early.
    #[error(
        "load.source = {file} has the times of {recorded} orders, changes and cancels, and the run \
         needs one more than its {messages} messages: lower seconds, warm_up_seconds or \
         load.rate_per_second"
    )]
    Short {
        /// The file.
        file: String,
        /// Its inputs.
        recorded: usize,
        /// Messages of the run.
        messages: u64,
    },
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum TraderError {
    /// The plan's load is out of range.
    #[error(transparent)]
    Load(#[from] plan::range::OutOfRange),
    /// The schedule can't be made.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The plan names an unknown backend.
    #[error(transparent)]
    Backend(#[from] plan::backend::UnknownBackend),
    /// The backend can't be opened.
    #[error("cannot open backend {backend}: {source}; the kernel may be too old or forbid it")]
    Open {
        /// Its name.
        backend: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The connection failed, or the other end is not an exchange.
    #[error("connection {lane} to {target}: {source}; is an exchange running there?")]
    Connect {
        /// `HOST:PORT`.
        target: String,
        /// Number of the connection.
        lane: usize,
        /// The cause.
        source: io::Error,
    },
    /// Nothing listens at any of several addresses.
    #[error("cannot connect to any of the addresses: {0}; is an exchange running at one of them?")]
    Nowhere(String),
    /// The other end is there, but no secure connection.
    #[error("connection {lane} to {target}: {source}")]
    Secure {
        /// `HOST:PORT`.
        target: String,
        /// Which connection.
        lane: usize,
        /// The cause, and the remedy.
        source: io::Error,
    },
    /// Orders are not understood, or their acknowledgements.
    #[error("the codec failed its trial: {0}; this is a bug in tickpath")]
    Codec(io::Error),
    /// There is nothing to sign the Logons with.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// There is nothing to check certificates by.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Datagrams can't be received as the plan says.
    #[error(transparent)]
    Datagrams(#[from] transport::datagram::DatagramError),
    /// The feed can't be followed.
    #[error("the feed of {target}: {why}")]
    Feed {
        /// `HOST:PORT`.
        target: String,
        /// The reason, and what to do.
        why: String,
    },
    /// The risk check can't be made, so there is no trading.
    #[error(transparent)]
    Risk(#[from] crate::risk::RiskError),
    /// The audit log can't be opened.
    #[error(transparent)]
    Audit(#[from] audit::AuditError),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// The thread can't be pinned, the log can't be written, or there is a bug.
    #[error(transparent)]
    Measuring(#[from] MeasuringError),
    /// The run was interrupted before anything was measured.
    #[error("interrupted while connecting; nothing was measured")]
    Interrupted,
}

impl TraderError {
    /// Connection `lane` to `target` failed.
    pub(crate) fn connect(target: &str, lane: usize, source: io::Error) -> TraderError {
        let target = target.to_owned();
        match source.get_ref().is_some_and(|error| error.is::<HandshakeError>()) {
            true => TraderError::Secure { target, lane, source },
            false => TraderError::Connect { target, lane, source },
        }
    }
}
