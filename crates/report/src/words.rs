//! What a record says, in the words that the table and the page share.

use crate::number::{count, ns, plain, rate, us};
use measure::record::{Kind, Rule, RunRecord, Series, Subject, Verdict};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Orders to an exchange; also where it isn't said.
    Orders,
    /// Messages between threads.
    Threads,
    /// Cache lines between cores.
    Cores,
    /// What takes a core's time, and nothing else.
    Noise,
    /// Operations through a matching engine.
    Engine,
    /// The same for long.
    Soak,
    /// The same with a journal.
    Journal,
    /// Ticks that become orders.
    Ticks,
}

/// What latencies are shown in.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub name: &'static str,
    pub show: fn(u64) -> String,
}

/// Of most records, and of tables over several.
pub(crate) const US: Unit = Unit { name: "us", show: us };

/// Of what takes some tens of nanoseconds.
pub(crate) const NS: Unit = Unit { name: "ns", show: ns };

/// The unit that suits the record: an engine's operation takes some tens of nanoseconds.
pub(crate) fn unit(record: &RunRecord) -> Unit {
    match about(record) {
        About::Engine | About::Soak => NS,
        _ => US,
    }
}

/// What is sent.
pub(crate) fn messages(record: &RunRecord) -> &'static str {
    match about(record) {
        About::Engine | About::Soak | About::Journal => "operations",
        About::Ticks => "orders",
        _ => "messages",
    }
}

/// What the record is about.
pub(crate) fn about(record: &RunRecord) -> About {
    let is_noise = |subject: &Subject| subject.series.iter().all(|one| one.kind == Kind::Noise);
    match record.resolved["kind"].as_str() {
        Some("ipc") => About::Threads,
        Some("core-to-core") => About::Cores,
        Some("engine") => About::Engine,
        Some("soak") => About::Soak,
        Some("journal") => About::Journal,
        Some("tick") => About::Ticks,
        _ if record.noise.is_some() && record.subjects.iter().all(is_noise) => About::Noise,
        _ => About::Orders,
    }
}

/// What the floor of the record is.
pub(crate) fn floor(record: &RunRecord) -> &'static str {
    match about(record) {
        About::Engine | About::Soak => "no engine, one report an operation through the same loop",
        About::Ticks => {
            "a raw datagram in and raw bytes out and back, as long as the real ones, on the same cores"
        }
        _ => "a raw echo of the same bytes on the same cores",
    }
}

/// Whether the record is a result.
pub(crate) fn verdict(record: &RunRecord) -> &'static str {
    match (record.valid, record.complete) {
        (true, _) => "valid",
        (false, true) => "INVALID, not a result",
        (false, false) => "INVALID AND INCOMPLETE, not a result",
    }
}

/// How many runs count, and how many don't.
pub(crate) fn runs(record: &RunRecord) -> String {
    let void = match record.runs_void {
        0 => String::new(),
        n => format!(", {n} void and repeated"),
    };
    format!("{} {}{void}", record.runs, if record.runs == 1 { "run" } else { "runs" })
}

/// Where a subject ran.
pub(crate) fn cores(cores: &[usize]) -> String {
    let list: Vec<String> = cores.iter().map(usize::to_string).collect();
    match cores.len() {
        0 => "not pinned".to_owned(),
        1 => format!("core {}", list[0]),
        _ => format!("cores {}", list.join(" ")),
    }
}

/// The gateways of the exchange, where it was started with any.
pub(crate) fn gateways(record: &RunRecord) -> Option<String> {
    let exchange = &record.resolved["exchange"];
    let count = exchange["gateways"].as_u64().filter(|_| exchange["start"] == true)?;
    let name = if count == 1 { "gateway" } else { "gateways" };
    (count > 0).then(|| format!("{count} {name}"))
}

/// Where ticks come from, how often, and by which way; `None` where there are none.
pub(crate) fn flow(record: &RunRecord) -> Option<String> {
    let (flow, feed) = (&record.resolved["flow"], &record.resolved["feed"]);
    let source = flow["source"].as_str().filter(|_| about(record) == About::Ticks)?;
    let starts = record.resolved["exchange"]["start"] != false;
    let when = match (flow["pace"].as_str(), flow["arrival"].as_str()) {
        _ if !starts => "at the exchange's own pace".to_owned(),
        (Some("recorded"), _) => {
            format!("{} x the recorded pace", plain(flow["speed"].as_f64().unwrap_or(1.0)))
        }
        (_, Some("burst")) => format!(
            "{} inputs/s in bursts of {}",
            rate(flow["rate_per_second"].as_f64().unwrap_or(0.0)),
            rate(flow["burst"].as_f64().unwrap_or(0.0))
        ),
        (_, arrival) => format!(
            "{} inputs/s, {}",
            rate(flow["rate_per_second"].as_f64().unwrap_or(0.0)),
            arrival.unwrap_or_default()
        ),
    };
    let way = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Some(format!(
        "ticks: {source}, {when}, UDP {}, {}; strategy {}",
        way(&feed["transport"]),
        way(&record.resolved["network"]),
        way(&record.resolved["strategy"]["name"])
    ))
}

/// The series of a subject that stand in the table of latencies; stages have one of their own.
pub(crate) fn shown(subject: &Subject) -> impl Iterator<Item = &Series> {
    let is_shown = |series: &&Series| {
        !matches!(series.kind, Kind::Lateness | Kind::Stage) && is_measured(subject, series)
    };
    subject.series.iter().filter(is_shown)
}

/// Whether something was measured. What a floor has no part of (it decides nothing) begins and ends by one stamp: such a 0 is no latency.
pub(crate) fn is_measured(subject: &Subject, series: &Series) -> bool {
    !subject.is_floor() || series.pooled.count == 0 || series.pooled.max > 0
}

/// What a series is called in its row.
pub(crate) fn title(series: &Series) -> String {
    match series.kind {
        Kind::Noise => series.name.clone(),
        kind => format!("{} {}", series.name, kind.name()),
    }
}

/// The percentile `name` of a series, marked where it is uncertain.
pub(crate) fn cell(series: &Series, name: &str, value: Option<u64>, unit: Unit) -> String {
    let uncertain = series.uncertain.iter().any(|uncertain| uncertain == name);
    match value {
        None => "-".to_owned(),
        Some(ns) if uncertain => format!("~{}", (unit.show)(ns)),
        Some(ns) => (unit.show)(ns),
    }
}

/// The interval for the median over runs of the percentile `name`; empty where there is none.
pub(crate) fn interval(series: &Series, name: &str, unit: Unit) -> String {
    series.interval.get(name).map_or(String::new(), |[low, high]| {
        format!("{}-{}", (unit.show)(*low), (unit.show)(*high))
    })
}

/// Rules that could not be applied, those with the same reason together: names and reason.
pub(crate) fn not_checked_because<'a>(
    rules: impl Iterator<Item = &'a Rule>,
) -> Vec<(String, &'a str)> {
    let mut reasons: Vec<(String, &str)> = Vec::new();
    for Rule { rule, detail, .. } in rules {
        match reasons.iter_mut().find(|(_, known)| *known == detail) {
            Some((names, _)) => *names += &format!(", {rule}"),
            None => reasons.push((rule.clone(), detail)),
        }
    }
    reasons
}

/// The rules that could not be applied.
pub(crate) fn not_checked(record: &RunRecord) -> impl Iterator<Item = &Rule> {
    record.rules.iter().filter(|rule| rule.verdict == Verdict::NotApplicable)
}

/// Records that [`merged_from`] names one by one.
const MERGED_FROM_MAX: usize = 8;

/// The records that this one was merged from, if it was.
pub(crate) fn merged_from(record: &RunRecord) -> Option<String> {
    let from = &record.merged_from;
    let named = from.iter().take(MERGED_FROM_MAX).map(|from| {
        let runs = if from.runs == 1 { "run" } else { "runs" };
        let machine = from.machine.as_deref().unwrap_or("not kept");
        format!("{} ({} {runs}, machine {machine})", from.name, from.runs)
    });
    let more = from.len().saturating_sub(MERGED_FROM_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    let list: Vec<String> = named.chain(more).collect();
    (!from.is_empty()).then(|| format!("merged from {}", list.join(", ")))
}

/// How a sample's size stands in a sentence.
pub(crate) fn samples(n: u64) -> String {
    format!("{} {}", count(n), if n == 1 { "sample" } else { "samples" })
}
