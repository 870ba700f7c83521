//! Matches the exchange's reports with the trader's orders.

use crate::session::codec::{ExecutionReport, OrderEvent};
use crate::strategy::own_orders::OwnOrder;
use crate::tick::audit_trail::AuditTrail;
use crate::tick::stages::Stages;

impl<M, L> Stages<M, L> {
    /// Applies a report of `bytes` bytes that was read at `at_ns`. Returns the order whose pending
    /// request it answers, as it was before.
    pub(crate) fn apply(
        &mut self,
        report: &ExecutionReport,
        at_ns: u64,
        bytes: usize,
        mut trail: Option<&mut AuditTrail>,
    ) -> Option<OwnOrder> {
        let number = report.number;
        let order = self.orders.living(number);
        let is_known = order.is_some();
        let accepted = order.and_then(|order| report.answers(order));
        if let OrderEvent::Filled { price_ticks, quantity_lots, .. } = report.event {
            if let Some(trail) = &mut trail {
                trail.fill(report, self.orders.at(number), at_ns);
            }
            self.orders.filled(number, price_ticks, quantity_lots);
        }
        let answered =
            accepted.and_then(|accepted| Some((accepted, self.orders.answered(number, accepted)?)));
        match answered {
            Some((accepted, order)) => {
                self.counts.heard += 1;
                self.counts.heard_bytes += bytes as u64;
                if order.measured {
                    self.counts.received += 1;
                    self.counts.rejected += u64::from(!accepted);
                }
                if let Some(trail) = &mut trail {
                    trail.ack(report, self.orders.at(number), accepted, at_ns);
                }
            }
            // Events of a resting order are no replies; nor is its BOOKED after an amendment.
            None if is_known && report.event != OrderEvent::Rejected => {}
            None => self.counts.duplicated += 1,
        }
        match report.event {
            OrderEvent::Booked { order_id } => self.orders.booked(number, order_id),
            OrderEvent::Done(_) => self.orders.end(number),
            _ => {}
        }
        answered.map(|(_, order)| order)
    }
}
