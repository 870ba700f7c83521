//! The meaning of what the exchange sends.

use super::CANCEL_AT;
use crate::load::session::{LoadMessage, OrderStanding, Reply};
use crate::session::fix::text_of;
use crate::session::form::CLIENT_ID_BYTES;
use crate::session::web::ClientIds;
use fix::hot::Report;
use fix::session::{Event, Now, Session};
use fix::store::MemoryStore;

const ORD_STATUS: u32 = 39;
const EXEC_TYPE: u32 = 150;

/// The meaning of reports, for all connections.
pub(super) struct Replies {
    pub(super) client_ids: ClientIds,
    /// The first rejection or unexpected message, in words.
    pub(super) complaint: Option<String>,
}

impl Replies {
    /// An order of a load rests until its cancel: anything else is unexpected.
    #[inline]
    pub(super) fn meaning(&mut self, report: &Report<'_>) -> Reply {
        let (id, which) = match (report.header.msg_type, report.exec_type) {
            (b"8", b"0") => (report.id, Some(LoadMessage::Order)),
            (b"8", b"4") if !report.original_id.is_empty() => {
                (report.original_id, Some(LoadMessage::Cancel))
            }
            // Pending new, pending cancel.
            (b"8", b"A" | b"6") => return Reply::Aside,
            (b"8", b"8") => (report.id, None),
            (b"9", _) => (report.original_id, None),
            (b"j", _) => (report.reference, None),
            _ => return self.complain(in_words(report)),
        };
        if which.is_none() {
            let text = String::from_utf8_lossy(report.text);
            self.complaint.get_or_insert_with(|| format!("rejected: {text}"));
        }
        match (self.number(id), which) {
            (Some(number), Some(which)) => Reply::Ack(which, number),
            (Some(number), None) => Reply::Rejected(number),
            (None, _) => {
                self.complain(format!("{}, which is not about an order of ours", in_words(report)))
            }
        }
    }

    /// The number of an order, by its id or its cancel's.
    #[inline]
    fn number(&self, id: &[u8]) -> Option<u64> {
        self.client_ids.number(id).or_else(|| {
            let mut order: [u8; CLIENT_ID_BYTES] = id.try_into().ok()?;
            order[CANCEL_AT] = b'0';
            self.client_ids.number(&order)
        })
    }

    /// A message of the session layer, or one that is not plain.
    #[cold]
    pub(super) fn through_session(
        &mut self,
        session: &mut Session<MemoryStore>,
        message: &[u8],
        now: Now,
        out: &mut Vec<u8>,
    ) -> Result<Reply, String> {
        if let Some(text) = text_of(message, b"3") {
            self.complain(format!("the exchange rejects a message: {text}"));
        }
        session.receive(message);
        let mut reply = Reply::Aside;
        while let Some(event) = session.poll(now, out).map_err(|error| error.to_string())? {
            reply = match event {
                Event::Application(message) => match Report::of(message.bytes()) {
                    Some(report) => self.meaning(&report),
                    None => {
                        let msg_type = String::from_utf8_lossy(message.msg_type());
                        self.complain(format!("a message of type {msg_type}"))
                    }
                },
                Event::Garbled(why) => self.complain(why.to_string()),
                Event::LoggedOn => Reply::Aside,
                Event::End(why) => {
                    return Err(match text_of(message, b"5") {
                        Some(text) => format!("the exchange logged out: {text}"),
                        None => format!("the session of FIX has ended: {why}"),
                    });
                }
            };
        }
        Ok(reply)
    }

    #[cold]
    fn complain(&mut self, what: String) -> Reply {
        self.complaint.get_or_insert(what);
        Reply::Unexpected
    }
}

/// The state of an order, by a report that answers the question (ExecType I).
pub(super) fn standing(message: fix::message::Message<'_>) -> Option<OrderStanding> {
    if message.msg_type() != b"8" || message.text(EXEC_TYPE) != Some("I") {
        return None;
    }
    // An order that the exchange does not know is rejected (8).
    Some(match message.text(ORD_STATUS)? {
        "0" | "1" | "6" | "A" | "E" => OrderStanding::Open,
        "2" => OrderStanding::Filled,
        "8" => OrderStanding::Unknown,
        _ => OrderStanding::Ended,
    })
}

#[cold]
fn in_words(report: &Report<'_>) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "a message of type {}, ExecType {}, about order {}: {}",
        text(report.header.msg_type),
        text(report.exec_type),
        text(report.id),
        text(report.text)
    )
}
