//! Records for other tools: one row per figure.

use crate::metrics::{self, Family};
use record::{RunRecord, Series, Subject};
use stats::regimes::Regime;
use stats::{PERCENTILES, Percentiles};
use std::fmt::Write;

/// The columns of [`csv`].
const HEAD: &str = "record,scenario,started,machine,run,subject,series,kind,percentile,rank,value_ns,bracket_low_ns,\
     bracket_high_ns,holds,samples,regime";

/// A record to export.
pub struct ExportedRecord<'a> {
    /// The name of its directory.
    pub name: &'a str,
    /// Letters of its machine; empty if machine.json is missing.
    pub machine: &'a str,
    /// The record.
    pub record: &'a RunRecord,
}

/// One figure.
struct Row<'a> {
    exported: &'a ExportedRecord<'a>,
    /// 0: all runs together.
    run: usize,
    subject: &'a Subject,
    series: &'a Series,
    percentile: &'static str,
    /// From 0 to 1.
    rank: f64,
    value_ns: u64,
    samples: u64,
    /// The machine's regime that the samples are of; `None`: of all.
    regime: Option<Regime>,
}

/// Comma-separated values (RFC 4180), one row per run and figure: run 0 is all runs together, and
/// only there brackets are known. `holds` is empty where a figure was not judged. A p50 between two
/// regimes of the machine is no figure: there is one row for each regime instead.
pub fn csv(records: &[ExportedRecord<'_>]) -> String {
    let mut out = format!("{HEAD}\r\n");
    rows(records, true, &mut |row| {
        let bracket = row.bracket();
        let end = |at: usize| bracket.map_or(String::new(), |ends| ends[at].to_string());
        let holds = row.holds().map_or("", |holds| if holds { "true" } else { "false" });
        let ExportedRecord { name, machine, record } = row.exported;
        let _ = write!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{holds},{},{}\r\n",
            quoted(name),
            quoted(&record.scenario),
            record.started,
            quoted(machine),
            row.run,
            quoted(&row.subject.name),
            quoted(&row.series.name),
            row.series.kind.name(),
            row.percentile.replace('_', "."),
            row.rank,
            row.value_ns,
            end(0),
            end(1),
            row.samples,
            row.regime.map_or("", Regime::name)
        );
    });
    out
}

/// OpenMetrics text: a gauge per figure of all runs together, in seconds.
pub fn openmetrics(records: &[ExportedRecord<'_>]) -> String {
    metrics::text(&families(records))
}

/// A gauge per figure of all runs together, in seconds, and one that says whether it holds.
pub fn families(records: &[ExportedRecord<'_>]) -> [Family; 2] {
    let mut latency = Family::new(
        "tickpath_latency_seconds",
        metrics::FamilyKind::Gauge,
        "A percentile over all runs of a record; rank 1 is the maximum.",
    );
    let mut holding = Family::new(
        "tickpath_figure_holds",
        metrics::FamilyKind::Gauge,
        "1 if disturbance moved the figure by less than a tenth.",
    );
    rows(records, false, &mut |row| {
        let ExportedRecord { name, machine, record } = row.exported;
        let mut labels = vec![
            ("record", (*name).to_owned()),
            ("scenario", record.scenario.clone()),
            ("machine", (*machine).to_owned()),
            ("subject", row.subject.name.clone()),
            ("series", row.series.name.clone()),
            ("kind", row.series.kind.name().to_owned()),
            ("rank", row.rank.to_string()),
        ];
        labels.extend(row.regime.map(|regime| ("regime", regime.name().to_owned())));
        if let Some(yes) = row.holds() {
            holding.number(labels.clone(), f64::from(u8::from(yes)));
        }
        latency.number(labels, row.value_ns as f64 / 1e9);
    });
    [latency, holding]
}

fn rows<'a>(records: &'a [ExportedRecord<'a>], each_run: bool, take: &mut dyn FnMut(Row<'a>)) {
    for exported in records {
        for subject in &exported.record.subjects {
            for series in &subject.series {
                let per_run = if each_run { series.per_run.as_slice() } else { &[] };
                let all = std::iter::once(&series.pooled).chain(per_run);
                let in_regimes =
                    series.regimes.iter().map(|one| (0, Some(one.regime), &one.figures));
                let all = all.enumerate().map(|(run, figures)| (run, None, figures));
                for (run, regime, percentiles) in all.chain(in_regimes) {
                    figures(percentiles, &mut |percentile, rank, value_ns| {
                        // In two regimes p50 is that of each, and the other figures are of all.
                        let is_median = run == 0 && percentile == "p50";
                        if regime.is_some() != (is_median && !series.regimes.is_empty()) {
                            return;
                        }
                        let samples = percentiles.count;
                        take(Row {
                            exported,
                            run,
                            subject,
                            series,
                            percentile,
                            rank,
                            value_ns,
                            samples,
                            regime,
                        });
                    });
                }
            }
        }
    }
}

/// Every percentile that the sample supports, and the maximum.
fn figures(percentiles: &Percentiles, take: &mut dyn FnMut(&'static str, f64, u64)) {
    for ((name, rank), value) in PERCENTILES.into_iter().zip(percentiles.values()) {
        value.into_iter().for_each(|value| take(name, rank, value));
    }
    if percentiles.count > 0 {
        take("max", 1.0, percentiles.max);
    }
}

impl Row<'_> {
    fn bracket(&self) -> Option<[u64; 2]> {
        let is_pooled = self.run == 0 && self.regime.is_none();
        let bracket = self.series.bracket.get(self.percentile).filter(|_| is_pooled);
        bracket.copied()
    }

    /// A void record's figures don't hold, whatever their brackets say.
    fn holds(&self) -> Option<bool> {
        if self.run > 0 || self.regime.is_some() || self.percentile == "max" {
            return None;
        }
        let holds_to = self.series.holds_to?;
        Some(!self.exported.record.is_void() && self.rank <= holds_to)
    }
}

/// A field of a CSV file.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::InRegime;
    use record::Kind;

    fn record() -> RunRecord {
        let run = serde_json::json!({"count": 2000, "p50": 900, "max": 5000});
        let value = serde_json::json!({
            "schema": 2, "tool": "t", "scenario": "a,b", "complete": true, "runs": 1, "warnings": [],
            "subjects": [{"name": "ru\"st", "series": [{"name": "order", "kind": "response", "unit": "ns",
                "pooled": {"count": 2000, "p50": 1000, "p99": 4000, "max": 5000}, "per_run": [run],
                "bracket": {"p50": [950, 1000], "p99": [1000, 4000]}, "holds_to": 0.5}]}]
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_row_per_run_and_figure() {
        let record = record();
        let text = csv(&[ExportedRecord { name: "x", machine: "abcd", record: &record }]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 3 + 2, "{text}");
        let columns = HEAD.split(',').count();
        assert_eq!(
            lines[1],
            "x,\"a,b\",,abcd,0,\"ru\"\"st\",order,response,p50,0.5,1000,950,1000,true,2000,"
        );
        assert!(lines[2].ends_with("p99,0.99,4000,1000,4000,false,2000,"), "{text}");
        assert!(lines[3].contains(",max,1,5000,,,,"), "{text}");
        assert!(lines[4].contains(",1,\"ru\"\"st\",order,response,p50,0.5,900,,,,"), "{text}");
        // The two quoted commas and nothing else.
        assert!(lines[1..].iter().all(|line| line.split(',').count() == columns + 1), "{text}");
    }

    /// 7.8 us in one hour and 10.9 us in the next were exported as one p50 of 8.6 us.
    #[test]
    fn a_median_between_two_regimes_is_given_for_each() {
        let mut record = record();
        let in_regime = |regime, p50| {
            let figures = Percentiles { count: 1000, p50: Some(p50), ..Percentiles::default() };
            InRegime { regime, slices: 5, share: 0.5, figures }
        };
        record.subjects[0].series[0].regimes =
            vec![in_regime(Regime::Fast, 780), in_regime(Regime::Slow, 1090)];
        let text = csv(&[ExportedRecord { name: "x", machine: "", record: &record }]);
        let medians: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(",p50,"))
            .filter_map(|line| line.split_once(",p50,0.5,").map(|(_, values)| values))
            .collect();
        assert_eq!(medians, ["900,,,,2000,", "780,,,,1000,fast", "1090,,,,1000,slow"], "{text}");
    }

    #[test]
    fn metrics_end_with_eof_and_a_void_record_holds_nothing() {
        let mut record = record();
        record.void_because = vec!["lost".to_owned()];
        let text = openmetrics(&[ExportedRecord { name: "x", machine: "", record: &record }]);
        assert!(text.ends_with("# EOF\n"));
        assert!(text.contains("rank=\"0.5\"} 1e-6\n"), "{text}");
        assert!(text.contains("subject=\"ru\\\"st\""), "{text}");
        assert!(text.contains("tickpath_figure_holds{") && !text.contains("} 1\n"), "{text}");
        assert_eq!(record.subjects[0].series[0].kind, Kind::Response);
    }
}
