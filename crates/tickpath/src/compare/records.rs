//! Two records that were made already.

use super::{CompareRequest, blank, finish, status};
use crate::exit::NO_RESULT;
use anyhow::{Context, bail};
use record::comparison::selector::Figure;
use record::comparison::{self, Arm, Comparison, Question, Runs, compare as compare_runs};
use record::machine::Machine;
use record::{RunRecord, directory};
use stats::compare::Design;
use std::path::Path;

/// Two records as they are.
pub(super) fn compare_records(
    asked: &CompareRequest<'_>,
    [name_a, name_b]: [&str; 2],
) -> anyhow::Result<u8> {
    let CompareRequest { arguments, figures, gates, out, .. } = asked;
    let open = |name: &str| -> anyhow::Result<(RunRecord, Machine)> {
        let path = Path::new(name);
        let record = directory::load_record(path).context("cannot compare")?;
        // Without a fingerprint they can't be compared, and that is said then.
        Ok((record, directory::load_machine(path).unwrap_or_default()))
    };
    let ((a, of_a), (b, of_b)) = (open(name_a)?, open(name_b)?);
    for gate in gates {
        if let Some(why) = [&a, &b].into_iter().find_map(|one| gate.selector().lacking(one)) {
            bail!("--gate {gate}: {why}");
        }
    }
    let void = [&a, &b].into_iter().any(RunRecord::is_void);
    let mut also_because = Vec::new();
    if arguments.baseline.is_some() {
        // Another build is what a baseline is for.
        let mut settings = comparison::differs(&a, &b);
        settings.retain(|one| !one.starts_with("tool: "));
        also_because.extend(settings.iter().map(|one| format!("settings differ: {one}")));
    }
    let mut comparison = of_records(
        ComparedRecord { name: name_a, path: Some(name_a), record: &a, machine: &of_a },
        ComparedRecord { name: name_b, path: Some(name_b), record: &b, machine: &of_b },
        figures.clone(),
        arguments.force,
        also_because,
    );
    comparison.decide(gates, &[&b]);
    if let Some(margin) = &asked.margin {
        comparison.decide_worth(margin);
    }
    let path = crate::errors::make_directory(out, "compare")?;
    let error = if void && !arguments.force { "a record is void" } else { "" };
    finish(arguments, &comparison, &path, error)?;
    Ok(if error.is_empty() { status(&comparison) } else { NO_RESULT })
}

/// A record that is compared.
pub(crate) struct ComparedRecord<'a> {
    /// As its arm is called.
    pub name: &'a str,
    /// Its directory, if the comparison names it.
    pub path: Option<&'a str>,
    pub record: &'a RunRecord,
    pub machine: &'a Machine,
}

/// Two records that were made apart from each other. `also_because` are reasons of the caller's why
/// they are not comparable.
pub(crate) fn of_records(
    a: ComparedRecord<'_>,
    b: ComparedRecord<'_>,
    figures: Vec<Figure>,
    forced: bool,
    also_because: Vec<String>,
) -> Comparison {
    let mut incomparable_because =
        comparison::incomparable_because(a.record, a.machine, b.record, b.machine);
    incomparable_because.extend(also_because);
    let question = Question {
        design: Design::Apart,
        figures,
        floor_is_control: comparison::same_floor(a.record, b.record)
            && incomparable_because.is_empty(),
        forced,
    };
    let [runs_a, runs_b] = [a.record, b.record].map(Runs::of_record);
    let arm = |of: &ComparedRecord<'_>, runs: &Runs| {
        Arm::new(of.name, of.path.map(str::to_owned).into_iter().collect(), &[of.record], runs)
    };
    Comparison {
        differs: comparison::differs(a.record, b.record),
        incomparable_because,
        figures: compare_runs(&question, &runs_a, &runs_b),
        ..blank(forced, Design::Apart, arm(&a, &runs_a), arm(&b, &runs_b))
    }
}
