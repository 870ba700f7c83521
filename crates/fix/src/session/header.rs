//! The fields of a header that decide what happens to a message, and of a Logon that its receiver
//! checks before it has a session.

use crate::SOH;
use crate::dictionary::Dictionary;
use crate::frame::{self, NextFrame};
use crate::message::{Message, number, split};
use crate::tag;

/// The fields of a header. Those that are missing are empty or `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header<'a> {
    pub msg_type: &'a [u8],
    pub seq: Option<u64>,
    pub sender: &'a [u8],
    pub target: &'a [u8],
    pub sending_time: Option<&'a [u8]>,
    pub orig_sending_time: Option<&'a [u8]>,
    pub is_poss_dup: bool,
    /// OnBehalfOfCompID or DeliverToCompID.
    pub third_party: Option<u32>,
}

impl<'a> Header<'a> {
    pub fn of(message: Message<'a>) -> Header<'a> {
        let mut header = Header::default();
        for field in message.fields() {
            let value = message.value(*field);
            match field.tag {
                tag::MSG_TYPE => header.msg_type = value,
                tag::MSG_SEQ_NUM => header.seq = number(value).filter(|seq| *seq > 0),
                tag::SENDER_COMP_ID => header.sender = value,
                tag::TARGET_COMP_ID => header.target = value,
                tag::SENDING_TIME => header.sending_time = Some(value),
                tag::ORIG_SENDING_TIME => header.orig_sending_time = Some(value),
                tag::POSS_DUP_FLAG => header.is_poss_dup = value == b"Y",
                tag::ON_BEHALF_OF_COMP_ID | tag::DELIVER_TO_COMP_ID => {
                    header.third_party = Some(field.tag);
                }
                _ => {}
            }
        }
        header
    }
}

/// A Logon as its receiver sees it before there is a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logon {
    /// SenderCompID: the peer.
    pub sender: String,
    /// TargetCompID: we.
    pub target: String,
    /// Username (553).
    pub username: Option<String>,
    /// Password (554).
    pub password: Option<String>,
    /// RawData (96): a signature of [`signed_text`].
    pub signature: Option<Vec<u8>>,
    /// CancelOrdersOnDisconnect (8013): whether to cancel the account's orders when the connection
    /// ends.
    pub cancels_on_disconnect: bool,
    /// The text that is signed.
    pub signed_text: Vec<u8>,
}

/// Reads the Logon at the start of a connection. `None` if its end has not come yet.
///
/// # Errors
/// If the first message is no Logon of this version, or is garbled.
pub fn logon_of(bytes: &[u8], dictionary: &Dictionary) -> Result<Option<Logon>, super::End> {
    let message = match frame::next(bytes) {
        NextFrame::Incomplete => return Ok(None),
        NextFrame::Message { bytes, begin_string }
            if begin_string == dictionary.begin_string().as_bytes() =>
        {
            bytes
        }
        _ => return Err(super::End::NoLogon),
    };
    let mut fields = Vec::new();
    split(message, |tag| dictionary.data_of(tag), &mut fields).map_err(|_| super::End::NoLogon)?;
    let message = Message::new(message, &fields);
    let text = |tag| message.text(tag).map(str::to_owned);
    let (Some(sender), Some(target)) = (text(tag::SENDER_COMP_ID), text(tag::TARGET_COMP_ID))
    else {
        return Err(super::End::NoLogon);
    };
    if message.msg_type() != b"A" {
        return Err(super::End::NoLogon);
    }
    Ok(Some(Logon {
        sender,
        target,
        username: text(tag::USERNAME),
        password: text(tag::PASSWORD),
        signature: message.get(tag::RAW_DATA).map(<[u8]>::to_vec),
        cancels_on_disconnect: message.is_set(tag::CANCEL_ORDERS_ON_DISCONNECT),
        signed_text: signed_text(message),
    }))
}

/// The text that a signed Logon signs: SendingTime, MsgType, MsgSeqNum, SenderCompID and
/// TargetCompID with separators between them, as crypto venues have it. So a signature is good for
/// one Logon of one session, within the accuracy of SendingTime.
pub fn signed_text(logon: Message<'_>) -> Vec<u8> {
    let tags = [
        tag::SENDING_TIME,
        tag::MSG_TYPE,
        tag::MSG_SEQ_NUM,
        tag::SENDER_COMP_ID,
        tag::TARGET_COMP_ID,
    ];
    tags.map(|tag| logon.get(tag).unwrap_or_default()).join(&SOH)
}
