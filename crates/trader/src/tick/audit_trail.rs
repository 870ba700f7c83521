//! From the loop to the audit log: ticks, decisions, orders, replies.

use crate::session::codec::{ExecutionReport, OrderEvent};
use crate::strategy::OrderIntent;
use crate::strategy::own_orders::{OwnOrder, OwnOrders};
use crate::tick::followed::MarketDataKind;
use crate::tick::stages::{DecidedTick, Decision};
use audit::{Action, Auditor, Record, TickKind};
use engine::Side;

/// The audit log of one instrument.
pub(crate) struct AuditTrail {
    auditor: Auditor,
    instrument: u16,
}

impl AuditTrail {
    pub(crate) fn new(auditor: Auditor, instrument: u16) -> AuditTrail {
        AuditTrail { auditor, instrument }
    }

    /// Logs the tick, the decisions about it, and the orders that left; `unsent` messages wait for
    /// the kernel to take them.
    #[cold]
    pub(crate) fn tick(
        &mut self,
        passed: &DecidedTick,
        came: [u64; 2],
        written_ns: u64,
        decisions: &[Decision],
        orders: &OwnOrders,
        unsent: usize,
    ) {
        let DecidedTick { tick, normalised_ns, decided_ns, checked_ns, .. } = passed;
        let [kernel_ns, read_ns] = came;
        self.auditor.tell(&Record::Tick {
            number: tick.number,
            kind: match tick.kind {
                MarketDataKind::Live | MarketDataKind::NotNow => TickKind::Live,
                MarketDataKind::Replay => TickKind::Replay,
                MarketDataKind::Snapshot => TickKind::Snapshot,
                MarketDataKind::Heartbeat => TickKind::Heartbeat,
            },
            messages: tick.messages,
            intended_ns: tick.intended_ns,
            acknowledged_ns: tick.acknowledged_ns,
            published_ns: tick.published_ns,
            kernel_ns,
            read_ns,
            normalised_ns: *normalised_ns,
        });
        let instrument = self.instrument;
        let mut left = passed.encoded.saturating_sub(unsent);
        for decision in decisions {
            let (side, action, price_ticks, quantity_lots) = about(decision, orders);
            self.auditor.tell(&Record::Decision {
                tick: tick.number,
                instrument,
                side,
                decided_ns: *decided_ns,
                checked_ns: *checked_ns,
                price_ticks,
                quantity_lots,
                refused: decision.rejection.map(|rejection| rejection as u16),
            });
            if decision.rejection.is_none() {
                let sent_ns = if left > 0 { written_ns } else { 0 };
                left = left.saturating_sub(1);
                self.auditor.tell(&Record::Order {
                    order: decision.number,
                    tick: tick.number,
                    action,
                    instrument,
                    side,
                    sent_ns,
                    price_ticks,
                    quantity_lots,
                });
            }
        }
    }

    /// Logs the cancel of an order outside of any tick.
    pub(crate) fn cancel(&mut self, own: &OwnOrder, sent_ns: u64) {
        self.auditor.tell(&Record::Order {
            order: own.number,
            tick: 0,
            action: Action::Cancel,
            instrument: self.instrument,
            side: side(own.side),
            sent_ns,
            price_ticks: own.price_ticks,
            quantity_lots: own.open_lots,
        });
    }

    pub(crate) fn ack(
        &mut self,
        report: &ExecutionReport,
        own: &OwnOrder,
        accepted: bool,
        replied_ns: u64,
    ) {
        let order_id = match report.event {
            OrderEvent::Booked { order_id } => order_id,
            _ => own.order_id,
        };
        let (order, stamps) = (report.number, report.stamps.unwrap_or_default());
        self.auditor.tell(&Record::Ack { order, order_id, accepted, replied_ns, stamps });
    }

    pub(crate) fn fill(&mut self, report: &ExecutionReport, own: &OwnOrder, read_ns: u64) {
        let OrderEvent::Filled { price_ticks, quantity_lots, trade_id } = report.event else {
            return;
        };
        self.auditor.tell(&Record::Fill {
            order: report.number,
            order_id: own.order_id,
            instrument: self.instrument,
            side: side(own.side),
            read_ns,
            price_ticks,
            quantity_lots,
            trade_id,
        });
    }
}

/// Side, action, price and quantity of a decision.
fn about(decision: &Decision, orders: &OwnOrders) -> (audit::Side, Action, i64, u64) {
    let own = |number| {
        let order = orders.at(number);
        (side(order.side), order.price_ticks, order.open_lots)
    };
    match decision.intent {
        OrderIntent::New { side: of, price_ticks, quantity_lots, .. } => {
            (side(of), Action::New, price_ticks, quantity_lots)
        }
        OrderIntent::Amend { number, price_ticks, quantity_lots } => {
            (own(number).0, Action::Amend, price_ticks, quantity_lots)
        }
        OrderIntent::Cancel { number } => {
            let (side, price_ticks, quantity_lots) = own(number);
            (side, Action::Cancel, price_ticks, quantity_lots)
        }
    }
}

fn side(side: Side) -> audit::Side {
    match side {
        Side::Buy => audit::Side::Buy,
        Side::Sell => audit::Side::Sell,
    }
}
