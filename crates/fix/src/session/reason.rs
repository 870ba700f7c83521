//! Reasons of session-level rejects and of a session's end.

use std::fmt;

/// SessionRejectReason (373).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectReason {
    /// 0.
    InvalidTag,
    /// 1.
    RequiredTagMissing,
    /// 2.
    NotOfThisMessage,
    /// 4.
    NoValue,
    /// 5.
    ValueIncorrect,
    /// 6.
    IncorrectFormat,
    /// 9.
    CompId,
    /// 10.
    SendingTime,
    /// 11.
    InvalidMsgType,
    /// 13.
    Repeated,
    /// 14.
    OutOfOrder,
    /// 15.
    GroupOutOfOrder,
    /// 16.
    WrongGroupCount,
    /// 17.
    ValueHasSeparator,
    /// 99.
    Other,
}

impl RejectReason {
    /// As on the wire.
    pub fn code(self) -> u64 {
        match self {
            RejectReason::InvalidTag => 0,
            RejectReason::RequiredTagMissing => 1,
            RejectReason::NotOfThisMessage => 2,
            RejectReason::NoValue => 4,
            RejectReason::ValueIncorrect => 5,
            RejectReason::IncorrectFormat => 6,
            RejectReason::CompId => 9,
            RejectReason::SendingTime => 10,
            RejectReason::InvalidMsgType => 11,
            RejectReason::Repeated => 13,
            RejectReason::OutOfOrder => 14,
            RejectReason::GroupOutOfOrder => 15,
            RejectReason::WrongGroupCount => 16,
            RejectReason::ValueHasSeparator => 17,
            RejectReason::Other => 99,
        }
    }

    /// In words, for Text (58).
    pub fn words(self) -> &'static str {
        match self {
            RejectReason::InvalidTag => "Invalid tag number",
            RejectReason::RequiredTagMissing => "Required tag missing",
            RejectReason::NotOfThisMessage => "Tag not defined for this message type",
            RejectReason::NoValue => "Tag specified without a value",
            RejectReason::ValueIncorrect => "Value is incorrect (out of range) for this tag",
            RejectReason::IncorrectFormat => "Incorrect data format for value",
            RejectReason::CompId => "CompID problem",
            RejectReason::SendingTime => "SendingTime accuracy problem",
            RejectReason::InvalidMsgType => "Invalid MsgType",
            RejectReason::Repeated => "Tag appears more than once",
            RejectReason::OutOfOrder => "Tag specified out of required order",
            RejectReason::GroupOutOfOrder => "Repeating group fields out of order",
            RejectReason::WrongGroupCount => "Incorrect NumInGroup count for repeating group",
            RejectReason::ValueHasSeparator => "Non-data value includes field delimiter (SOH)",
            RejectReason::Other => "Too many fields",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

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
