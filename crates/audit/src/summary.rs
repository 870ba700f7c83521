//! Counts and measures the contents of a log.

use crate::{KINDS, LogTail, ReadError, Reader, Record};
use clock::Pair;
use clock::recorder::{LATENCY_NS_MAX, histogram};
use hdrhistogram::Histogram;
use record::audited::{AuditSummary, LogEnd, SCHEMA, Span};
use stats::percentiles;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

/// Maximum number of unanswered orders that are tracked; answers to further ones are not measured.
const UNANSWERED_MAX: usize = 1 << 20;

/// Reads a log to its end and passes each record, with its number, to `see`.
///
/// # Errors
/// If the log can't be read or is damaged; `see` has then got the records before the fault.
pub fn summarise(
    mut log: Reader<impl Read>,
    mut see: impl FnMut(u64, &Record),
) -> Result<AuditSummary, ReadError> {
    let mut summary = Summary::new(log.header().time.wall);
    for (number, record) in (0_u64..).zip(log.by_ref()) {
        let record = record?;
        see(number, &record);
        summary.add(&record);
    }
    Ok(summary.end(&log))
}

struct Summary {
    kinds: [u64; KINDS.len()],
    lost: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    /// The wall clock's first and last reading.
    walls: [Pair; 2],
    wall_bound_ns: u64,
    wall_steps: u64,
    refused: BTreeMap<u16, u64>,
    /// The latest tick and the time of its read.
    tick: Option<(u64, u64)>,
    /// Times at which unanswered orders were sent.
    sent: HashMap<u64, u64>,
    decision: Histogram<u64>,
    tick_to_trade: Histogram<u64>,
    order_to_ack: Histogram<u64>,
}

impl Summary {
    fn new(wall: Pair) -> Summary {
        Summary {
            kinds: [0; _],
            lost: 0,
            first_ns: None,
            last_ns: 0,
            walls: [wall; 2],
            wall_bound_ns: wall.bound_ns,
            wall_steps: 0,
            refused: BTreeMap::new(),
            tick: None,
            sent: HashMap::new(),
            decision: histogram(),
            tick_to_trade: histogram(),
            order_to_ack: histogram(),
        }
    }

    fn add(&mut self, record: &Record) {
        self.kinds[record.kind()] += 1;
        match *record {
            Record::Wall { clock_ns, wall_ns, bound_ns, steps } => {
                self.walls[1] = Pair { clock_ns, wall_ns, bound_ns };
                self.wall_bound_ns = self.wall_bound_ns.max(bound_ns);
                self.wall_steps = steps;
                return;
            }
            Record::Lost { count, .. } => {
                self.lost = self.lost.saturating_add(count);
                return;
            }
            Record::End { .. } | Record::Session { .. } => return,
            Record::Tick { number, read_ns, .. } => self.tick = Some((number, read_ns)),
            Record::Decision { tick, checked_ns, refused, .. } => {
                let took_ns = self.since_tick(tick, checked_ns);
                add(&mut self.decision, took_ns);
                refused.into_iter().for_each(|why| *self.refused.entry(why).or_default() += 1);
            }
            Record::Order { order, tick, sent_ns, .. } => {
                // An order that had not left has no stamp to measure from.
                if sent_ns > 0 {
                    let took_ns = self.since_tick(tick, sent_ns);
                    add(&mut self.tick_to_trade, took_ns);
                    if self.sent.len() < UNANSWERED_MAX {
                        self.sent.insert(order, sent_ns);
                    }
                }
            }
            Record::Ack { order, replied_ns, .. } => {
                let sent_ns = self.sent.remove(&order);
                let took_ns = sent_ns.and_then(|sent_ns| replied_ns.checked_sub(sent_ns));
                add(&mut self.order_to_ack, took_ns);
            }
            Record::Fill { .. } => {}
        }
        let at_ns = record.at_ns();
        if at_ns > 0 {
            self.first_ns.get_or_insert(at_ns);
            self.last_ns = at_ns;
        }
    }

    /// Time since the read of this tick, if it is the latest one.
    fn since_tick(&self, tick: u64, at_ns: u64) -> Option<u64> {
        let (_, read_ns) = self.tick.filter(|(number, _)| *number == tick)?;
        at_ns.checked_sub(read_ns)
    }

    /// Converts a time to the wall clock, by the line through its first and last reading.
    fn wall_ns(&self, clock_ns: u64) -> u64 {
        let [first, last] =
            self.walls.map(|pair| (i128::from(pair.clock_ns), i128::from(pair.wall_ns)));
        let (clock, wall) = (last.0 - first.0, last.1 - first.1);
        let since = i128::from(clock_ns) - first.0;
        // A malicious file may have any numbers.
        let run = if clock > 0 { since.saturating_mul(wall) / clock } else { since };
        u64::try_from(first.1.saturating_add(run)).unwrap_or(0)
    }

    fn end(self, log: &Reader<impl Read>) -> AuditSummary {
        let header = log.header();
        let span = self.first_ns.map(|begin_ns| Span {
            begin_ns,
            end_ns: self.last_ns,
            begin_wall_ns: self.wall_ns(begin_ns),
            end_wall_ns: self.wall_ns(self.last_ns),
            wall_bound_ns: self.wall_bound_ns,
            wall_steps: self.wall_steps,
            utc: header.time.utc.clone(),
        });
        let reason = |(&number, &count): (&u16, &u64)| {
            let name = header.reasons.get(usize::from(number)).cloned();
            (name.unwrap_or_else(|| format!("reason {number}")), count)
        };
        let named = |(kind, count): (&str, u64)| (kind.to_owned(), count);
        AuditSummary {
            schema: SCHEMA,
            written_by: header.tool.clone(),
            scenario: header.scenario.clone(),
            subject: header.subject.clone(),
            clock: header.time.clock.source().name().to_owned(),
            same_clock: header.same_clock,
            end: match log.tail() {
                Some(LogTail::Finished) => LogEnd::Finished,
                Some(LogTail::Torn { bytes }) => LogEnd::Torn { bytes },
                Some(LogTail::Unfinished) | None => LogEnd::Unfinished,
            },
            records: KINDS.into_iter().zip(self.kinds).map(named).collect(),
            lost: self.lost,
            span,
            refused: self.refused.iter().map(reason).collect(),
            decision: percentiles(&self.decision).0,
            tick_to_trade: percentiles(&self.tick_to_trade).0,
            order_to_ack: percentiles(&self.order_to_ack).0,
            ..AuditSummary::default()
        }
    }
}

fn add(histogram: &mut Histogram<u64>, ns: Option<u64>) {
    ns.into_iter().for_each(|ns| histogram.saturating_record(ns.min(LATENCY_NS_MAX)));
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
