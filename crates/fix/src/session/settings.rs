//! Settings of a session.

use super::SECOND;
use std::fmt;

/// The longest HeartBtInt that an acceptor takes, in seconds.
pub const HEARTBEAT_SECONDS_MAX: u64 = 3600;

/// Which side connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is connected to, and answers a Logon.
    Acceptor,
    /// It connects, and sends its Logon first.
    Initiator,
}

/// Signs a text.
pub type Sign = dyn Fn(&[u8]) -> Vec<u8> + Send;

/// An initiator's proof of its identity. An acceptor's caller checks a Logon before the session
/// gets it: see [`logon_of`](super::logon_of).
pub enum Proof {
    /// Not at all.
    None,
    /// Password, and Username if the peer wants it.
    Password {
        /// Username (553).
        username: Option<String>,
        /// Password (554).
        password: String,
    },
    /// Username, and in RawData a signature of [`signed_text`](super::signed_text).
    Signed {
        /// Username (553).
        username: String,
        /// Signs a text.
        sign: Box<Sign>,
    },
}

/// Without secrets.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proof::None => "None",
            Proof::Password { .. } => "Password",
            Proof::Signed { .. } => "Signed",
        })
    }
}

/// Settings of a session.
#[derive(Debug)]
pub struct Settings {
    /// Which side connects.
    pub role: Role,
    /// Our SenderCompID.
    pub sender: String,
    /// Our TargetCompID: the peer.
    pub target: String,
    /// HeartBtInt of an initiator's Logon, in seconds; 0: no heartbeats. An acceptor takes the
    /// peer's, up to [`HEARTBEAT_SECONDS_MAX`].
    pub heartbeat_seconds: u64,
    /// Whether an initiator sends ResetSeqNumFlag, so that both sides begin with 1.
    pub resets_at_logon: bool,
    /// An initiator's proof of identity.
    pub proof: Proof,
    /// Whether an initiator asks the acceptor to cancel its orders when the connection ends
    /// (CancelOrdersOnDisconnect, 8013).
    pub cancels_on_disconnect: bool,
    /// How long a connection may last without a Logon, ns.
    pub logon_ns_max: u64,
    /// How long the answer to a Logout may take, ns. Case 12: 10 seconds are recommended.
    pub logout_ns_max: u64,
    /// How far SendingTime may be from our time, ns. Case 2n: 2 minutes are usual.
    pub sending_time_ns_max: u64,
}

impl Settings {
    /// The usual settings.
    pub fn new(role: Role, sender: &str, target: &str) -> Settings {
        Settings {
            role,
            sender: sender.to_owned(),
            target: target.to_owned(),
            heartbeat_seconds: 30,
            resets_at_logon: false,
            proof: Proof::None,
            cancels_on_disconnect: false,
            logon_ns_max: 10 * SECOND,
            logout_ns_max: 10 * SECOND,
            sending_time_ns_max: 120 * SECOND,
        }
    }
}
