//! Errors before a connection is secure, each with its remedy.

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};
use std::io;
use std::path::PathBuf;

/// Why TLS can't be offered or asked for at all.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("cannot read {path}: {source}; name a PEM file that this user may read")]
    Read {
        /// Its path.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// A file has no certificate that can be used.
    #[error("{path} is no certificate in PEM: {why}")]
    Certificate {
        /// Its path.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// A file has no key that can be used.
    #[error("{path} is no private key in PEM: {why}")]
    Key {
        /// Its path.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// A key that needs a passphrase.
    #[error(
        "{path} is encrypted, and tickpath asks for no passphrase: write it without one by \
         'openssl pkey -in {path} -out PLAIN.key', readable by this user alone"
    )]
    EncryptedKey {
        /// Its path.
        path: PathBuf,
    },
    /// A key that no handshake can sign with.
    #[error(
        "{path} can't be used: {why}; keys may be on the curves P-256 and P-384, Ed25519, or RSA of \
         2048 to 8192 bits: make one by 'openssl genpkey -algorithm EC -pkeyopt \
         ec_paramgen_curve:P-256'"
    )]
    UnsupportedKey {
        /// Its path.
        path: PathBuf,
        /// Its kind.
        why: &'static str,
    },
    /// Certificate and key can't be used together.
    #[error(
        "{certificate} and {key} can't be used: {source}; is the key that of the first certificate?"
    )]
    Pair {
        /// Path of the certificate.
        certificate: PathBuf,
        /// Path of its key.
        key: PathBuf,
        /// The error of rustls.
        source: Error,
    },
    /// No authority to check the exchange's certificate by.
    #[error(
        "there is no authority to check certificates by in {looked_in}: name the file of the exchange's CA"
    )]
    NoAuthorities {
        /// The paths that were tried.
        looked_in: String,
    },
    /// No name to check the certificate for.
    #[error("{name:?} is no host name and no address: certificates are issued for those")]
    Name {
        /// As given.
        name: String,
    },
    /// No pair of our own could be made.
    #[error("cannot make a self-signed certificate: {0}")]
    SelfSigned(String),
}

/// At which end of the connection we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Kinds of failed handshakes, to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The peer speaks something else.
    NotTls,
    /// No version or cipher that both have.
    NothingCommon,
    /// The certificate's time is over, or has not begun.
    Expired,
    /// No trusted authority signed the certificate.
    Untrusted,
    /// The certificate is another host's.
    WrongName,
    /// The other end rejects the certificate.
    Rejected,
    /// It was not done in time.
    TimedOut,
    /// The peer ended the connection.
    Ended,
    /// Anything else that breaks the protocol.
    Broken,
}

impl Reason {
    /// As counts name it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::NotTls => "not_tls",
            Reason::NothingCommon => "nothing_common",
            Reason::Expired => "expired",
            Reason::Untrusted => "untrusted",
            Reason::WrongName => "wrong_name",
            Reason::Rejected => "rejected",
            Reason::TimedOut => "timed_out",
            Reason::Ended => "ended",
            Reason::Broken => "broken",
        }
    }
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("TLS handshake failed: {why}")]
pub struct HandshakeError {
    /// To count it by.
    pub reason: Reason,
    /// The cause, and the remedy.
    pub why: String,
}

impl HandshakeError {
    pub(super) fn new(reason: Reason, why: impl Into<String>) -> HandshakeError {
        HandshakeError { reason, why: why.into() }
    }

    pub(super) fn of(side: Side, error: Error) -> HandshakeError {
        match (side, error) {
            (side, Error::InvalidCertificate(error)) => of_certificate(side, &error),
            (Side::Server, Error::NoCertificatesPresented) => HandshakeError::new(
                Reason::Untrusted,
                "the client shows no certificate: give it one that the authority has signed",
            ),
            (_, Error::AlertReceived(alert)) => of_alert(side, alert),
            (
                Side::Server,
                Error::PeerIncompatible(
                    PeerIncompatible::SupportedVersionsExtensionRequired
                    | PeerIncompatible::Tls13RequiredForQuic
                    | PeerIncompatible::Tls12NotOfferedOrEnabled
                    | PeerIncompatible::Tls12NotOffered,
                ),
            ) => HandshakeError::new(
                Reason::NothingCommon,
                "the client offers no TLS 1.3, and nothing older is accepted: update it or allow 1.3 there",
            ),
            (
                Side::Client,
                Error::PeerIncompatible(
                    PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
                    | PeerIncompatible::ServerDoesNotSupportTls12Or13
                    | PeerIncompatible::Tls13RequiredForQuic,
                ),
            ) => older_server(),
            (_, Error::PeerIncompatible(what)) => HandshakeError::new(
                Reason::NothingCommon,
                format!(
                    "the two ends have nothing in common ({what:?}): allow TLS 1.3 with AES-GCM or ChaCha20 there"
                ),
            ),
            (_, error) => HandshakeError::new(
                Reason::Broken,
                format!(
                    "{error}: is the other end a TLS 1.3 peer, and nothing in between changes bytes?"
                ),
            ),
        }
    }

    /// The peer's bytes are no record.
    pub(super) fn not_tls(side: Side, bytes: &[u8]) -> HandshakeError {
        let text: String = String::from_utf8_lossy(bytes).chars().take(24).collect();
        let what = match side {
            Side::Server => {
                "the client sent plain text to a TLS port: use wss:// there, or tls=true"
            }
            Side::Client => {
                "the server answered in plain text: it has no TLS here; connect to its TLS port, or without TLS"
            }
        };
        HandshakeError::new(Reason::NotTls, format!("{what} (it began with {text:?})"))
    }

    pub(super) fn timed_out(after: std::time::Duration) -> HandshakeError {
        let why = format!(
            "it was not done after {} s: the other end stalls, or doesn't speak TLS",
            after.as_secs_f64()
        );
        HandshakeError::new(Reason::TimedOut, why)
    }

    pub(super) fn ended() -> HandshakeError {
        HandshakeError::new(
            Reason::Ended,
            "the other end closed the connection: it may have no TLS here, or too many connections",
        )
    }
}

impl From<HandshakeError> for io::Error {
    fn from(error: HandshakeError) -> io::Error {
        let kind = match error.reason {
            Reason::TimedOut => io::ErrorKind::TimedOut,
            Reason::Ended => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

fn of_certificate(side: Side, error: &CertificateError) -> HandshakeError {
    use CertificateError as E;
    let (reason, advice) = match error {
        E::Expired | E::ExpiredContext { .. } => (
            Reason::Expired,
            "renew it at the exchange (SIGHUP reloads it), or set this machine's clock",
        ),
        E::NotValidYet | E::NotValidYetContext { .. } => (
            Reason::Expired,
            "set this machine's clock, or the exchange's before it makes certificates",
        ),
        E::UnknownIssuer | E::BadSignature => (
            Reason::Untrusted,
            "it is self-signed, or signed by an authority that is not trusted here: name the CA's file",
        ),
        E::NotValidForName | E::NotValidForNameContext { .. } => (
            Reason::WrongName,
            "connect by a name of its subjectAltName, or say which name to expect; the common name \
                 doesn't count",
        ),
        E::Other(other) if other.0.to_string() == "CaUsedAsEndEntity" => (
            Reason::Untrusted,
            "it is an authority's own (CA:TRUE): name this very certificate as the CA's file, or have \
             the authority sign one for the server",
        ),
        _ => (Reason::Untrusted, "the exchange needs another certificate"),
    };
    let whose = match side {
        Side::Client => "server",
        Side::Server => "client",
    };
    HandshakeError::new(reason, format!("the {whose}'s certificate is rejected: {error}: {advice}"))
}

fn older_server() -> HandshakeError {
    HandshakeError::new(
        Reason::NothingCommon,
        "the server speaks no TLS 1.3, and nothing older is accepted: allow 1.3 there",
    )
}

fn of_alert(side: Side, alert: AlertDescription) -> HandshakeError {
    use AlertDescription as A;
    match (side, alert) {
        (Side::Client, A::ProtocolVersion) => older_server(),
        (
            Side::Server,
            A::BadCertificate
            | A::CertificateExpired
            | A::CertificateRevoked
            | A::CertificateUnknown
            | A::UnsupportedCertificate
            | A::UnknownCA
            // A signature that does not fit: an authority of the same name signed it.
            | A::DecryptError
            | A::AccessDenied,
        ) => HandshakeError::new(
            Reason::Rejected,
            format!(
                "the client rejects our certificate ({alert:?}): it is expired, for another name, or the \
                 client needs the CA's file"
            ),
        ),
        (Side::Client, A::CertificateRequired) => HandshakeError::new(
            Reason::Rejected,
            "the server asks for a certificate: name one that its authority has signed, and the key",
        ),
        (_, alert) => HandshakeError::new(
            Reason::Broken,
            format!("the other end gave up with alert {alert:?}"),
        ),
    }
}
