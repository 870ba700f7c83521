//! Makes the record from what the processes left.

use crate::conduct::{Conduct, Entrant};
use crate::disturbance::{largest, series};
use crate::evidence::Run;
use crate::kind::ticks::attribution;
use crate::placement::ScenarioCores;
use clock::Clock;
use clock::calendar::utc;
use host::Cores;
use noise::hiccup;
use plan::Scenario;
use plan::tables::subject::Dialect;
use plan::tables::ticks::FeedDialect;
use plan::tables::ticks::Network;
use record::directory::hlog;
use record::hlog::Totals;
use record::machine::{self, Machine};
use record::merge::pooling::{self, FigureJudge};
use record::noise::Noise;
use record::size_fit::SizeFit;
use record::{self, Kind, LeftOutRun, Load, RunRecord, SCHEMA, Subject, Unavailable, Verdict};
use record::{pairing, regimes};
use serde_json::Value;
use stats::percentiles;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use trader::risk::Profile;

mod advice;
mod validity;

/// The inputs of a record.
pub(crate) struct RecordInputs<'a> {
    pub conduct: &'a Conduct,
    pub placed: &'a ScenarioCores,
    pub entrants: &'a [Entrant],
    /// The risk profile, where the scenario names one.
    pub profile: Option<&'a Profile>,
    /// The run directory.
    pub path: &'a Path,
    pub runs: &'a [Run],
    pub left_out: Vec<LeftOutRun>,
    pub unavailable: Vec<Unavailable>,
    pub warnings: Vec<String>,
    pub machine: &'a Machine,
    pub clock: Clock,
    pub started_wall_ms: u64,
    pub noise: Option<Noise>,
}

/// Joins the parts into a record.
pub(crate) fn record(parts: RecordInputs) -> RunRecord {
    let RecordInputs { conduct, runs, clock, .. } = parts;
    let scenario = &conduct.scenario;
    let names: Vec<String> = parts.entrants.iter().map(|entrant| entrant.name.clone()).collect();
    let rules = validity::rules(&names, runs);
    let complete = runs.len() == scenario.runs as usize
        && runs.iter().all(|run| !run.interrupted && !run.failed);
    let mut void_because: Vec<String> = rules
        .iter()
        .filter(|rule| rule.verdict == Verdict::Broken)
        .map(|rule| format!("{}: {}", rule.rule, rule.detail))
        .collect();
    void_because.extend(runs.iter().flat_map(|run| run.failures.iter().cloned()));
    if !complete && runs.iter().all(|run| !run.failed) {
        let text = format!("it was interrupted in run {} of {}", runs.len().max(1), scenario.runs);
        void_because.insert(0, text);
    }
    let changes = changes(parts.machine);
    let mut told = Vec::new();
    let mut subjects: Vec<Subject> = parts
        .entrants
        .iter()
        .map(|one| subject(one, &parts, !changes.is_empty(), &mut told))
        .collect();
    let totals: Vec<&Totals> = runs.iter().map(|run| &run.totals).collect();
    let open = |run: usize| File::open(hlog(parts.path, run as u32 + 1)).map(BufReader::new);
    let regimes = regimes::find(&mut subjects, runs.len(), open);
    let no_regimes =
        regimes.as_ref().err().map(|why| format!("regimes were not looked for: {why}"));
    pairing::pair(&mut subjects, &totals, &regimes.unwrap_or_default());
    subjects.extend(hiccup_subject(&parts));
    let injected = scenario.injected();
    let mut warnings = parts.warnings;
    warnings.splice(0..0, advice::of_injected(&injected));
    warnings.extend(parts.noise.as_ref().and_then(advice::of_noise));
    warnings.extend(told);
    warnings.extend(no_regimes);
    warnings.extend(advice::of_machine(&changes));
    warnings.extend(advice::advice(scenario, &subjects, runs.len()));
    RunRecord {
        schema: SCHEMA,
        tool: conduct.tool.clone(),
        scenario: scenario.name.clone(),
        started: utc(parts.started_wall_ms),
        command: conduct.command.clone(),
        complete,
        void_because,
        rules,
        runs: runs.len() as u32,
        left_out: parts.left_out,
        smoke_test: conduct.smoke_test,
        rate_search: conduct.rate_search.clone(),
        injected,
        warnings,
        clock: record::Clock::of(&clock),
        clock_step_ns: clock.step_ns(),
        resolved: resolved(scenario, parts.placed, parts.profile),
        merged_from: Vec::new(),
        noise: parts.noise,
        exchange: runs
            .iter()
            .flat_map(|run| &run.measured)
            .find_map(|one| one.result.exchange.clone()),
        disturber: largest::largest(conduct, parts.entrants, runs),
        size_fit: size_fit(scenario, &subjects),
        subjects,
        unavailable: parts.unavailable,
    }
}

/// The line of latency against length, of `network` scenarios whose subjects differ in it.
fn size_fit(scenario: &Scenario, subjects: &[Subject]) -> Option<SizeFit> {
    let request = &scenario.request;
    let differs = scenario.subject.iter().any(|subject| subject.message_bytes > 0);
    let packets = |bytes: u64| match (scenario.exchange.start, scenario.network) {
        // The network between two hosts may have any MTU.
        (false, _) => None,
        (true, Network::Loopback) => Some(1),
        (true, Network::Veth) => Some(request.packets(bytes)),
    };
    differs.then(|| SizeFit::of(subjects, packets)).flatten()
}

/// The scenario with the chosen cores and the contents of its risk profile; a path alone would not
/// say what was read there.
pub(crate) fn resolved(
    scenario: &Scenario,
    placed: &ScenarioCores,
    profile: Option<&Profile>,
) -> Value {
    let mut scenario = scenario.clone();
    if !placed.exchange.is_empty() {
        scenario.exchange.cores = Cores::List(placed.exchange.clone());
    }
    if let Some(core) = placed.audit {
        scenario.audit.core = Cores::List(vec![core]);
    }
    for (subject, cores) in scenario.subject.iter_mut().zip(&placed.subjects) {
        if !cores.is_empty() {
            subject.cores = Cores::List(cores.clone());
        }
    }
    let json = |table| serde_json::to_value(table).ok();
    let mut resolved = scenario.table().ok().and_then(json).unwrap_or_default();
    let says = profile.and_then(|profile| serde_json::to_value(profile).ok());
    if let (Some(Value::Object(risk)), Some(Value::Object(says))) = (resolved.get_mut("risk"), says)
    {
        risk.extend(says);
    }
    resolved
}

/// The machine's changes between begin and end, including its settings.
fn changes(machine: &Machine) -> Vec<String> {
    let after = machine.after.as_ref();
    after.map_or(Vec::new(), |after| {
        machine::differences(&machine.before, after, machine::PROBE_RATIO_MAX)
    })
}

fn subject(
    entrant: &Entrant,
    parts: &RecordInputs,
    spread: bool,
    warnings: &mut Vec<String>,
) -> Subject {
    let (placed, runs) = (parts.placed, parts.runs);
    let told = attribution::explain(entrant, &parts.conduct.scenario, parts.path, runs);
    warnings.extend(told.warnings);
    let all: Vec<&Run> = runs.iter().collect();
    let mut series = series::judged(parts.conduct, entrant, &all, spread);
    warnings.extend(attribution::take_out_refused(&entrant.name, runs, &mut series));
    Subject {
        name: entrant.name.clone(),
        backend: entrant.backend.clone(),
        scheduling: entrant.scheduling.to_string(),
        tls: entrant.has_tls,
        wrapper: entrant.wrapper.clone(),
        dialect: match entrant.dialect {
            Dialect::Json => String::new(),
            other => other.name().to_owned(),
        },
        feed: match entrant.feed {
            FeedDialect::Sbe => String::new(),
            other => other.name().to_owned(),
        },
        cores: placed.exchange.iter().chain(&entrant.cores).copied().collect(),
        load: load(entrant, runs, placed),
        series,
        attribution: told.attribution,
        traced: told.traced,
    }
}

fn load(entrant: &Entrant, runs: &[Run], placed: &ScenarioCores) -> Load {
    let of_entrant = |run: &'_ Run| {
        let measured = run.measured.iter().find(|measured| measured.subject == entrant.name)?;
        let late = run.histogram(&entrant.name, "send", Kind::Lateness);
        let lateness_ns_p99 = late.and_then(|late| percentiles(late).0.p99);
        Some(Load { lateness_ns_p99, ..measured.result.load.clone() })
    };
    let mut load = pooling::load(&runs.iter().filter_map(of_entrant).collect::<Vec<_>>());
    for audit in load.tick.iter_mut().filter_map(|tick| tick.audit.as_mut()) {
        // The path is relative to run.json, which may move. The trader knows only its own core.
        let file = Path::new(&audit.file).file_name();
        audit.file = file.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        audit.shares_core_with = audit.core.map_or("", |core| placed.whose(core)).to_owned();
    }
    load
}

fn hiccup_subject(parts: &RecordInputs) -> Option<Subject> {
    let runs: Vec<&Totals> = parts.runs.iter().map(|run| &run.totals).collect();
    let planned = parts.conduct.scenario.runs;
    let series = pooling::series(hiccup::SUBJECT, &runs, planned, &FigureJudge::UNDISTURBED);
    (!series.is_empty()).then(|| Subject {
        name: hiccup::SUBJECT.to_owned(),
        cores: parts.placed.cores(),
        series,
        ..Subject::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::comparison::differs;
    use std::fs;

    /// The record of a scenario whose profile has this text.
    fn record(text: Option<&str>) -> RunRecord {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        let profile = text.map(|text| {
            fs::write(&path, text).unwrap();
            Profile::read(&path).unwrap()
        });
        let set = [format!("risk.profile={}", text.map_or("", |_| "mine.toml"))];
        let scenario = Scenario::find("tick-to-trade", &set).unwrap();
        let placed = ScenarioCores::default();
        let resolved = resolved(&scenario, &placed, profile.as_ref());
        RunRecord { resolved, ..RunRecord::default() }
    }

    /// The file keeps its name, but its contents change.
    #[test]
    fn a_change_of_the_risk_profile_is_seen() {
        let strict = "[limits]\namount_max = \"0.5\"\nopen_orders_max = 2\n";
        let (mild, strict) = (record(Some("")), record(Some(strict)));
        let changes =
            [r#"risk.limits.amount_max: "10" -> "0.5""#, "risk.limits.open_orders_max: 16384 -> 2"];
        assert_eq!(differs(&mild, &strict), changes);
        assert!(differs(&strict, &strict).is_empty());
        let listed = "[[instrument]]\ncode = \"X\"\ntick = \"0.01\"\nlot = \"1\"\n";
        let listed = differs(&mild, &record(Some(listed)));
        assert!(listed.len() == 1 && listed[0].starts_with("risk.instrument: "), "{listed:?}");
    }

    #[test]
    fn without_a_profile_the_scenario_stands_as_it_is() {
        let risk = &record(None).resolved["risk"];
        assert_eq!(*risk, serde_json::json!({"profile": ""}));
    }
}
