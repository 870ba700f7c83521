//! Reads the samples of all runs of a subject: which stages made up the time, and the slowest
//! ticks.

use crate::conduct::Entrant;
use crate::evidence::{Run, SubjectResult};
use crate::kind::ticks::files;
use clock::utc::Time;
use plan::Scenario;
use plan::scenario::Measure;
use record::tick::attribution::Ways;
use record::tick::samples as tick_samples;
use record::tick::{Attribution, INTERVALS, Interval, Point, STAGES, Sample, Tick, TracedTick};
use record::{self, ClientResult, Load, Series};
use std::collections::BTreeMap;
use std::path::Path;

/// The intervals to explain: tick to gateway, which judges a trader, and the whole round trip.
fn explained() -> impl Iterator<Item = &'static Interval> {
    INTERVALS.iter().filter(|one| {
        one.kind == record::Kind::Response && matches!(one.to, Point::GatewayIn | Point::Replied)
    })
}

/// Attribution of one subject's samples.
#[derive(Debug, Default)]
pub(crate) struct Explanation {
    pub attribution: Vec<Attribution>,
    pub traced: Vec<TracedTick>,
    pub warnings: Vec<String>,
}

/// Reads the samples of all runs of `entrant`.
pub(crate) fn explain(
    entrant: &Entrant,
    scenario: &Scenario,
    path: &Path,
    runs: &[Run],
) -> Explanation {
    let mut told = Explanation::default();
    if scenario.kind != Measure::Ticks {
        return told;
    }
    let name = &entrant.name;
    let mut samples_of_runs: Vec<Vec<Sample>> = Vec::new();
    let mut bound_ns = 0;
    for (number, run) in (1..).zip(runs) {
        let measured = run.measured.iter().find(|measured| measured.subject == *name);
        bound_ns = bound_ns.max(measured.map_or(0, |measured| bound(&measured.result)));
        let samples = tick_samples::read(&files::samples(path, number, name));
        // A run that broke off may have left none; its result says so.
        samples_of_runs.push(samples.unwrap_or_else(|error| {
            if measured.is_some_and(|measured| measured.result.complete) {
                told.warnings
                    .push(format!("{name}'s samples of run {number} can't be read: {error}"));
            }
            Vec::new()
        }));
    }
    let all: Vec<&[Sample]> = samples_of_runs.iter().map(Vec::as_slice).collect();
    let refused = refused(name, runs);
    for interval in explained() {
        if let Some(why) =
            stages_of(interval).find_map(|stage| refused.get(format!("{stage}.stage").as_str()))
        {
            let Interval { name: of, kind, .. } = interval;
            told.warnings.push(format!(
                "what {name}'s {of}.{} was made of is not given: {why}",
                kind.name()
            ));
            continue;
        }
        let ways = Ways::new(&all, interval, bound_ns);
        told.attribution.extend(ways.attributions());
        // The slowest by the last interval, the whole path, if the replies have stamps.
        let worst = ways.worst(scenario.trace);
        told.traced = if worst.is_empty() { told.traced } else { worst };
    }
    if entrant.is_floor {
        told.traced.clear();
    }
    for traced in &mut told.traced {
        let run = &runs[traced.run as usize - 1];
        let measured = run.measured.iter().find(|measured| measured.subject == *name);
        if let Some(taking) = measured.and_then(|measured| measured.taking.as_ref()) {
            taking.note(traced);
        }
    }
    told.warnings.extend(not_watched(name, runs));
    told
}

/// The series between two clocks that a run omitted, and why.
fn refused<'a>(name: &str, runs: &'a [Run]) -> BTreeMap<&'a str, &'a str> {
    let own = runs.iter().flat_map(|run| &run.measured).filter(|one| one.subject == *name);
    own.flat_map(|measured| {
        let Load { tick, between, .. } = &measured.result.load;
        let of_ticks = tick.iter().flat_map(|tick| &tick.time.refused);
        of_ticks.chain(between.iter().flat_map(|between| &between.withheld))
    })
    .map(|(series, why)| (series.as_str(), why.as_str()))
    .collect()
}

/// Removes series that any run omitted, with a warning. Fast runs omit a series first, so the
/// remaining slow runs would stand for all.
pub(crate) fn take_out_refused(
    name: &str,
    runs: &[Run],
    series: &mut Vec<Series>,
) -> Option<String> {
    let refused = refused(name, runs);
    let taken = series.extract_if(.., |one| refused.contains_key(one.own_tag().as_str()));
    let tags: Vec<String> = taken.map(|one| one.own_tag()).collect();
    let why = refused.get(tags.first()?.as_str())?;
    Some(format!(
        "left out of {name}, as not every run could give it: {}. The figures of the runs that could would be too high. One that \
         could not: {why}",
        tags.join(", ")
    ))
}

fn stages_of(interval: &Interval) -> impl Iterator<Item = &'static str> {
    STAGES[interval.from as usize..interval.to as usize].iter().map(|stage| stage.name)
}

/// How far stamps of different clocks may disagree.
fn bound(result: &ClientResult) -> u64 {
    let of = |tick: &Tick| {
        let Time { kernel_bound_ns, exchange_bound_ns, .. } = &tick.time;
        kernel_bound_ns.unwrap_or(0).saturating_add(exchange_bound_ns.unwrap_or(0))
    };
    result.load.tick.iter().map(of).max().unwrap_or(0)
}

/// Why it is unknown what took the cores, if it is.
fn not_watched(name: &str, runs: &[Run]) -> Option<String> {
    let missing = |measured: &'_ SubjectResult| measured.taking.as_ref()?.missing.clone();
    let own = runs.iter().flat_map(|run| &run.measured).filter(|one| one.subject == *name);
    let why = own.filter_map(missing).next()?;
    Some(format!(
        "what took the cores of {name}'s worst ticks is not known, or not all of it: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::{Conduct, entrants};
    use crate::evidence::taken::RunPreemptions;
    use crate::evidence::{FeedExpectation, Run};
    use crate::placement::ScenarioCores;
    use plan::Scenario;
    use record::tick::{Audit, POINTS};
    use std::fs::File;

    fn conduct(sets: &[&str]) -> Conduct {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Conduct::of(Scenario::find("tick-to-trade", &sets).unwrap())
    }

    fn run(taking: Option<RunPreemptions>) -> Run {
        let mut result = ClientResult { complete: true, ..ClientResult::default() };
        result.load.tick = vec![Tick::default()];
        let measured = SubjectResult {
            subject: "rust".to_owned(),
            kind: Measure::Ticks,
            planned: None,
            result,
            exchange: None,
            asked: FeedExpectation::default(),
            is_floor: false,
            seen: crate::evidence::seen::EntrantDisturbance::default(),
            taking,
        };
        Run { measured: vec![measured], ..Run::default() }
    }

    /// 100 ns per stage; tick `slow` takes 5 us to leave.
    fn samples(slow: u64) -> Vec<Sample> {
        let sample = |number| {
            let mut stamps = std::array::from_fn(|point| 10_000 * number + 100 * point as u64);
            if number == slow {
                stamps[Point::GatewayIn as usize..POINTS]
                    .iter_mut()
                    .for_each(|stamp| *stamp += 5_000);
            }
            Sample { number, stamps }
        };
        (1..=1_000).map(sample).collect()
    }

    fn explained_in(directory: &Path, conduct: &Conduct, runs: &[Run]) -> Explanation {
        let placed = ScenarioCores {
            exchange: vec![0],
            subjects: vec![vec![1]],
            ..ScenarioCores::default()
        };
        let entrants = entrants(conduct, &placed);
        explain(&entrants[0], &conduct.scenario, directory, runs)
    }

    #[test]
    fn the_samples_of_all_runs_are_explained_as_one() {
        let directory = tempfile::tempdir().unwrap();
        for (run, slow) in [(1, 7), (2, 9)] {
            let path = files::samples(directory.path(), run, "rust");
            tick_samples::write(File::create(&path).unwrap(), &samples(slow)).unwrap();
        }
        let taking = RunPreemptions::unknown("nobody looked".to_owned());
        let runs = [run(None), run(Some(taking))];
        let told = explained_in(directory.path(), &conduct(&["trace=3"]), &runs);
        let around: Vec<(&str, &str, u64)> = told
            .attribution
            .iter()
            .map(|one| (one.of.as_str(), one.around.as_str(), one.total_ns))
            .collect();
        let expected = [
            ("tick_to_gateway", "p50", 900),
            ("tick_to_gateway", "p99", 900),
            ("tick_to_ack", "p50", 1_300),
            ("tick_to_ack", "p99", 1_300),
        ];
        assert_eq!(around, expected);
        let worst: Vec<(u32, u64, u64)> =
            told.traced.iter().map(|one| (one.run, one.number, one.total_ns)).collect();
        assert_eq!(worst, [(2, 9, 6_300), (1, 7, 6_300), (2, 1_000, 1_300)]);
        assert_eq!(told.warnings.len(), 1, "{:?}", told.warnings);
        assert!(told.warnings[0].ends_with("nobody looked"), "{:?}", told.warnings);
        for name in ["001.rust.audit", "002.rust.audit", "001.hlog"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        files::remove_all(directory.path(), 2, 1);
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut left: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["001.hlog", "002.rust.audit"]);
    }

    #[test]
    fn a_record_names_the_audit_logs_that_stay() {
        let tick = |file: &str| Tick {
            audit: Some(Audit { file: file.to_owned(), ..Audit::default() }),
            ..Tick::default()
        };
        let mut record = record::RunRecord::default();
        let mut subject = record::Subject::default();
        // The second run left no audit log.
        subject.load.tick = ["001.rust.audit", "003.rust.audit", "004.rust.audit"].map(tick).into();
        record.subjects = vec![subject];
        files::name_kept_audits(&mut record, 4, 2);
        let ticks = &record.subjects[0].load.tick;
        let names: Vec<&str> =
            ticks.iter().map(|tick| tick.audit.as_ref().unwrap().file.as_str()).collect();
        assert_eq!(names, ["", "003.rust.audit", "004.rust.audit"]);
    }

    #[test]
    fn what_one_run_refuses_no_run_speaks_for() {
        let mut runs = [run(None), run(None), run(None)];
        for run in &mut runs {
            for tag in ["rust.network_out.stage", "rust.decision.service"] {
                let mut samples = clock::recorder::histogram();
                samples.record_n(10_500, 100).unwrap();
                run.totals.insert(tag.to_owned(), samples);
            }
        }
        let series = |runs: &[Run]| {
            let totals: Vec<_> = runs.iter().map(|run| &run.totals).collect();
            record::merge::pooling::series(
                "rust",
                &totals,
                3,
                &record::merge::pooling::FigureJudge::UNDISTURBED,
            )
        };
        let mut all = series(&runs);
        assert_eq!(take_out_refused("rust", &runs, &mut all), None);
        assert_eq!(all.len(), 2);
        runs[1].totals.remove("rust.network_out.stage");
        let time = &mut runs[1].measured[0].result.load.tick[0].time;
        time.refused.insert("network_out.stage".to_owned(), "too far apart".to_owned());
        let mut all = series(&runs);
        let said = take_out_refused("rust", &runs, &mut all).unwrap();
        assert!(said.contains("network_out.stage") && said.ends_with("too far apart"), "{said}");
        assert_eq!(all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["decision"]);
        // A series that no run has is reported elsewhere.
        runs.iter_mut().for_each(|run| _ = run.totals.remove("rust.network_out.stage"));
        assert_eq!(take_out_refused("rust", &runs, &mut series(&runs)), None);
    }

    #[test]
    fn samples_that_are_missing_are_said_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let told = explained_in(directory.path(), &conduct(&[]), &[run(None)]);
        assert_eq!((told.attribution.len(), told.traced.len()), (0, 0));
        assert!(
            told.warnings[0].contains("rust's samples of run 1 can't be read"),
            "{:?}",
            told.warnings
        );
    }
}
