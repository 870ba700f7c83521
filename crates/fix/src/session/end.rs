//! Reasons of a session's end.

/// Why the connection of a session must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// Both sides have logged out.
    #[error("logged out")]
    LoggedOut,
    /// The first message was no valid Logon.
    #[error("the first message is no valid Logon of this session")]
    NoLogon,
    /// The peer broke a rule after which a session can't go on; a Logout says which.
    #[error("the peer broke a rule of the session")]
    Violation,
    /// No Logon came in time.
    #[error("no Logon came in time")]
    LogonTimeOut,
    /// No answer to a Logout came in time.
    #[error("no answer to a Logout came in time")]
    LogoutTimeOut,
    /// No answer to a TestRequest came in time.
    #[error("the peer does not answer a TestRequest")]
    Silent,
}
