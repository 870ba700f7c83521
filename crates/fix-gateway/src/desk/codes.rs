//! The values of fields in reports.

use fix::encode::Body;
use wire::OrderId;
use wire::reply::DoneStatus;
use wire::request::Side;

/// Text (58) of a report that a stop's price was reached.
pub(super) const TRIGGERED: &str = "triggered";

/// ExecType (150).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecType {
    New,
    Trade,
    Cancelled,
    Replaced,
    Rejected,
    Expired,
    Restated,
    Status,
}

impl ExecType {
    pub fn code(self) -> char {
        match self {
            ExecType::New => '0',
            ExecType::Trade => 'F',
            ExecType::Cancelled => '4',
            ExecType::Replaced => '5',
            ExecType::Rejected => '8',
            ExecType::Expired => 'C',
            ExecType::Restated => 'D',
            ExecType::Status => 'I',
        }
    }
}

/// OrderID (37).
pub(super) fn put_order_id(body: &mut Body<'_>, order_id: Option<OrderId>) {
    match order_id {
        Some(order_id) => body.bytes(37, &order_id.text()),
        None => body.text(37, "NONE"),
    };
}

pub(super) fn side_code(side: Side) -> char {
    match side {
        Side::Buy => '1',
        Side::Sell => '2',
    }
}

/// OrdStatus (39) of an order that has ended.
pub(super) fn ended_code(status: DoneStatus) -> char {
    match status {
        DoneStatus::Filled => '2',
        DoneStatus::Expired => 'C',
        DoneStatus::Cancelled
        | DoneStatus::SelfTradePrevented
        | DoneStatus::Closed
        | DoneStatus::NoRoom => '4',
    }
}
