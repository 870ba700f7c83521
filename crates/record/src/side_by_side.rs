//! Several records side by side, grouped by their differences: the machine (instance type, zone,
//! placement group, kernel) and the settings. It describes; `compare` judges.

use crate::history::{Summary, settings_changes, summarise};
use crate::machine::Machine;
use crate::over_floor::OverFloor;
use crate::{Kind, RunRecord, Series};
use serde::Serialize;
use stats::{PERCENTILES, median};
use std::collections::BTreeMap;

/// If more settings differ, four letters represent all of them.
pub const SETTINGS_MAX: usize = 4;
/// Maximum number of records in one table.
pub const RECORDS_MAX: usize = 10_000;

/// A record to set beside others.
pub struct Member {
    /// Its directory, as the user named it.
    pub name: String,
    /// Its run.json.
    pub record: RunRecord,
    /// Its machine.json, if any.
    pub machine: Option<Machine>,
}

/// Records in groups.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SideBySide {
    /// Names of the differences: `zone`, `load.connections`; `record` if there are none.
    pub by: Vec<String>,
    /// In the order in which they were first named.
    pub groups: Vec<Group>,
    /// Records that are not results, a sentence each.
    pub left_out: Vec<String>,
    /// Meanings of the letters, a sentence each.
    pub notes: Vec<String>,
}

/// Records that agree in all of these differences.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    /// Its values, one per entry of [`SideBySide::by`].
    pub values: Vec<String>,
    /// Its records.
    pub records: Vec<String>,
    /// Total number of runs.
    pub runs: u32,
    /// Its latencies.
    pub rows: Vec<Row>,
}

/// A series of a group.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its subject's name.
    pub subject: String,
    /// `order`, `tick_to_trade`, …
    pub series: String,
    /// Response or service time, or a stage.
    pub kind: Kind,
    /// Percentiles that all records of the group support.
    pub figures: Vec<Figure>,
    /// Samples of all records.
    pub count: u64,
    /// The largest value of all records, ns.
    pub max: u64,
    /// p50 over the floor, where all records have it: the median of theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_floor: Option<Ratio>,
}

/// A ratio to the floor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Whether it holds in at least half of the records.
    pub holds: bool,
}

/// A percentile of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// `p50`, `p99_9`, …
    pub name: String,
    /// From 0 to 1.
    pub rank: f64,
    /// The figure of the record, or the median of several records' figures, ns.
    pub value: u64,
    /// The lowest and the highest of all runs, ns.
    pub over_runs: [u64; 2],
    /// Whether it holds in at least half of the records.
    pub holds: bool,
    /// Whether a record has fewer than 100 samples beyond it.
    pub is_uncertain: bool,
    /// In the fast and in the slow regime, ns, where the machine of a record had two and `value`
    /// may lie between both; only of p50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regimes: Option<[u64; 2]>,
}

impl Row {
    /// The percentile of that name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// Groups `members`. Leaves out records that are not results.
pub fn side_by_side(members: Vec<Member>) -> SideBySide {
    let mut left_out = Vec::new();
    let mut kept = Vec::new();
    for member in members {
        match no_result(&member.record) {
            Some(why) => left_out.push(format!("{}: {why}", member.name)),
            None => kept.push(member),
        }
    }
    let (by, values, notes) = what_differs(&kept);
    let mut groups: Vec<(Vec<String>, Vec<&Member>)> = Vec::new();
    for (member, values) in kept.iter().zip(values) {
        match groups.iter_mut().find(|(of, _)| *of == values) {
            Some((_, members)) => members.push(member),
            None => groups.push((values, vec![member])),
        }
    }
    let group = |(values, members): (Vec<String>, Vec<&Member>)| Group {
        values,
        records: members.iter().map(|one| one.name.clone()).collect(),
        runs: members.iter().map(|one| one.record.runs).sum(),
        rows: rows(&members),
    };
    SideBySide { by, groups: groups.into_iter().map(group).collect(), left_out, notes }
}

/// Why a record is not a result; `None` if it is.
fn no_result(record: &RunRecord) -> Option<String> {
    if record.is_void() {
        return Some(format!("void: {}", record.void_because.join("; ")));
    }
    record.smoke_test.then(|| "a smoke test (--quick)".to_owned())
}

/// The names of the differences, their values for each member, and the meanings of letters.
fn what_differs(members: &[Member]) -> (Vec<String>, Vec<Vec<String>>, Vec<String>) {
    let summaries: Vec<Summary> = members
        .iter()
        .map(|one| {
            let fixed = one.machine.as_ref().map(|machine| machine.before.fixed.clone());
            summarise(&one.record, fixed)
        })
        .collect();
    let mut columns: Vec<(String, Vec<String>)> = machines(members, &summaries);
    let of = |value: fn(&Member) -> &str| {
        members.iter().map(|one| value(one).to_owned()).collect::<Vec<String>>()
    };
    columns.push(("scenario".to_owned(), of(|one| &one.record.scenario)));
    columns.push(("tool".to_owned(), of(|one| &one.record.tool)));
    let mut notes = Vec::new();
    columns.extend(settings(&summaries, &mut notes));
    columns.retain(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1]));
    if columns.is_empty() {
        columns.push(("record".to_owned(), of(|one| &one.name)));
    }
    let row = |at: usize| columns.iter().map(|(_, values)| values[at].clone()).collect();
    let rows = (0..members.len()).map(row).collect();
    (columns.into_iter().map(|(name, _)| name).collect(), rows, notes)
}

/// Columns for the kind of machine; the machine's letters only if nothing else tells two apart.
fn machines(members: &[Member], summaries: &[Summary]) -> Vec<(String, Vec<String>)> {
    let column = |name: &str, value: fn(&Machine) -> Option<&String>| {
        let of = |one: &Member| value(one.machine.as_ref()?).cloned();
        let values = members.iter().map(|one| of(one).unwrap_or_else(|| "-".to_owned()));
        (name.to_owned(), values.collect::<Vec<String>>())
    };
    let mut columns = vec![
        column("instance type", |machine| {
            let before = &machine.before;
            // EC2 puts the instance type into the firmware tables.
            let is_ec2 = before.fixed.dmi_vendor.as_deref() == Some("Amazon EC2");
            let product = before.fixed.dmi_product.as_ref().filter(|_| is_ec2);
            before.instance.instance_type.as_ref().or(product)
        }),
        column("zone", |machine| {
            let instance = &machine.before.instance;
            instance.zone_id.as_ref().or(instance.zone.as_ref())
        }),
        column("placement group", |machine| machine.before.instance.placement_group.as_ref()),
        column("kernel", |machine| machine.before.fixed.kernel_release.as_ref()),
    ];
    let mut known: BTreeMap<Vec<&String>, Option<&String>> = BTreeMap::new();
    let is_told = summaries.iter().enumerate().all(|(at, summary)| {
        let key = columns.iter().map(|(_, values)| &values[at]).collect();
        *known.entry(key).or_insert(summary.machine.as_ref()) == summary.machine.as_ref()
    });
    if !is_told {
        let letters = |one: &Summary| one.machine.clone().unwrap_or_else(|| "-".to_owned());
        columns.push(("machine".to_owned(), summaries.iter().map(letters).collect()));
    }
    columns
}

/// A column for every setting that differs, or one column of letters if they are many.
fn settings(summaries: &[Summary], notes: &mut Vec<String>) -> Vec<(String, Vec<String>)> {
    let Some(first) = summaries.first() else { return Vec::new() };
    let mut columns: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    let mut firsts: BTreeMap<String, String> = BTreeMap::new();
    for (at, summary) in summaries.iter().enumerate() {
        for (path, of_first, here) in settings_changes(first, summary) {
            let values = columns.entry(path.clone()).or_insert(vec![None; summaries.len()]);
            values[at] = Some(here);
            firsts.insert(path, of_first);
        }
    }
    // The scenario's name has its own column.
    columns.remove("name");
    if columns.len() > SETTINGS_MAX {
        let mut known = vec![&first.settings];
        for other in summaries {
            if !known.contains(&&other.settings) {
                known.push(&other.settings);
                let all = settings_changes(first, other);
                let shown: Vec<String> = all
                    .iter()
                    .take(SETTINGS_MAX)
                    .map(|(path, first, here)| format!("{path} {here}, not {first}"))
                    .collect();
                let more = match all.len().saturating_sub(SETTINGS_MAX) {
                    0 => String::new(),
                    n => format!("; {n} more"),
                };
                notes.push(format!(
                    "settings {}, compared with {}: {}{more}",
                    other.settings,
                    first.settings,
                    shown.join("; ")
                ));
            }
        }
        let letters = summaries.iter().map(|one| one.settings.clone()).collect();
        return vec![("settings".to_owned(), letters)];
    }
    let plain = |text: &str| text.trim_matches('"').to_owned();
    columns
        .into_iter()
        .map(|(path, values)| {
            let of_first = firsts.get(&path).map(String::as_str).unwrap_or_default();
            let value = |value: Option<String>| plain(value.as_deref().unwrap_or(of_first));
            (path, values.into_iter().map(value).collect())
        })
        .collect()
}

/// The main series of every subject and floor that all members of the group have.
fn rows(members: &[&Member]) -> Vec<Row> {
    let Some(first) = members.first() else { return Vec::new() };
    let Some(main) = first.record.main_series() else { return Vec::new() };
    let mut rows = Vec::new();
    for subject in &first.record.subjects {
        let series: Option<Vec<&Series>> = members
            .iter()
            .map(|one| one.record.subject(&subject.name)?.series(&main.name, main.kind))
            .collect();
        let Some(series) = series.filter(|all| all.iter().any(|one| one.pooled.max > 0)) else {
            continue;
        };
        rows.push(Row {
            subject: subject.name.clone(),
            series: main.name.clone(),
            kind: main.kind,
            figures: figures(&series),
            count: series.iter().map(|one| one.pooled.count).sum(),
            max: series.iter().map(|one| one.pooled.max).max().unwrap_or(0),
            over_floor: ratio(&series),
        });
    }
    rows
}

fn ratio(series: &[&Series]) -> Option<Ratio> {
    let over = series.iter().map(|one| one.over_floor.as_ref());
    let over: Vec<&OverFloor> = over.collect::<Option<_>>()?;
    let ratios = over.iter().map(|one| Some((one.figures.get("p50")?.ratio * 1e6) as u64));
    let value = median(&ratios.collect::<Option<Vec<u64>>>()?)? as f64 / 1e6;
    let held = over.iter().filter(|one| one.holds(0.5)).count();
    Some(Ratio { value, holds: 2 * held >= over.len() })
}

/// p50 in both regimes, the median over records; one that had a single speed counts in the nearer
/// regime. `None` if none had two.
fn in_regimes(series: &[&Series]) -> Option<[u64; 2]> {
    let both = |one: &&Series| match one.regimes.as_slice() {
        [fast, slow] => Some([fast.figures.p50?, slow.figures.p50?]),
        _ => None,
    };
    let mut all: Vec<[u64; 2]> = series.iter().filter_map(both).collect();
    let of = |all: &[[u64; 2]], at: usize| {
        median(&all.iter().map(|ends| ends[at]).collect::<Vec<u64>>())
    };
    let middle = [of(&all, 0)?, of(&all, 1)?];
    for p50 in series.iter().filter(|one| both(one).is_none()).filter_map(|one| one.pooled.p50) {
        let [fast, slow] = middle;
        let is_fast = p50.abs_diff(fast) < p50.abs_diff(slow);
        all.push(if is_fast { [p50, slow] } else { [fast, p50] });
    }
    Some([of(&all, 0)?, of(&all, 1)?])
}

fn figures(series: &[&Series]) -> Vec<Figure> {
    let figure = |(index, (name, rank)): (usize, (&str, f64))| {
        let pooled: Option<Vec<u64>> =
            series.iter().map(|one| one.pooled.values()[index]).collect();
        let pooled = pooled?;
        let runs = series.iter().flat_map(|one| &one.per_run);
        let all = || runs.clone().filter_map(|run| run.values()[index]).chain(pooled.clone());
        let held = series.iter().filter(|one| one.holds(rank)).count();
        Some(Figure {
            name: name.to_owned(),
            rank,
            value: median(&pooled)?,
            over_runs: [all().min()?, all().max()?],
            holds: 2 * held >= series.len(),
            regimes: in_regimes(series).filter(|_| name == "p50"),
            is_uncertain: series.iter().any(|one| one.uncertain.iter().any(|of| of == name)),
        })
    };
    PERCENTILES.into_iter().enumerate().filter_map(figure).collect()
}

#[cfg(test)]
#[path = "side_by_side_tests.rs"]
mod tests;
