//! `tickpath selftest`: does tickpath detect known faults on this machine? Four experiments with
//! the real processes, whose answers are known.

mod disturbed;

use crate::cli::SelftestArguments;
use crate::exit::{DONE, GATE_FAILED, INCONCLUSIVE, NO_RESULT};
use crate::page::write;
use crate::print::{show, show_report};
use crate::progress::with_screen;
use crate::project::Project;
use crate::signals;
use crate::treatment::conduct;
use anyhow::bail;
use record::comparison::compared::ComparedFigure;
use record::comparison::selector::Figure;
use record::comparison::{Question, Runs, compare};
use record::{Kind, RunRecord, Verdict};
use report::Finding;
use scenario::Interrupt;
use scenario::experiment::{Experiment, Rounds, Side, Treatment};
use stats::compare::{Design, SIGNIFICANCE};
use stats::verdict::Outcome;
use std::path::{Path, PathBuf};

/// Delay of the exchange's answers.
const DELAY_US: u64 = 50;
/// How long the trader stands still, and how often: a fifth of all messages are late, so that p90
/// shows it.
const STALL_MS: u64 = 10;
const STALL_EVERY_MS: u64 = 50;
/// One of this many writes on each connection vanishes. Where busy loops take the core, an exchange
/// answers hundreds of messages by one write.
const DROP_EVERY: u64 = 10;
/// A stall may add to the p90 of service time at most this share of what it adds to that of
/// response time: the messages that waited leave in one burst, and bursts take a little longer.
const SERVICE_SHARE_MAX: f64 = 0.1;
/// Runs are short: the effects are ten times the noise.
const SHORT: [&str; 4] =
    ["seconds=1", "warm_up_seconds=0.2", "floor_seconds=0", "hiccup_seconds=0.2"];

/// A message every 250 us, on one connection.
const UNHURRIED: [&str; 3] = ["order-to-ack", "load.rate_per_second=4000", "load.connections=1"];

/// Where and how the experiments are made.
struct Bench<'a> {
    directory: PathBuf,
    pairs: u32,
    quiet: bool,
    interrupt: &'a Interrupt,
}

/// An experiment with its name, and what it must find.
type Check = (&'static str, fn(&Bench<'_>) -> anyhow::Result<Finding>);

const CHECKS: [Check; 4] =
    [("same", same), ("stall", stall), ("delay", delay), ("drop", dropped_reply)];

/// Runs of each treatment by default.
const PAIRS: u32 = 12;

pub(crate) fn selftest(arguments: &SelftestArguments) -> anyhow::Result<u8> {
    if arguments.disturbed {
        return disturbed::disturbed(arguments);
    }
    let directory = crate::errors::make_directory(
        &Project::find()?.directory(arguments.output.out.as_deref()),
        "selftest",
    )?;
    let interrupt = signals::interrupt()?;
    let pairs = arguments.pairs.unwrap_or(PAIRS);
    let bench = Bench { directory, pairs, quiet: arguments.output.quiet, interrupt: &interrupt };
    let mut status = DONE;
    let mut found = Vec::new();
    let wanted =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let checks: Vec<Check> = CHECKS.into_iter().filter(|(name, _)| wanted(name)).collect();
    for (index, (name, check)) in checks.iter().enumerate() {
        if !arguments.output.quiet {
            eprintln!("checking {name}, {} of {}", index + 1, checks.len());
        }
        let finding = check(&bench)?;
        if interrupt.is_set() {
            eprintln!("error: interrupted: the remaining checks were not run");
            return Ok(NO_RESULT);
        }
        status = match (finding.passed(), status) {
            (Some(true), status) => status,
            (Some(false), _) | (None, GATE_FAILED) => GATE_FAILED,
            (None, _) => INCONCLUSIVE,
        };
        let line = report::finding(&finding);
        if !arguments.output.json {
            show_report(&line)?;
        }
        found.push(serde_json::json!({
            "check": name, "passed": finding.passed(), "found": line.trim_end(),
        }));
    }
    let found = serde_json::to_string_pretty(&found)?;
    write(&bench.directory.join("selftest.json"), &found)?;
    if arguments.output.json {
        show(&format!("{found}\n"))?;
    } else {
        show(&format!("\nrecords: {}\n", bench.directory.display()))?;
    }
    Ok(status)
}

impl Bench<'_> {
    /// A scenario as it is against the same with a fault, and the figures found.
    fn with_fault(
        &self,
        name: &str,
        scenario: &[&str],
        fault: &[&str],
        figure: &str,
    ) -> anyhow::Result<Vec<ComparedFigure>> {
        let with_fault: Vec<&str> = scenario.iter().chain(fault).copied().collect();
        let treatments = [treatment(scenario)?, treatment(&with_fault)?];
        let experiment = Experiment {
            treatments: &treatments.each_ref(),
            rounds: self.pairs,
            directory: &self.directory.join(name),
            // A stalled pacer is late, which makes a run void; here that is the purpose.
            takes_void: true,
            deadline: None,
            switch: None,
        };
        let pairs = with_screen(self.quiet, |say| experiment.carry_out(self.interrupt, say))?;
        if pairs.count() < self.pairs as usize && !self.interrupt.is_set() {
            let (made, asked) = (pairs.count(), self.pairs);
            let why = pairs.failure.unwrap_or_default();
            bail!("{name}: {made} of {asked} pairs were made: {why}");
        }
        Ok(figures(&pairs, figure))
    }
}

/// `p99_9` as a person writes it.
fn figure_name(percentile: &str) -> String {
    percentile.replace('_', ".")
}

/// A scenario's name and what is set in it.
fn treatment(words: &[&str]) -> anyhow::Result<Treatment> {
    let sets: Vec<String> = SHORT.iter().chain(&words[1..]).map(|set| (*set).to_owned()).collect();
    Ok(Treatment::Scenario(Box::new(conduct(words[0], &sets, Path::new(""))?)))
}

fn figures(pairs: &Rounds, figure: &str) -> Vec<ComparedFigure> {
    let runs = |side: Side| {
        let made = pairs.of(side);
        Runs::of_records(&made.iter().map(|one| one.record.clone()).collect::<Vec<RunRecord>>())
    };
    let question = Question {
        design: Design::Interleaved,
        figures: figure.split(',').filter_map(|figure| figure.parse::<Figure>().ok()).collect(),
        floor_is_control: false,
        forced: false,
    };
    compare(&question, &runs(Side::A), &runs(Side::B))
}

fn figure_of(figures: &[ComparedFigure], kind: Kind) -> Option<&ComparedFigure> {
    figures.iter().find(|figure| figure.series == "order" && figure.kind == kind)
}

/// A against A is neither better nor worse.
fn same(bench: &Bench<'_>) -> anyhow::Result<Finding> {
    let figures = bench.with_fault("same", &["ping-pong"], &[], "p50,p90")?;
    Ok(Finding::Same {
        runs: bench.pairs as usize,
        looked_at: figures.len(),
        told_apart: figures
            .iter()
            .filter(|figure| figure.outcome.is_difference())
            .map(ComparedFigure::name)
            .collect(),
    })
}

/// A trader that stalls sends late: response time shows it, service time hardly.
fn stall(bench: &Bench<'_>) -> anyhow::Result<Finding> {
    let faults = [
        format!("subject.rust.inject.stall_ms={STALL_MS}"),
        format!("subject.rust.inject.stall_every_ms={STALL_EVERY_MS}"),
    ];
    let figures = bench.with_fault("stall", &["order-to-ack"], &[&faults[0], &faults[1]], "p90")?;
    let (response, service) =
        (figure_of(&figures, Kind::Response), figure_of(&figures, Kind::Service));
    let (Some(response), Some(service)) = (response, service) else {
        return Ok(Finding::Nothing { check: "a stall" });
    };
    Ok(Finding::Stall {
        stall_ms: STALL_MS,
        every_ms: STALL_EVERY_MS,
        response_ns_p90: [response.effect.a, response.effect.b],
        service_ns_p90: [service.effect.a, service.effect.b],
        // A single hypothesis is tested here, so p needs no correction.
        seen: response.effect.p < SIGNIFICANCE
            && response.effect.change > response.effect.noise_floor
            && service.effect.added_ns as f64
                <= response.effect.added_ns as f64 * SERVICE_SHARE_MAX,
    })
}

/// A delay in every answer is found, as much as it is. Not in ping-pong: a trader that waits 50 us
/// longer finds its caches colder and adds a microsecond of its own. On a slow schedule they are as
/// cold without.
fn delay(bench: &Bench<'_>) -> anyhow::Result<Finding> {
    let fault = format!("exchange.inject.delay_us={DELAY_US}");
    let figures = bench.with_fault("delay", &UNHURRIED, &[&fault], "p50")?;
    let Some(service) = figure_of(&figures, Kind::Service) else {
        return Ok(Finding::Nothing { check: "a delay" });
    };
    Ok(Finding::Delay {
        injected_ns: DELAY_US as i64 * 1000,
        added_ns: service.effect.added_ns,
        interval_ns: service.effect.added_ns_interval,
        is_worse: service.outcome == Outcome::Worse,
    })
}

/// A reply that never comes is counted and makes the run void.
fn dropped_reply(bench: &Bench<'_>) -> anyhow::Result<Finding> {
    let fault = format!("exchange.inject.drop_every={DROP_EVERY}");
    let sets: Vec<String> = SHORT
        .iter()
        .chain(&["runs=1", "load.accounts=4", "load.connections=4", &fault])
        .map(|set| (*set).to_owned())
        .collect();
    let conduct = conduct("order-to-ack", &sets, &bench.directory.join("drop"))?;
    let (record, _) = with_screen(bench.quiet, |say| conduct.carry_out(bench.interrupt, say))?;
    let load = record.subjects.first().map(|subject| subject.load.clone()).unwrap_or_default();
    let broken = |rule: &str| {
        let of_rule = |one: &&record::Rule| one.rule.ends_with(rule);
        record.rules.iter().filter(of_rule).any(|one| one.verdict == Verdict::Broken)
    };
    Ok(Finding::Drop {
        sent: load.sent,
        lost: load.lost,
        is_void: record.is_void() && broken("replies"),
    })
}
