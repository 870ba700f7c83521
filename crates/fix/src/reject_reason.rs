//! Reasons of session-level rejects.

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
