//! The matrix of a `core-to-core` record: how long a cache line takes from one core to another.

use crate::plot::HEAT_LEVELS;
use crate::text::number::latency;
use crate::text::terminal::Terminal;
use crate::text::words;
use maud::{Markup, html};
use record::measure::Measure;
use record::{Kind, RunRecord, Series};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Cores that fit a terminal's line beside each other.
const COLUMNS_MAX: usize = 14;

/// One subject's pairs.
pub(crate) struct Matrix<'a> {
    subject: &'a str,
    cores: Vec<usize>,
    pairs: Vec<(usize, usize, &'a Series)>,
}

/// The matrices of a record; none for a record of another kind.
pub(crate) fn matrices(record: &RunRecord) -> Vec<Matrix<'_>> {
    if words::measure(record) != Some(Measure::Cores) {
        return Vec::new();
    }
    let matrices = record.subjects.iter().map(|subject| {
        let pair = |series: &'_ Series| {
            let (first, second) = series.name.split_once('-')?;
            (series.kind == Kind::Stage).then_some(())?;
            Some((first.parse().ok()?, second.parse().ok()?))
        };
        let pairs: Vec<(usize, usize, &Series)> = subject
            .series
            .iter()
            .filter_map(|series| pair(series).map(|(first, second)| (first, second, series)))
            .collect();
        let cores: BTreeSet<usize> =
            pairs.iter().flat_map(|(first, second, _)| [*first, *second]).collect();
        Matrix { subject: &subject.name, cores: cores.into_iter().collect(), pairs }
    });
    matrices.filter(|matrix| !matrix.pairs.is_empty()).collect()
}

impl Matrix<'_> {
    /// The median of a pair, ns, in either direction.
    fn p50_ns(&self, one: usize, other: usize) -> Option<u64> {
        let found = self.pairs.iter().find(|(first, second, _)| {
            (*first, *second) == (one, other) || (*first, *second) == (other, one)
        });
        found.and_then(|(_, _, series)| series.pooled.p50)
    }

    /// The fastest pair and the slowest.
    fn extremes(&self) -> Option<[(usize, usize, u64); 2]> {
        let told = |(first, second, series): &(usize, usize, &Series)| {
            Some((*first, *second, series.pooled.p50?))
        };
        let told: Vec<(usize, usize, u64)> = self.pairs.iter().filter_map(told).collect();
        let by_ns = |(_, _, ns): &&(usize, usize, u64)| *ns;
        Some([*told.iter().min_by_key(by_ns)?, *told.iter().max_by_key(by_ns)?])
    }

    fn summary(&self) -> String {
        let Some([fastest, slowest]) = self.extremes() else {
            return "no pair has a median".to_owned();
        };
        let pair = |(first, second, ns): (usize, usize, u64)| {
            format!("{} between cores {first} and {second}", latency(ns))
        };
        match self.pairs.len() {
            1 => format!("{} (p50, one way)", pair(fastest)),
            n => format!(
                "of {n} pairs the fastest takes {}, the slowest {} (p50, one way)",
                pair(fastest),
                pair(slowest)
            ),
        }
    }
}

/// The matrices for a terminal.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    for matrix in matrices(record) {
        let _ = writeln!(out, "\n{}: {}", matrix.subject, matrix.summary());
        if matrix.cores.len() > COLUMNS_MAX {
            out.push_str("  report.html has the whole map\n");
            continue;
        }
        let _ = write!(out, "\n{:<9}", "ns, p50");
        matrix.cores.iter().for_each(|core| out.push_str(&format!("{core:>6}")));
        out.push('\n');
        for one in &matrix.cores {
            let _ = write!(out, "{:<9}", format!("core {one}"));
            for other in &matrix.cores {
                let ns = matrix.p50_ns(*one, *other);
                let _ = write!(out, "{:>6}", ns.map_or("-".to_owned(), |ns| ns.to_string()));
            }
            out.push('\n');
        }
    }
}

/// Colours dark enough for white text.
const DARK_FROM: usize = HEAT_LEVELS - 3;

/// The matrices for a page: the darker, the slower.
pub(crate) fn section(record: &RunRecord) -> Markup {
    html! {
        @for matrix in matrices(record) {
            h2 { "From core to core: " (matrix.subject) }
            p { (matrix.summary()) "." }
            (map(&matrix))
            p class="quiet" {
                "p50 of one way in ns: half of the way of one cache line there and back, the mean of 64 \
                 round trips a sample. The darker, the slower."
            }
        }
    }
}

fn map(matrix: &Matrix<'_>) -> Markup {
    let bounds = matrix.extremes().map(|[fastest, slowest]| (fastest.2, slowest.2));
    let level = |ns: u64| {
        let (low, high) = bounds.unwrap_or((0, 0));
        let span = (high - low).max(1) as f64;
        (((ns - low) as f64 / span * HEAT_LEVELS as f64) as usize).min(HEAT_LEVELS - 1)
    };
    html! {
        div class="box" {
            table class="map" {
                thead {
                    tr {
                        th scope="col" { "core" }
                        @for core in &matrix.cores { th scope="col" class="n" { (core) } }
                    }
                }
                tbody {
                    @for one in &matrix.cores {
                        tr {
                            th scope="row" { (one) }
                            @for other in &matrix.cores {
                                @match matrix.p50_ns(*one, *other) {
                                    Some(ns) => {
                                        @let level = level(ns);
                                        @let dark = if level >= DARK_FROM { " dark" } else { "" };
                                        td class={ "n m" (level) (dark) } { (ns) }
                                    }
                                    None => td {},
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
