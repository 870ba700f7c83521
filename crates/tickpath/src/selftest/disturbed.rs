//! `tickpath selftest --disturbed` disturbs the machine on purpose, and checks that figures that
//! hold stay as they are.
//!
//! It makes runs in pairs, one of each disturbed from outside. A figure that holds in the disturbed
//! run may differ from the other run's no more than two runs differ that nobody disturbed on
//! purpose. docs/METHODOLOGY.md has the rule.

use super::{SHORT, figure_name};
use crate::cli::SelftestArguments;
use crate::exit::{DONE, GATE_FAILED, NO_RESULT};
use crate::page::write;
use crate::print::{show, show_report};
use crate::progress::with_screen;
use crate::project::Project;
use crate::signals;
use crate::treatment::conduct;
use anyhow::{Context, bail};
use clock::Deadline;
use host::Root;
use host::page_out::{self, page_out};
use record::{RunRecord, Series};
use report::{DisturbedFigure, DisturbedRow};
use rustix::process::Pid;
use scenario::Conduct;
use scenario::Interrupt;
use stats::PERCENTILES;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Pairs of each kind.
const PAIRS: u32 = 40;
/// Share of the pairs in which a figure holds that may differ by more than undisturbed ones.
const DIFFER_MAX_SHARE: f64 = 0.1;
/// Undisturbed pairs differ by more than the limit in one of twenty.
const LIMIT_QUANTILE: f64 = 0.95;
/// Share of the disturbed runs in which a figure must hold: a test that lets nothing hold proves
/// nothing.
const POWER: [(&str, f64); 2] = [("p50", 0.9), ("p90", 0.5)];

/// A thread takes a measured core for this long, and this often.
const TAKES: Duration = Duration::from_millis(1);
const TAKES_EVERY: Duration = Duration::from_millis(20);
/// How often pages of the subject are written to swap: the next use of each faults.
const FAULTS_EVERY: Duration = Duration::from_millis(20);
/// Datagrams in a burst over loopback, and how often.
const BURST: usize = 500;
const BURST_EVERY: Duration = Duration::from_millis(20);

/// Disturbs until `stop` is set. `cores` are those of exchange and client.
type Disturb = fn(cores: &[usize], stop: &AtomicBool) -> anyhow::Result<()>;

const FAULTS: &str = "page faults in the subject's memory";

const DISTURBANCES: [(&str, Disturb); 3] = [
    ("a thread takes a measured core for 1 ms in 20", take_a_core),
    (FAULTS, fault_pages),
    ("bursts of datagrams on loopback", send_bursts),
];

/// Disturbances that this machine can make.
fn possible() -> Vec<(&'static str, Disturb)> {
    let mut all = DISTURBANCES.to_vec();
    if !page_out::is_possible(&Root::system()) {
        eprintln!(
            "warning: {FAULTS} are not tried: this machine has no swap to take pages away to; add some \
             (a zram device will do) to try them"
        );
        all.retain(|(name, _)| *name != FAULTS);
    }
    all
}

/// Relative differences of one figure between the two runs of each pair, with whether it holds in
/// the second.
type Differences = Vec<(f64, bool)>;

pub(super) fn disturbed(arguments: &SelftestArguments) -> anyhow::Result<u8> {
    let directory = crate::errors::make_directory(
        &Project::find()?.directory(arguments.output.out.as_deref()),
        "selftest",
    )?;
    let interrupt = signals::interrupt()?;
    let pairs = arguments.pairs.unwrap_or(PAIRS);
    let bench =
        Bench { directory: &directory, quiet: arguments.output.quiet, interrupt: &interrupt };
    // All kinds of pairs in turns, so that a machine that changes meets all alike.
    let mut undisturbed = vec![Differences::new(); PERCENTILES.len()];
    let disturbances = possible();
    let mut disturbed = vec![undisturbed.clone(); disturbances.len()];
    for pair in 0..pairs {
        bench.pair(pair, None, &mut undisturbed)?;
        for (index, (_, disturb)) in disturbances.iter().enumerate() {
            bench.pair(pair, Some(*disturb), &mut disturbed[index])?;
        }
        if interrupt.is_set() {
            eprintln!(
                "error: interrupted after {pair} of {pairs} pairs; the remaining pairs were not made"
            );
            return Ok(NO_RESULT);
        }
    }
    let limits: Vec<f64> = undisturbed.iter().map(limit).collect();
    let mut rows: Vec<DisturbedRow> = Vec::new();
    for ((name, _), figures) in disturbances.iter().zip(&disturbed) {
        rows.push(DisturbedRow {
            disturbance: (*name).to_owned(),
            pairs: pairs as usize,
            figures: figures
                .iter()
                .zip(&limits)
                .zip(PERCENTILES)
                .map(|((all, limit), (percentile, _))| judged(percentile, all, *limit))
                .collect(),
        });
    }
    let passed =
        rows.iter().all(|row| passes(row, false)) && !rows.iter().all(|row| passes(row, true));
    let found = serde_json::json!({"passed": passed, "rows": rows});
    let found = serde_json::to_string_pretty(&found)?;
    write(&directory.join("selftest.json"), &found)?;
    match arguments.output.json {
        true => show(&format!("{found}\n"))?,
        false => {
            show_report(&report::disturbed(&rows, passed))?;
            show(&format!("\nrecords: {}\n", directory.display()))?;
        }
    }
    Ok(if passed { DONE } else { GATE_FAILED })
}

/// By how much undisturbed pairs differ, 95 times of 100; nothing where no pair has the figure.
fn limit(all: &Differences) -> f64 {
    let mut differences: Vec<f64> = all.iter().map(|(difference, _)| *difference).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let at = (differences.len() as f64 * LIMIT_QUANTILE).ceil() as usize;
    differences.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn judged(percentile: &str, all: &Differences, limit: f64) -> DisturbedFigure {
    let differs = |(difference, _): &&(f64, bool)| *difference > limit;
    DisturbedFigure {
        percentile: figure_name(percentile),
        limit,
        pairs: all.len(),
        holds: all.iter().filter(|(_, holds)| *holds).count(),
        differ: all.iter().filter(|(_, holds)| *holds).filter(differs).count(),
        differ_if_all_held: all.iter().filter(differs).count(),
    }
}

/// Whether what holds stays as it is; with `forced`, whether everything does.
fn passes(row: &DisturbedRow, forced: bool) -> bool {
    let may_differ = (row.pairs as f64 * DIFFER_MAX_SHARE) as usize;
    let stays = row.figures.iter().all(|figure| {
        let differ = if forced { figure.differ_if_all_held } else { figure.differ };
        differ <= may_differ
    });
    let has_power = POWER.iter().all(|(percentile, share)| {
        let figure = row.figures.iter().find(|figure| figure.percentile == *percentile);
        figure.is_some_and(|figure| figure.holds as f64 >= share * row.pairs as f64)
    });
    stays && (forced || has_power)
}

struct Bench<'a> {
    directory: &'a Path,
    quiet: bool,
    interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// Two runs, of which the second is disturbed if `disturb` says how; which comes first changes
    /// with each pair.
    fn pair(
        &self,
        pair: u32,
        disturb: Option<Disturb>,
        into: &mut [Differences],
    ) -> anyhow::Result<()> {
        if self.interrupt.is_set() {
            return Ok(());
        }
        let (a, b) = match pair % 2 {
            0 => {
                let a = self.run(None)?;
                (a, self.run(disturb)?)
            }
            _ => {
                let b = self.run(disturb)?;
                (self.run(None)?, b)
            }
        };
        let (Some(a), Some(b)) = (a.main_series(), b.main_series()) else { return Ok(()) };
        for (index, (_, quantile)) in PERCENTILES.iter().enumerate() {
            let value = |series: &Series| series.pooled.values()[index].filter(|ns| *ns > 0);
            if let (Some(of_a), Some(of_b)) = (value(a), value(b)) {
                let difference = (of_b as f64 / of_a as f64).ln().abs();
                into[index].push((difference, b.holds(*quantile)));
            }
        }
        Ok(())
    }

    fn run(&self, disturb: Option<Disturb>) -> anyhow::Result<RunRecord> {
        let sets: Vec<String> =
            SHORT.iter().chain(&["runs=1"]).map(|set| (*set).to_owned()).collect();
        let conduct = conduct("order-to-ack", &sets, self.directory)?;
        let stop = AtomicBool::new(false);
        let cores = cores_of(&conduct)?;
        let done = std::thread::scope(|scope| {
            let disturbing = disturb.map(|disturb| {
                let (cores, stop) = (&cores, &stop);
                let thread = std::thread::Builder::new().name("disturber".to_owned());
                thread.spawn_scoped(scope, move || disturb(cores, stop))
            });
            let done = with_screen(self.quiet, |say| conduct.carry_out(self.interrupt, say));
            stop.store(true, Ordering::Relaxed);
            if let Some(disturbing) = disturbing {
                disturbing?.join().unwrap_or_else(|_| bail!("the disturbing thread panicked"))?;
            }
            anyhow::Ok(done?)
        });
        let (record, path) = done?;
        if record.is_void() && !self.interrupt.is_set() {
            let why = record.void_because.join("; ");
            bail!("a run is void, which no disturbance may make it: {why} ({})", path.display());
        }
        Ok(record)
    }
}

/// The cores on which the scenario measures here.
fn cores_of(conduct: &Conduct) -> anyhow::Result<Vec<usize>> {
    let cores = conduct.measured_cores()?;
    match cores.len() {
        0 => bail!("no core can be measured on: this process may run on none of its own"),
        _ => Ok(cores),
    }
}

fn take_a_core(cores: &[usize], stop: &AtomicBool) -> anyhow::Result<()> {
    host::thread::pin(*cores.last().context("no core")?)?;
    while !stop.load(Ordering::Relaxed) {
        let deadline = Deadline::after(TAKES);
        while !deadline.left().is_zero() {}
        std::thread::sleep(TAKES_EVERY - TAKES);
    }
    Ok(())
}

/// Takes pages from exchange and client: their next use of each faults.
fn fault_pages(_: &[usize], stop: &AtomicBool) -> anyhow::Result<()> {
    let root = Root::system();
    while !stop.load(Ordering::Relaxed) {
        for child in children() {
            // It may have ended meanwhile.
            let _ = page_out(&root, child);
        }
        std::thread::sleep(FAULTS_EVERY);
    }
    Ok(())
}

/// The processes that this one has started: exchange and client.
fn children() -> Vec<Pid> {
    let own = std::process::id();
    let tasks = std::fs::read_dir(format!("/proc/{own}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            let numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
            numbers.filter_map(Pid::from_raw).collect::<Vec<Pid>>()
        })
        .collect()
}

fn send_bursts(_: &[usize], stop: &AtomicBool) -> anyhow::Result<()> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let to = receiver.local_addr()?;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            // One that finds the receiver's buffer full is dropped, and has cost its time by then.
            let _ = sender.send_to(&[0; 64], to);
        }
        std::thread::sleep(BURST_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(holds: usize, differ: usize, differ_if_all_held: usize) -> DisturbedRow {
        let figure = |percentile: &str| DisturbedFigure {
            percentile: percentile.to_owned(),
            limit: 0.1,
            pairs: 40,
            holds,
            differ,
            differ_if_all_held,
        };
        DisturbedRow {
            disturbance: String::new(),
            pairs: 40,
            figures: vec![figure("p50"), figure("p90")],
        }
    }

    #[test]
    fn four_of_forty_may_differ_and_p50_must_hold_in_nine_of_ten() {
        assert!(passes(&row(36, 4, 30), false));
        assert!(!passes(&row(36, 5, 30), false));
        assert!(!passes(&row(35, 0, 30), false));
        assert!(!passes(&row(36, 4, 30), true));
        assert!(passes(&row(36, 4, 4), true));
    }

    #[test]
    fn the_limit_is_what_undisturbed_pairs_keep_in_nineteen_of_twenty() {
        let all: Differences = (1..=20).map(|n| (f64::from(n), true)).collect();
        assert_eq!(limit(&all), 19.0);
        assert_eq!(limit(&Vec::new()), 0.0);
        let found = judged("p99_9", &all, 18.0);
        assert_eq!((found.holds, found.differ, found.percentile.as_str()), (20, 2, "p99.9"));
    }

    #[test]
    fn this_process_finds_what_it_started() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        assert!(children().contains(&Pid::from_child(&child)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
