//! A verdict for a CI server: JUnit and Markdown.

use crate::text::number::share;
use crate::text::words::{self, cell};
use maud::html;
use record::RunRecord;
use record::comparison::gate::{GateOutcome, GateResult};
use record::comparison::{Arm, Comparison};
use std::fmt::Write;

/// Gates and the verdict that stands above them.
pub struct Summary<'a> {
    /// The name of the test suite.
    pub name: &'a str,
    /// Why it is no result: void or interrupted. Empty for a result.
    pub error: &'a str,
    /// The result in words, a line each.
    pub lines: &'a [String],
    /// The gates with their outcomes.
    pub gates: &'a [GateResult],
}

/// JUnit's XML: a test case for each gate. A gate that failed is a failure; an inconclusive one is
/// skipped, with the reason.
pub fn junit(summary: &Summary<'_>) -> String {
    let of = |outcome| summary.gates.iter().filter(|gate| gate.outcome == outcome).count();
    let is_error = !summary.error.is_empty();
    let errors = usize::from(is_error);
    let body = html! {
        testsuite name=(summary.name) tests=(summary.gates.len() + 1) errors=(errors)
            failures=(of(GateOutcome::Failed)) skipped=(of(GateOutcome::Inconclusive)) {
            testcase classname=(summary.name) name="the measurement is a result" {
                @if is_error { error message=(summary.error) { (summary.error) } }
                @if !summary.lines.is_empty() { system-out { (summary.lines.join("\n")) } }
            }
            @for gate in summary.gates {
                testcase classname=(summary.name) name=(gate.gate) {
                    @match gate.outcome {
                        GateOutcome::Passed => { "" }
                        GateOutcome::Failed => { failure message=(gate.why) { (gate.why) } }
                        GateOutcome::Inconclusive => { skipped message=(gate.why) { (gate.why) } }
                    }
                }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", body.into_string())
}

/// The record's first line, its main figures and the gates, for a job's summary.
pub fn markdown_of_record(record: &RunRecord, gates: &[GateResult]) -> String {
    let mut out =
        format!("### {} · {}\n\n", plain(&record.scenario), plain(&words::verdict(record)));
    let unit = words::unit(record);
    let _ = writeln!(out, "| {} | p50 | p90 | p99 | samples |\n|---|--:|--:|--:|--:|", unit.name);
    for subject in &record.subjects {
        for series in words::shown(subject) {
            let pooled = &series.pooled;
            let figures = [("p50", pooled.p50), ("p90", pooled.p90), ("p99", pooled.p99)];
            let figures = figures.map(|(name, value)| cell(series, name, value, unit));
            let name = words::subject(record, &subject.name);
            let title = plain(&format!("{name} {}", words::title(series)));
            let _ = writeln!(out, "| {title} | {} | {} |", figures.join(" | "), pooled.count);
        }
    }
    out.push_str(&gate_list(gates));
    out
}

/// The verdict, every figure and the gates, for a job's summary.
pub fn markdown_of_comparison(comparison: &Comparison) -> String {
    let candidates = comparison.candidates();
    candidates.map(|(letter, one)| markdown_of_candidate(letter, one, &comparison.a)).collect()
}

fn markdown_of_candidate(letter: char, one: &Comparison, a: &Arm) -> String {
    let headline = plain(&crate::comparison::headline(letter, one, a));
    let mut out = format!("### {headline}\n\n{}\n\n", plain(&one.why));
    let _ = writeln!(out, "A: `{}`  \n{letter}: `{}`\n", a.name, one.b.name);
    if !one.figures.is_empty() {
        let _ = writeln!(
            out,
            "| us | A | {letter} | change | interval | verdict |\n|---|--:|--:|--:|--:|---|"
        );
    }
    for figure in &one.figures {
        let effect = &figure.effect;
        let [of_a, of_b] = crate::comparison::figures(one, figure);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} … {} | {} |",
            plain(&figure.name()),
            of_a,
            of_b,
            share(effect.change),
            share(effect.interval[0]),
            share(effect.interval[1]),
            crate::comparison::full_verdict(figure)
        );
    }
    out.push_str(&gate_list(&one.gates));
    out
}

fn gate_list(gates: &[GateResult]) -> String {
    let mut out = String::new();
    if !gates.is_empty() {
        out.push('\n');
    }
    for gate in gates {
        let _ =
            writeln!(out, "- **{}**: `{}`: {}", gate.outcome.name(), gate.gate, plain(&gate.why));
    }
    out
}

/// Text that Markdown leaves as it is, also in a table.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for char in text.chars() {
        match char {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => plain.extend(['\\', char]),
            '\n' | '\r' => plain.push(' '),
            char => plain.push(char),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(outcome: GateOutcome, why: &str) -> GateResult {
        GateResult { gate: "order.p99 <= +5%".to_owned(), outcome, why: why.to_owned() }
    }

    #[test]
    fn every_gate_is_a_test_case() {
        let gates = [
            gate(GateOutcome::Passed, "fine"),
            gate(GateOutcome::Failed, "a < b & \"c\""),
            gate(GateOutcome::Inconclusive, "too few"),
        ];
        let text = junit(&Summary {
            name: "compare",
            error: "",
            lines: &["A 8.0 us".to_owned()],
            gates: &gates,
        });
        assert!(text.contains("<system-out>A 8.0 us</system-out>"), "{text}");
        assert!(text.contains("tests=\"4\" errors=\"0\" failures=\"1\" skipped=\"1\""), "{text}");
        assert!(text.contains("message=\"a &lt; b &amp; &quot;c&quot;\""), "{text}");
        assert_eq!(text.matches("<testcase").count(), text.matches("</testcase>").count());
        let void = junit(&Summary { name: "run", error: "lost replies", lines: &[], gates: &[] });
        assert!(void.contains("errors=\"1\"") && void.contains("lost replies"), "{void}");
    }

    #[test]
    fn names_cannot_break_a_table() {
        let record = RunRecord { scenario: "a|b<c>\nd".to_owned(), ..RunRecord::default() };
        let text = markdown_of_record(&record, &[gate(GateOutcome::Failed, "x|y")]);
        assert!(text.starts_with("### a\\|b\\<c\\> d ·"), "{text}");
        assert!(text.contains("- **failed**: `order.p99 <= +5%`: x\\|y"), "{text}");
    }
}
