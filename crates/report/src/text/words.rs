//! Words of a record that the table and the page share.

use crate::text::number::{latency, ms, ns, one_or, plain, rate, s, us};
use plan::measure::Words;
use record::measure::Measure;
use record::text::counted;
use record::{Disturber, Kind, Rule, RunRecord, Series, Subject, Verdict};
use stats::PERCENTILES;

/// Unit of latencies.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub name: &'static str,
    pub show: fn(u64) -> String,
}

/// The unit of most records, and of tables over several.
pub(crate) const US: Unit = Unit { name: "us", show: us };

/// The unit of operations that take some tens of nanoseconds.
pub(crate) const NS: Unit = Unit { name: "ns", show: ns };

/// The units of medians beyond 10 ms and 10 s.
const MS: Unit = Unit { name: "ms", show: ms };
const S: Unit = Unit { name: "s", show: s };

/// The unit in which the medians of the record are short numbers. One table has one unit.
pub(crate) fn unit(record: &RunRecord) -> Unit {
    if matches!(measure(record), Some(Measure::Engine | Measure::Soak)) {
        return NS;
    }
    let measured = record.subjects.iter().filter(|subject| !subject.is_reference());
    let timed = |series: &&Series| matches!(series.kind, Kind::Response | Kind::Service);
    let medians = measured.flat_map(|subject| subject.series.iter().filter(timed));
    match medians.filter_map(|series| series.pooled.p50).min() {
        Some(10_000_000..10_000_000_000) => MS,
        Some(10_000_000_000..) => S,
        _ => US,
    }
}

/// A subject as a person reads it: the scenarios that ship call the trader `rust`, after its
/// language, and so do selectors and run.json.
pub(crate) fn subject(record: &RunRecord, name: &str) -> String {
    let is_trader = matches!(measure(record), Some(Measure::Orders | Measure::Ticks));
    if is_trader && name == "rust" { format!("trader ({name})") } else { name.to_owned() }
}

/// Kind of measurement of a record. Reading it has checked that the kind is known.
pub(crate) fn measure(record: &RunRecord) -> Option<Measure> {
    record.measure().ok().flatten()
}

/// The words of its kind; those of messages where it has no scenario.
pub(crate) fn of_kind(record: &RunRecord) -> Words {
    let of = |measure| plan::measure::of(measure).words();
    measure(record).map_or(Words::of_messages(&[]), of)
}

/// Whether it is a look at what disturbs cores, without messages.
pub(crate) fn is_noise(record: &RunRecord) -> bool {
    let is_noise = |subject: &Subject| subject.series.iter().all(|one| one.kind == Kind::Noise);
    measure(record).is_none() && record.noise.is_some() && record.subjects.iter().all(is_noise)
}

/// Meaning of a record's bare echo.
pub(crate) const BARE: &str = "the same bytes with nothing but send, receive and two stamps";

/// How far the record holds, or why it is no result.
pub(crate) fn verdict(record: &RunRecord) -> String {
    let reasons = &record.void_because;
    match reasons.as_slice() {
        [] if record.smoke_test => "SMOKE TEST, its figures don't count".to_owned(),
        [] => record.main_series().map_or("nothing was measured".to_owned(), main_holds_to),
        [only] => format!("VOID: {only}"),
        [first, others @ ..] => format!("VOID: {first} (and {} more)", others.len()),
    }
}

/// How far the main series holds, and its ratio to the floor where that is another percentile.
fn main_holds_to(series: &Series) -> String {
    let absolute = holds_to(series);
    let over = series.over_floor.as_ref();
    let ratio = over.and_then(|over| Some((over.holds_to?, over.figures.get("p50")?.ratio)));
    match ratio {
        Some((to, p50)) if to > 0.0 && Some(to) != series.holds_to => {
            let name = PERCENTILES.iter().rev().find(|(_, quantile)| *quantile <= to);
            let name = name.map_or(String::new(), |(name, _)| name.replace('_', "."));
            format!("{absolute} · {p50:.2} x the floor, which holds to {name}")
        }
        _ => absolute,
    }
}

/// How far a series holds: `holds`, `holds to p95`, or why not.
pub(crate) fn holds_to(series: &Series) -> String {
    let supported = PERCENTILES.iter().zip(series.pooled.values());
    let supported: Vec<(&str, f64)> = supported
        .filter(|(_, value)| value.is_some())
        .map(|((name, quantile), _)| (*name, *quantile))
        .collect();
    let (Some(holds_to), Some(&(_, last))) = (series.holds_to, supported.last()) else {
        return match series.not_judged.as_str() {
            "" => "too few samples for a median".to_owned(),
            why => format!("not judged: {why}"),
        };
    };
    let highest = supported.iter().rev().find(|(_, quantile)| *quantile <= holds_to);
    match highest {
        None => "does not hold: p50 is disturbed".to_owned(),
        Some((_, quantile)) if *quantile == last => "holds".to_owned(),
        Some((name, _)) => format!("holds to {}", name.replace('_', ".")),
    }
}

/// The meaning of a result and what to do with it, in a sentence; `None` where there is no main
/// series to judge.
pub(crate) fn meaning(record: &RunRecord) -> Option<&'static str> {
    if record.is_void() {
        return Some(
            "A void run is no result: it broke a rule of the measurement. Remove the cause and run it \
             again.",
        );
    }
    if record.smoke_test {
        return Some("Everything works. Run it without --quick for figures that count.");
    }
    let series = record.main_series()?;
    Some(match series.holds_to {
        None if !series.not_judged.is_empty() => {
            "It is not known what disturbance did to these figures: don't compare them before the \
             reason above is gone."
        }
        None => "There are too few samples for a median: add --set seconds=N.",
        Some(_) if holds_to(series) == "holds" => {
            "Disturbance moved none of these figures by more than a tenth: quote and compare them."
        }
        Some(_) if series.holds(0.5) => {
            "Quote and compare the figures without a ?: disturbance may have moved the others by more \
             than a tenth."
        }
        Some(_) if record.ratio_holds(0.5) => {
            "p50 describes this machine in this hour, its ratio to the floor describes the software: \
             compare the ratio, or let tickpath wait for quiet runs: --until p50 --budget 10m."
        }
        Some(_) => {
            "Nothing is broken: other work on the cores may have moved p50 by more than a tenth, so it \
             describes this machine in this hour. Follow the remedy, or let tickpath wait for quiet \
             runs: --until p50 --budget 10m."
        }
    })
}

/// The rates that a search before the runs found, if there was one.
pub(crate) fn rate_search(record: &RunRecord) -> Option<String> {
    let search = record.rate_search.as_ref()?;
    let messages = of_kind(record).messages;
    let asked = rate(search.asked_per_second);
    let found = match (search.carried_per_second, search.missed_per_second) {
        (Some(_), None) => {
            return Some(format!("These cores carry the {asked} {messages}/s asked."));
        }
        (Some(carried), Some(missed)) => {
            format!("{}, not {}: measured a tenth below that", rate(carried), rate(missed))
        }
        (None, _) => "no rate that was tried: measured at the lowest".to_owned(),
    };
    let sweep = &search.sweep;
    Some(format!("{asked} {messages}/s asked; these cores carry {found}. The search: {sweep}."))
}

/// The largest disturber of the main series, with a remedy; `None` if there is none.
pub(crate) fn disturber(record: &RunRecord) -> Option<String> {
    if let Some(speeds) = two_speeds(record) {
        return Some(speeds);
    }
    let Disturber { name, cores, time_share, times, longest_ns, remedy } =
        record.disturber.as_ref()?;
    let share = match cores.as_slice() {
        [] => format!("{:.2} % of its messages", time_share * 100.0),
        [core] => format!("{:.2} % of core {core}'s time", time_share * 100.0),
        _ => {
            let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
            format!("up to {:.2} % of the time of cores {}", time_share * 100.0, cores.join(" "))
        }
    };
    let times = match times {
        0 => String::new(),
        1 => format!(", once, for {}", latency(*longest_ns)),
        times => format!(", {times} times, the longest {}", latency(*longest_ns)),
    };
    Some(format!("disturbed most by {name}: {share}{times}. Remedy: {remedy}."))
}

/// The machine's two regimes, if the main series had them, and what answers that.
fn two_speeds(record: &RunRecord) -> Option<String> {
    let series = record.main_series()?;
    let [fast, slow] = series.regimes.as_slice() else { return None };
    let (unit, percent) = (unit(record), |share: f64| format!("{:.0} %", share * 100.0));
    Some(format!(
        "the machine switched its cores between two speeds: p50 is {} {} in the fast regime ({} of {} \
         slices) and {} in the slow one ({}). Remedy: judge by the ratio to the floor, whose pairs are of \
         one regime each; dedicated cores or bare metal have one speed.",
        (unit.show)(fast.figures.p50?),
        unit.name,
        percent(fast.share),
        (f64::from(fast.slices) / fast.share.max(1e-9)).round(),
        (unit.show)(slow.figures.p50?),
        percent(slow.share),
    ))
}

/// Said in the row of a subject that can't run on this machine.
pub(crate) const UNAVAILABLE: &str = "cannot run";

/// How many runs count, and how many don't.
pub(crate) fn runs(record: &RunRecord) -> String {
    let left_out = match record.left_out.len() {
        0 => String::new(),
        n => format!(", {n} more disturbed left out"),
    };
    format!("{}{left_out}", counted(record.runs, "run"))
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
    (count > 0).then(|| counted(count, "gateway"))
}

/// Where ticks come from, how often, and by which way; `None` where there are none.
pub(crate) fn flow(record: &RunRecord) -> Option<String> {
    let (flow, feed) = (&record.resolved["flow"], &record.resolved["feed"]);
    let source = flow["source"].as_str().filter(|_| measure(record) == Some(Measure::Ticks))?;
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

/// The series of a subject that stand in the table of latencies; stages, orders by intensity and
/// the subscribers of a fan-out have one of their own.
pub(crate) fn shown(subject: &Subject) -> impl Iterator<Item = &Series> {
    let is_shown = |series: &&Series| {
        !matches!(series.kind, Kind::Lateness | Kind::Stage)
            && !is_of_subscriber(subject, series)
            && plan::intensity::place_of_series(&series.name).is_none()
            && is_measured(subject, series)
    };
    subject.series.iter().filter(is_shown)
}

/// Whether the series is that of one subscriber of a fan-out, of which there may be 64.
pub(crate) fn is_of_subscriber(subject: &Subject, series: &Series) -> bool {
    !subject.load.fan_out.is_empty() && series.name.contains('@')
}

/// Whether the series was measured. A stage that the floor lacks begins and ends by one stamp; that
/// 0 is no latency.
pub(crate) fn is_measured(subject: &Subject, series: &Series) -> bool {
    !subject.is_reference() || series.pooled.count == 0 || series.pooled.max > 0
}

/// Name of a series in its row.
pub(crate) fn title(series: &Series) -> String {
    match series.kind {
        Kind::Noise => series.name.clone(),
        kind => format!("{} {}", series.name, kind.name()),
    }
}

/// The percentile `name` of a series, marked where it is uncertain.
pub(crate) fn cell(series: &Series, name: &str, value: Option<u64>, unit: Unit) -> String {
    let uncertain = series.uncertain.iter().any(|uncertain| uncertain == name);
    let quantile =
        PERCENTILES.iter().find(|(known, _)| *known == name).map(|(_, quantile)| *quantile);
    let holds = quantile.is_none_or(|quantile| series.holds(quantile));
    let (before, behind) = (if uncertain { "~" } else { "" }, if holds { "" } else { "?" });
    if let Some(both) = in_regimes(series, unit).filter(|_| name == "p50") {
        return both;
    }
    value.map_or("-".to_owned(), |ns| format!("{before}{}{behind}", (unit.show)(ns)))
}

/// p50 in the fast and in the slow regime, `7.80/10.9`; `None` if the machine had one. A p50
/// between two modes is no figure.
fn in_regimes(series: &Series, unit: Unit) -> Option<String> {
    let [fast, slow] = series.regimes.as_slice() else { return None };
    let [fast, slow] = [fast.figures.p50?, slow.figures.p50?].map(unit.show);
    Some(format!("{fast}/{slow}"))
}

/// The ratio of p50 to the floor's: `1.07x`, with `?` where it does not hold.
pub(crate) fn over_floor(series: &Series) -> String {
    let over = series.over_floor.as_ref();
    let ratio = over.and_then(|over| Some((over.figures.get("p50")?.ratio, over.holds(0.5))));
    ratio.map_or("-".to_owned(), |(ratio, holds)| times(ratio, holds))
}

/// A ratio, with `?` where it does not hold.
pub(crate) fn times(ratio: f64, holds: bool) -> String {
    format!("{ratio:.2}x{}", if holds { "" } else { "?" })
}

/// Meaning of those marks of [`cell`] that a table of `series` contains.
pub(crate) fn marks<'a>(series: impl Iterator<Item = &'a Series>) -> Option<String> {
    let (mut uncertain, mut disturbed, mut two_speeds) = (false, false, false);
    for series in series {
        two_speeds |= !series.regimes.is_empty();
        uncertain |= !series.uncertain.is_empty();
        let values = PERCENTILES.iter().zip(series.pooled.values());
        disturbed |= values
            .into_iter()
            .any(|((_, quantile), value)| value.is_some() && !series.holds(*quantile));
    }
    let marks = [
        (two_speeds, "a/b: in the machine's fast and in its slow regime"),
        (disturbed, "? does not hold: disturbance may be more than a tenth of it"),
        (uncertain, "~ fewer than 100 samples lie beyond it; - fewer than 10, not shown"),
    ];
    let said: Vec<&str> =
        marks.iter().filter(|(stands, _)| *stands).map(|(_, mark)| *mark).collect();
    (!said.is_empty()).then(|| said.join("; "))
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
        let machine = from.machine.as_deref().unwrap_or("not kept");
        format!("{} ({}, machine {machine})", from.name, counted(from.runs, "run"))
    });
    let more = from.len().saturating_sub(MERGED_FROM_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    let list: Vec<String> = named.chain(more).collect();
    (!from.is_empty()).then(|| format!("merged from {}", list.join(", ")))
}

/// A sample's size, as part of a sentence.
pub(crate) fn samples(n: u64) -> String {
    one_or(n, "sample")
}
