//! The summary of an audit log.

use crate::text::number::latency;
use crate::text::terminal::{Terminal, wrap};
use clock::calendar::utc;
use record::Percentiles;
use record::audited::{AuditSummary, LogEnd, Span};
use record::text::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Column in which a line's text begins.
const SAYS: usize = 14;

/// An audit log as text. Counts are exact: they are for comparing.
pub fn audit(audited: &AuditSummary, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let _ = writeln!(
        out,
        "audit · {} · {} · {} · written by {}",
        audited.file,
        or_unnamed(&audited.scenario),
        or_unnamed(&audited.subject),
        or_unnamed(&audited.written_by)
    );
    let mut line = |name: &str, text: &str| wrap(&mut out, &format!("  {name:<SAYS$}"), text);
    line("records", &counts(&audited.records));
    match &audited.span {
        Some(span) => {
            line("from", &moment(span.begin_wall_ns));
            line(
                "to",
                &format!(
                    "{}, {} later",
                    moment(span.end_wall_ns),
                    latency(span.end_ns.saturating_sub(span.begin_ns))
                ),
            );
            line("clock", &clock(&audited.clock, span));
        }
        None => line("from", "unknown"),
    }
    if !audited.same_clock {
        line(
            "OTHER CLOCK",
            "the exchange's stamps are on its own clock; the log's header converts it to UTC if the exchange told how",
        );
    }
    line("decision", &percentiles(&audited.decision, "tick's read to risk's verdict"));
    line("tick to trade", &percentiles(&audited.tick_to_trade, "tick's read to order's write"));
    line("order to ack", &percentiles(&audited.order_to_ack, "order's write to its answer's read"));
    if !audited.refused.is_empty() {
        line("refused", &counts(&audited.refused));
    }
    match audited.lost {
        0 => line("lost", "none"),
        lost => line(
            "LOST",
            &format!("{}, for which the logger's ring had no room", counted(lost, "record")),
        ),
    }
    match audited.end {
        LogEnd::Finished => {}
        LogEnd::Unfinished => {
            line(
                "UNFINISHED",
                "the logger was killed or could not write any more: later records are missing",
            );
        }
        LogEnd::Torn { bytes } => {
            line(
                "TORN",
                &format!(
                    "the last {} are an incomplete record: a write was cut off; later records are missing",
                    counted(bytes, "byte")
                ),
            );
        }
    }
    out.into_text()
}

fn or_unnamed(name: &str) -> &str {
    if name.is_empty() { "unnamed" } else { name }
}

/// Nanoseconds behind the whole seconds, as UTC has them.
pub(crate) fn moment(wall_ns: u64) -> String {
    let whole = utc(wall_ns / 1_000_000);
    format!("{}.{:09}Z", whole.trim_end_matches('Z'), wall_ns % 1_000_000_000)
}

fn clock(source: &str, span: &Span) -> String {
    let mut text =
        format!("{source}; within {} of this machine's wall clock", latency(span.wall_bound_ns));
    match (span.utc.bound_ns, span.utc.why.as_str()) {
        (Some(bound_ns), _) => {
            let _ =
                write!(text, ", which {} holds within {} of UTC", span.utc.from, latency(bound_ns));
        }
        (None, "") => text += "; how far that is off UTC is not known",
        (None, why) => {
            let _ = write!(text, "; how far that is off UTC is not known: {why}");
        }
    }
    match span.wall_steps {
        0 => {}
        1 => text += "; SOMEBODY SET IT meanwhile, once",
        steps => {
            let _ = write!(text, "; SOMEBODY SET IT meanwhile, {steps} times");
        }
    }
    text
}

fn percentiles(of: &Percentiles, what: &str) -> String {
    if of.count == 0 {
        return format!("none ({what})");
    }
    let named = [("p50", of.p50), ("p99", of.p99), ("p99.9", of.p99_9)];
    let mut text = String::new();
    for (name, value) in named {
        if let Some(value) = value {
            let _ = write!(text, "{name} {}, ", latency(value));
        }
    }
    format!("{text}max {}, of {} ({what})", latency(of.max), of.count)
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    let list: Vec<String> = some.map(|(kind, count)| format!("{kind} {count}")).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::utc::Utc;

    fn named(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    }

    fn audited() -> AuditSummary {
        AuditSummary {
            file: "001.audit".to_owned(),
            written_by: "tickpath 0.1.0".to_owned(),
            scenario: "tick-to-trade".to_owned(),
            subject: "rust".to_owned(),
            clock: "tsc".to_owned(),
            same_clock: true,
            end: LogEnd::Finished,
            records: named(&[("tick", 1_000), ("decision", 12), ("fill", 0)]),
            span: Some(Span {
                begin_ns: 5,
                end_ns: 2_000_000_005,
                begin_wall_ns: 1_795_305_600_000_000_042,
                end_wall_ns: 1_795_305_602_000_000_042,
                wall_bound_ns: 84,
                wall_steps: 0,
                utc: Utc { bound_ns: Some(8_000), from: "chrony".to_owned(), ..Utc::default() },
            }),
            decision: Percentiles {
                count: 40,
                p50: Some(250),
                max: 1_234,
                ..Percentiles::default()
            },
            ..AuditSummary::default()
        }
    }

    #[test]
    fn a_good_log() {
        let expected = "\
audit · 001.audit · tick-to-trade · rust · written by tickpath 0.1.0
  records       decision 12, tick 1000
  from          2026-11-22T00:00:00.000000042Z
  to            2026-11-22T00:00:02.000000042Z, 2.00 s later
  clock         tsc; within 84 ns of this machine's wall clock, which chrony holds within 8.00 us of
                UTC
  decision      p50 250 ns, max 1.23 us, of 40 (tick's read to risk's verdict)
  tick to trade none (tick's read to order's write)
  order to ack  none (order's write to its answer's read)
  lost          none
";
        assert_eq!(audit(&audited(), 100), expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut audited = audited();
        audited.lost = 3;
        audited.end = LogEnd::Torn { bytes: 17 };
        audited.refused = named(&[("too large", 2)]);
        let span = audited.span.as_mut().unwrap();
        span.wall_steps = 2;
        span.utc = Utc { why: "there is no chrony here".to_owned(), ..Utc::default() };
        let text = audit(&audited, 100);
        for said in [
            "LOST          3 records",
            "TORN          the last 17 bytes",
            "refused       too large 2",
            "2 times",
            "no chrony",
        ] {
            assert!(
                text.split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .contains(&said.split_whitespace().collect::<Vec<_>>().join(" ")),
                "{said}: {text}"
            );
        }
        let text = audit(&AuditSummary { file: "x".to_owned(), ..AuditSummary::default() }, 100);
        assert!(text.contains("UNFINISHED") && text.contains("unknown"), "{text}");
    }
}
