//! What the exchange answers, and what is told of all of it to the audit log.

use crate::line::{Answer, Heard, Line, News, Reply};
use crate::mind::{Kind, Mind};
use crate::signal::Wish;
use crate::stages::{Passed, Stages, Verdict};
use crate::tick_loop::TickLoop;
use audit::{Action, Record, TickKind};
use engine::Side;
use measure::tick::Point;
use transport::Read;

impl<M: Mind, L: Line> TickLoop<M, L> {
    /// Reads the stream once.
    pub(crate) fn read(&mut self) {
        let (parts, line) = (&mut self.parts, &mut self.stages.line);
        match parts.streams.read(parts.stream, line.space()) {
            Read::Empty => return,
            Read::Closed => {
                let why = "the exchange's connection ended in mid-run: the other end closed it";
                return self.fail(why.to_owned());
            }
            Read::Failed(error) => {
                let why = format!("the exchange's connection ended in mid-run: {error}");
                return self.fail(why);
            }
            Read::Bytes { n, stamp_ns } => line.filled(n, stamp_ns),
        }
        let unsent_bytes = self.stages.outbox.bytes.len();
        loop {
            let Stages { line, outbox, .. } = &mut self.stages;
            match line.next(&mut outbox.bytes) {
                Ok(Some(reply)) => self.hear(reply),
                Ok(None) => break,
                Err(why) => return self.fail(why),
            }
        }
        // A pong goes out at once.
        if self.stages.outbox.bytes.len() > unsent_bytes {
            self.write();
        }
    }

    fn hear(&mut self, reply: Reply) {
        match reply.heard {
            Heard::Answer(answer) => self.answer(&answer, reply.first_byte_ns, reply.bytes),
            Heard::FlowStarted => (self.flow_has_started, self.awaits) = (true, false),
            Heard::FlowEnded { sequence } => self.flow_ended = Some(sequence),
            Heard::FeedRefused => {
                self.stages.mind.refused();
                self.recover(reply.first_byte_ns);
            }
            Heard::Description(description) => {
                self.awaits = false;
                self.description = Some(description);
            }
            Heard::Aside => {}
            Heard::Unexpected => {
                self.stages.counts.unexpected += 1;
                if !self.flow_has_started {
                    let complaint =
                        self.stages.line.first_complaint().unwrap_or("it says something else");
                    let why = format!("the exchange does not begin its flow: {complaint}");
                    self.fail(why);
                }
            }
        }
    }

    fn answer(&mut self, answer: &Answer, at_ns: u64, bytes: usize) {
        let number = answer.number;
        let order = self.stages.orders.living(number);
        let is_known = order.is_some();
        let accepted = order.and_then(|order| answer.answers(order));
        if let News::Filled { price_ticks, quantity_lots, .. } = answer.news {
            self.tell_fill(answer, at_ns);
            self.stages.orders.filled(number, price_ticks, quantity_lots);
        }
        match accepted
            .and_then(|accepted| Some((accepted, self.stages.orders.answered(number, accepted)?)))
        {
            Some((accepted, order)) => {
                self.stages.counts.heard += 1;
                self.stages.counts.heard_bytes += bytes as u64;
                if order.measured {
                    self.stages.counts.received += 1;
                    self.stages.counts.rejected += u64::from(!accepted);
                }
                if let Some(place) = order.sample {
                    self.parts.samples.replied(place, answer.stamps, at_ns);
                    self.show(place);
                }
                self.tell_ack(answer, accepted, at_ns);
            }
            // What happens to an order that rests answers nothing; nor does its entering again, after it was moved.
            None if is_known && answer.news != News::Refused => {}
            None => self.stages.counts.duplicated += 1,
        }
        match answer.news {
            News::Booked { order_id } => self.stages.orders.booked(number, order_id),
            News::Ended { .. } => self.stages.orders.end(number),
            _ => {}
        }
    }

    /// For who looks on.
    fn show(&mut self, place: u32) {
        if let (Some(shown), Some(sample)) = (&mut self.parts.shown, self.parts.samples.get(place))
        {
            let at = |point: Point| sample.stamps[point as usize];
            shown.record(0, at(Point::GatewayIn).saturating_sub(at(Point::Intended)));
        }
    }

    /// The tick, what was decided about it, and what was sent.
    #[cold]
    pub(crate) fn tell(&mut self, passed: &Passed, came: [u64; 2], written_ns: u64) {
        let Passed { tick, normalised_ns, decided_ns, checked_ns, .. } = passed;
        let [kernel_ns, read_ns] = came;
        let Some(mut audit) = self.parts.audit.take() else { return };
        audit.tell(&Record::Tick {
            number: tick.number,
            kind: match tick.kind {
                Kind::Live | Kind::NotNow => TickKind::Live,
                Kind::Replay => TickKind::Replay,
                Kind::Snapshot => TickKind::Snapshot,
                Kind::Heartbeat => TickKind::Heartbeat,
            },
            messages: tick.messages,
            intended_ns: tick.intended_ns,
            acknowledged_ns: tick.acknowledged_ns,
            published_ns: tick.published_ns,
            kernel_ns,
            read_ns,
            normalised_ns: *normalised_ns,
        });
        let instrument = self.parts.instrument;
        // The last ones may wait for the kernel to take them.
        let mut left = passed.said.saturating_sub(self.stages.outbox.messages.len());
        for verdict in &self.stages.verdicts {
            let (side, action, price_ticks, quantity_lots) = self.about(verdict);
            audit.tell(&Record::Decision {
                tick: tick.number,
                instrument,
                side,
                decided_ns: *decided_ns,
                checked_ns: *checked_ns,
                price_ticks,
                quantity_lots,
                refused: verdict.refused.map(|refusal| refusal as u16),
            });
            if verdict.refused.is_none() {
                let sent_ns = if left > 0 { written_ns } else { 0 };
                left = left.saturating_sub(1);
                audit.tell(&Record::Order {
                    order: verdict.number,
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
        self.parts.audit = Some(audit);
    }

    /// The end of an order that no tick led to.
    pub(crate) fn tell_end(&mut self, order: u64, sent_ns: u64) {
        let (own, instrument) = (*self.stages.orders.at(order), self.parts.instrument);
        if let Some(audit) = &mut self.parts.audit {
            audit.tell(&Record::Order {
                order,
                tick: 0,
                action: Action::Cancel,
                instrument,
                side: side(own.side),
                sent_ns,
                price_ticks: own.price_ticks,
                quantity_lots: own.open_lots,
            });
        }
    }

    /// As the log says it.
    fn about(&self, verdict: &Verdict) -> (audit::Side, Action, i64, u64) {
        let own = |number| {
            let order = self.stages.orders.at(number);
            (side(order.side), order.price_ticks, order.open_lots)
        };
        match verdict.wish {
            Wish::Enter { side: of, price_ticks, quantity_lots, .. } => {
                (side(of), Action::New, price_ticks, quantity_lots)
            }
            Wish::Move { number, price_ticks, quantity_lots } => {
                (own(number).0, Action::Amend, price_ticks, quantity_lots)
            }
            Wish::End { number } => {
                let (side, price_ticks, quantity_lots) = own(number);
                (side, Action::Cancel, price_ticks, quantity_lots)
            }
        }
    }

    fn tell_ack(&mut self, answer: &Answer, accepted: bool, replied_ns: u64) {
        let order_id = match answer.news {
            News::Booked { order_id } => order_id,
            _ => self.stages.orders.at(answer.number).order_id,
        };
        if let Some(audit) = &mut self.parts.audit {
            let stamps = answer.stamps.unwrap_or_default();
            let order = answer.number;
            audit.tell(&Record::Ack { order, order_id, accepted, replied_ns, stamps });
        }
    }

    fn tell_fill(&mut self, answer: &Answer, read_ns: u64) {
        let News::Filled { price_ticks, quantity_lots, trade_id } = answer.news else { return };
        let (own, instrument) = (*self.stages.orders.at(answer.number), self.parts.instrument);
        if let Some(audit) = &mut self.parts.audit {
            audit.tell(&Record::Fill {
                order: answer.number,
                order_id: own.order_id,
                instrument,
                side: side(own.side),
                read_ns,
                price_ticks,
                quantity_lots,
                trade_id,
            });
        }
    }
}

fn side(side: Side) -> audit::Side {
    match side {
        Side::Buy => audit::Side::Buy,
        Side::Sell => audit::Side::Sell,
    }
}
