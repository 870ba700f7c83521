//! Findings of the self-test, a line each.

use crate::text::number::{short_ns, us};
use record::text::counted;

/// The result of one check of the self-test.
#[derive(Clone, Debug)]
pub enum Finding {
    /// A against A.
    Same {
        /// Runs of each.
        runs: usize,
        /// Figures that were compared.
        looked_at: usize,
        /// Figures that were reported to differ.
        told_apart: Vec<String>,
    },
    /// A trader without and with injected stalls.
    Stall {
        /// Length of a stall.
        stall_ms: u64,
        /// Interval between stalls.
        every_ms: u64,
        /// p90 of orders without the stall and with it.
        response_ns_p90: [u64; 2],
        /// p90 of orders without the stall and with it.
        service_ns_p90: [u64; 2],
        /// Whether response time shows the stalls, and service time hardly does.
        seen: bool,
    },
    /// An exchange whose answers are held back.
    Delay {
        /// The injected delay, ns.
        injected_ns: i64,
        /// The measured change, ns.
        added_ns: i64,
        /// At least 95 %.
        interval_ns: [i64; 2],
        /// Whether the comparison's verdict is worse.
        is_worse: bool,
    },
    /// Replies that vanish.
    Drop {
        /// Messages sent.
        sent: u64,
        /// Counted as lost.
        lost: u64,
        /// Whether the record is void for this reason.
        is_void: bool,
    },
    /// No figure could be compared.
    Nothing {
        /// The check's name.
        check: &'static str,
    },
}

impl Finding {
    /// Whether tickpath detected the known effect; `None` if it could not look, because too few
    /// runs or samples had the figure.
    pub fn passed(&self) -> Option<bool> {
        Some(match self {
            Finding::Same { looked_at: 0, .. } | Finding::Nothing { .. } => return None,
            Finding::Same { told_apart, .. } => told_apart.is_empty(),
            Finding::Stall { seen, .. } => *seen,
            Finding::Delay { injected_ns, interval_ns: [low, high], is_worse, .. } => {
                *is_worse && (low..=high).contains(&injected_ns)
            }
            Finding::Drop { lost, is_void, .. } => *lost > 0 && *is_void,
        })
    }
}

/// One line.
pub fn finding(finding: &Finding) -> String {
    let mark = match finding.passed() {
        Some(true) => "ok  ",
        Some(false) => "FAIL",
        None => "?   ",
    };
    let what = match finding {
        Finding::Same { looked_at: 0, .. } => not_checked("A against A"),
        Finding::Same { runs, looked_at, told_apart } if told_apart.is_empty() => format!(
            "A against A: no difference seen in {} of {}",
            counted(*looked_at, "figure"),
            counted(*runs, "pair")
        ),
        Finding::Same { told_apart, .. } => {
            format!("A against A is said to differ in {}", told_apart.join(", "))
        }
        Finding::Stall { stall_ms, every_ms, response_ns_p90, service_ns_p90, .. } => format!(
            "a stall of {stall_ms} ms each {every_ms} ms moves p90 of response time {} -> {}, of service time \
             {} -> {}",
            short_ns(response_ns_p90[0] as f64),
            short_ns(response_ns_p90[1] as f64),
            short_ns(service_ns_p90[0] as f64),
            short_ns(service_ns_p90[1] as f64)
        ),
        Finding::Delay { injected_ns, added_ns, interval_ns, .. } => format!(
            "{} us in the exchange's answer are found as {} us, between {} and {}",
            signed_us(*injected_ns),
            signed_us(*added_ns),
            signed_us(interval_ns[0]),
            signed_us(interval_ns[1])
        ),
        Finding::Drop { sent, lost, is_void } => format!(
            "dropped replies: {lost} of {sent} counted as lost, and the run is {}",
            if *is_void { "void" } else { "NOT void" }
        ),
        Finding::Nothing { check } => not_checked(check),
    };
    format!("{mark}  {what}\n")
}

fn not_checked(check: &str) -> String {
    format!(
        "{check}: not checked, because too few runs or samples have the figure; repeat it with more --pairs"
    )
}

fn signed_us(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "" }, us(ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_can_fail() {
        let delay = |interval_ns, is_worse| Finding::Delay {
            injected_ns: 50_000,
            added_ns: 50_100,
            interval_ns,
            is_worse,
        };
        assert_eq!(delay([49_000, 51_000], true).passed(), Some(true));
        assert_eq!(delay([50_500, 51_000], true).passed(), Some(false));
        assert_eq!(delay([49_000, 51_000], false).passed(), Some(false));
        let same = |looked_at, told_apart: &[&str]| Finding::Same {
            runs: 12,
            looked_at,
            told_apart: told_apart.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(same(4, &[]).passed(), Some(true));
        // Too few runs to compare was once a FAIL, as if tickpath were broken.
        assert_eq!(same(0, &[]).passed(), None, "nothing compared is nothing found");
        assert_eq!(same(4, &["order.service.p50"]).passed(), Some(false));
        assert_eq!(Finding::Drop { sent: 9, lost: 0, is_void: true }.passed(), Some(false));
        assert_eq!(Finding::Drop { sent: 9, lost: 1, is_void: false }.passed(), Some(false));
        assert!(finding(&delay([49_000, 51_000], true)).starts_with("ok    50.0 us"));
        let nothing = finding(&Finding::Nothing { check: "a stall" });
        assert!(nothing.starts_with("?     a stall: not checked"), "{nothing}");
        assert!(finding(&same(0, &[])).starts_with("?"));
    }
}
