//! Findings of the self-test, a line each.

use crate::text::number::{short_ns, us};

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
    /// Whether tickpath detected the known effect.
    pub fn passed(&self) -> bool {
        match self {
            Finding::Same { looked_at, told_apart, .. } => *looked_at > 0 && told_apart.is_empty(),
            Finding::Stall { seen, .. } => *seen,
            Finding::Delay { injected_ns, interval_ns: [low, high], is_worse, .. } => {
                *is_worse && (low..=high).contains(&injected_ns)
            }
            Finding::Drop { lost, is_void, .. } => *lost > 0 && *is_void,
            Finding::Nothing { .. } => false,
        }
    }
}

/// One line.
pub fn finding(finding: &Finding) -> String {
    let mark = if finding.passed() { "ok  " } else { "FAIL" };
    let what = match finding {
        Finding::Same { runs, looked_at, told_apart } if told_apart.is_empty() => format!(
            "A against A is inconclusive: {looked_at} figures of {runs} pairs, none told apart"
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
        Finding::Nothing { check } => format!("{check}: too few runs or samples to compare"),
    };
    format!("{mark}  {what}\n")
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
        assert!(delay([49_000, 51_000], true).passed());
        assert!(!delay([50_500, 51_000], true).passed());
        assert!(!delay([49_000, 51_000], false).passed());
        let same = |looked_at, told_apart: &[&str]| Finding::Same {
            runs: 12,
            looked_at,
            told_apart: told_apart.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert!(same(4, &[]).passed());
        assert!(!same(0, &[]).passed(), "nothing looked at is nothing found");
        assert!(!same(4, &["order.service.p50"]).passed());
        assert!(!Finding::Drop { sent: 9, lost: 0, is_void: true }.passed());
        assert!(!Finding::Drop { sent: 9, lost: 1, is_void: false }.passed());
        assert!(finding(&delay([49_000, 51_000], true)).starts_with("ok    50.0 us"));
        assert!(finding(&Finding::Nothing { check: "a stall" }).starts_with("FAIL"));
    }
}
