//! How many pairs fit into the time, by what a run really takes.

use anyhow::bail;
use clock::{Deadline, monotonic_ns};
use record::tune::{SettingState, UntriedSetting};
use scenario::experiment::ROUNDS_MAX;
use stats::compare::{RUNS_MIN, SIGNIFICANCE};
use std::time::Duration;

/// More pairs find smaller effects; the budget is better spent on the next setting.
const PAIRS_WANTED: u32 = 16;
/// Share of the budget for writing and for runs that take longer than those before.
const SPARE: f64 = 1.05;

/// The time of a trial, and what a run took so far.
pub(super) struct Budget {
    seconds: f64,
    began_ns: u64,
    /// Time of one run, with its processes, the fingerprints and the switch of a setting, s.
    pub run_s: f64,
}

impl Budget {
    pub(super) fn begin(seconds: f64) -> Budget {
        Budget { seconds, began_ns: monotonic_ns(), run_s: 0.0 }
    }

    pub(super) fn took_s(&self) -> f64 {
        monotonic_ns().saturating_sub(self.began_ns) as f64 / 1e9
    }

    fn left_s(&self) -> f64 {
        (self.seconds - self.took_s()).max(0.0)
    }

    /// Notes what `runs` runs took. They may be slower than the first ones.
    pub(super) fn ran(&mut self, runs: usize, seconds: f64) {
        if runs > 0 {
            self.run_s = seconds / runs as f64;
        }
    }

    pub(super) fn has_time_for_a_run(&self) -> bool {
        self.left_s() > self.run_s * SPARE
    }

    fn pairs_in(&self, seconds: f64) -> u32 {
        let pair_s = 2.0 * self.run_s * SPARE;
        if pair_s > 0.0 { (seconds / pair_s) as u32 } else { PAIRS_WANTED }
    }

    /// Time that a confirmation takes at least.
    fn confirmation_s(&self) -> f64 {
        f64::from(pairs_needed(1)) * 2.0 * self.run_s * SPARE
    }

    /// Pairs for each of `settings` settings, so that a confirmation still fits.
    fn pairs_for(&self, settings: usize) -> u32 {
        let seconds = (self.left_s() - self.confirmation_s()) / settings.max(1) as f64;
        self.pairs_in(seconds)
    }

    /// How many pairs each setting gets. Those that the budget leaves out are the last ones.
    pub(super) fn fit(
        &self,
        candidates: &mut Vec<SettingState>,
        not_tried: &mut Vec<UntriedSetting>,
    ) -> anyhow::Result<u32> {
        let mut fitting = candidates.len();
        while fitting > 0 && self.pairs_for(fitting) < pairs_needed(fitting) {
            fitting -= 1;
        }
        if fitting == 0 && !candidates.is_empty() {
            let needed_s = self.took_s() + 2.0 * self.confirmation_s();
            bail!(
                "--budget {:.0}s: a run takes {:.1} s here, so one setting and its confirmation \
                 take {:.0} s; raise it, or shorten the runs: --set seconds=1",
                self.seconds,
                self.run_s,
                needed_s.ceil()
            );
        }
        for one in candidates.split_off(fitting) {
            let why = "the budget ends before it; raise --budget".to_owned();
            not_tried.push(UntriedSetting { id: one.id, why });
        }
        Ok(self.pairs_for(fitting).clamp(RUNS_MIN as u32, PAIRS_WANTED.min(ROUNDS_MAX)))
    }

    /// Pairs and the deadline of the next setting, of which `left` are to come and `all` are
    /// looked at; `None` if too few pairs are left for a verdict.
    pub(super) fn next(&self, all: usize, left: usize, planned: u32) -> Option<(u32, Deadline)> {
        // The last settings go first where runs have become slower.
        let fits = |settings: &usize| self.pairs_for(*settings) >= pairs_needed(all);
        let settings = (1..=left).rev().find(fits)?;
        let seconds = (self.left_s() - self.confirmation_s()).max(0.0);
        Some((self.pairs_for(settings).min(planned), after(seconds)))
    }

    /// Pairs and the deadline of the confirmation.
    pub(super) fn last(&self, planned: u32) -> (u32, Deadline) {
        let pairs =
            self.pairs_in(self.left_s()).clamp(RUNS_MIN as u32, planned.max(RUNS_MIN as u32));
        (pairs, after(self.left_s()))
    }
}

fn after(seconds: f64) -> Deadline {
    Deadline::after(Duration::from_secs_f64(seconds))
}

/// Pairs without which no effect of `settings` settings could pass the correction: of n pairs,
/// chance alone gives the same sign to all with probability 2 / 2^n. The figures of a setting are
/// two families, p50 and the others (stats::verdict).
fn pairs_needed(settings: usize) -> u32 {
    let families = (2 * settings.max(1)) as f64;
    let needed = (2.0 * families / SIGNIFICANCE).log2().floor() as u32 + 1;
    needed.max(RUNS_MIN as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(count: usize) -> Vec<SettingState> {
        (0..count)
            .map(|number| SettingState { id: number.to_string(), ..SettingState::default() })
            .collect()
    }

    fn budget(minutes: f64, run_s: f64) -> Budget {
        Budget { run_s, ..Budget::begin(minutes * 60.0) }
    }

    #[test]
    fn the_budget_decides_how_many_settings_and_pairs() {
        let mut not_tried = Vec::new();
        let mut few = named(2);
        assert_eq!(budget(30.0, 5.0).fit(&mut few, &mut not_tried).unwrap(), PAIRS_WANTED);
        assert!(not_tried.is_empty());
        let mut many = named(60);
        let pairs = budget(60.0, 5.0).fit(&mut many, &mut not_tried).unwrap();
        assert!(pairs >= pairs_needed(many.len()), "{pairs} for {}", many.len());
        assert_eq!(many.len() + not_tried.len(), 60);
        assert_eq!(not_tried[0].id, many.len().to_string(), "the last ones are left out");
        // All of it, and the confirmation, end in time.
        let seconds = f64::from(pairs * many.len() as u32 + pairs_needed(1)) * 2.0 * 5.0;
        assert!(seconds <= 3_600.0, "{seconds}");
        let error = budget(0.5, 5.0).fit(&mut named(1), &mut not_tried).unwrap_err().to_string();
        assert!(error.contains("raise it") && error.contains("5.0 s"), "{error}");
    }

    #[test]
    fn slower_runs_leave_the_last_settings_out() {
        let budget = budget(10.0, 1.0);
        let (pairs, _) = budget.next(10, 10, 16).unwrap();
        assert!((9..=16).contains(&pairs), "{pairs}");
        let slower = Budget { run_s: 2.0, ..budget };
        let (pairs, _) = slower.next(10, 10, 16).unwrap();
        assert!(pairs >= pairs_needed(10), "{pairs}: fewer settings, not fewer pairs");
        let slow = Budget { run_s: 30.0, ..slower };
        assert!(slow.next(10, 10, 16).is_none());
    }

    #[test]
    fn enough_pairs_pass_the_correction() {
        for settings in [1, 5, 30] {
            let pairs = pairs_needed(settings);
            let least = 2.0 / 2_f64.powi(pairs as i32);
            assert!(least * settings as f64 <= SIGNIFICANCE, "{settings}");
        }
    }
}
