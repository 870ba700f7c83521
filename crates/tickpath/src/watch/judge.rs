//! Compares records with a baseline, and reports when a gate begins to fail.

use crate::ci::baseline;
use crate::cli::WatchArguments;
use crate::compare::{ComparedRecord, gates, of_records};
use crate::run::check_gates;
use crate::tool::TOOL;
use anyhow::{Context, bail};
use clock::Deadline;
use record::comparison;
use record::comparison::gate::{Gate, GateOutcome, GateResult};
use record::comparison::selector::Figure;
use record::machine::Machine;
use record::{Preflight, RunRecord, directory};
use scenario::Conduct;
use stats::compare::RUNS_MIN;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// By how much p50 and p99 may be above the baseline where no gate says otherwise.
const CHANGE: &str = "+10%";
/// An alert command that takes longer is killed.
const COMMAND_PATIENCE: Duration = Duration::from_secs(30);
const COMMAND_POLL: Duration = Duration::from_millis(50);

/// Judges records.
pub(crate) struct Judge {
    gates: Vec<Gate>,
    baseline: Option<Baseline>,
    /// The gates that failed last.
    failing: Vec<String>,
}

struct Baseline {
    name: String,
    record: RunRecord,
    machine: Machine,
}

/// The verdict on a record.
pub(crate) struct WatchVerdict {
    pub gates: Vec<GateResult>,
    /// Gates that failed now and did not before.
    pub alerts: Vec<GateResult>,
    /// Gates that failed before and pass now.
    pub recovered: Vec<GateResult>,
}

impl Judge {
    /// # Errors
    /// If a gate or the baseline can't be used for this scenario.
    pub(crate) fn new(
        arguments: &WatchArguments,
        out: &Path,
        conduct: &Conduct,
        plan: &Preflight,
    ) -> anyhow::Result<Judge> {
        let asked = gates(&arguments.gate)?;
        check_gates(&asked, &conduct.scenario)?;
        let has_change = asked.iter().any(|gate| matches!(gate, Gate::Change { .. }));
        let mut judge = Judge { gates: asked, baseline: None, failing: Vec::new() };
        let runs = conduct.scenario.runs as usize;
        let needs_runs = has_change || judge.gates.is_empty();
        if arguments.save_baseline.is_some() && needs_runs && runs < RUNS_MIN {
            bail!("{}", too_few("a record of this watch", runs));
        }
        match (&arguments.baseline, &arguments.save_baseline) {
            (Some(name), _) => {
                let path = baseline(out, name)?;
                if !path.join("run.json").is_file() {
                    bail!(
                        "there is no baseline {}: `tickpath watch --save-baseline {name}` makes one",
                        path.display()
                    );
                }
                judge.take_baseline(name, &path)?;
                judge.agrees(name, conduct, plan)?;
            }
            (None, None) if has_change => bail!(
                "a gate in percent needs a baseline: add --baseline NAME or --save-baseline NAME"
            ),
            (None, _) => {}
        }
        Ok(judge)
    }

    /// Judges by the record in `path` from now on.
    pub(crate) fn take_baseline(&mut self, name: &str, path: &Path) -> anyhow::Result<()> {
        let cannot = || format!("cannot read the baseline {}", path.display());
        let record = directory::load_record(path).with_context(cannot)?;
        let machine = directory::load_machine(path).with_context(cannot)?;
        self.set_baseline(name, record, machine)
    }

    fn set_baseline(
        &mut self,
        name: &str,
        record: RunRecord,
        machine: Machine,
    ) -> anyhow::Result<()> {
        if self.gates.is_empty() {
            let main = record.main_series();
            let Some(main) = main else { bail!("the baseline {name} has no latencies") };
            let gate = |figure| format!("{}.{}.{figure} <= {CHANGE}", main.name, main.kind.name());
            self.gates = gates(&["p50", "p99"].map(gate))?;
        }
        self.baseline = Some(Baseline { name: name.to_owned(), record, machine });
        Ok(())
    }

    pub(crate) fn has_baseline(&self) -> bool {
        self.baseline.is_some()
    }

    /// Fails for a baseline that no record of this watch can be compared with.
    fn agrees(&self, name: &str, conduct: &Conduct, plan: &Preflight) -> anyhow::Result<()> {
        let Some(Baseline { record, .. }) = &self.baseline else { return Ok(()) };
        let own = RunRecord {
            scenario: conduct.scenario.name.clone(),
            tool: TOOL.to_owned(),
            resolved: plan.scenario.clone(),
            ..RunRecord::default()
        };
        let differs = settings_that_differ(record, &own);
        if !differs.is_empty() {
            bail!(
                "the baseline {name} was measured with other settings: {}. Use the same, or make one with \
                 --save-baseline",
                differs.join("; ")
            );
        }
        let has_change = self.gates.iter().any(|gate| matches!(gate, Gate::Change { .. }));
        let runs =
            [("the baseline", record.runs), ("a record of this watch", conduct.scenario.runs)];
        match runs.into_iter().find(|(_, runs)| (*runs as usize) < RUNS_MIN) {
            Some((which, runs)) if has_change => bail!("{}", too_few(which, runs as usize)),
            _ => Ok(()),
        }
    }

    /// Judges a record.
    pub(crate) fn judge(&mut self, record: &RunRecord, machine: &Machine) -> WatchVerdict {
        let results = match &self.baseline {
            Some(baseline) => self.against(baseline, record, machine),
            None => self.gates.iter().map(|gate| gate.judge_records(&[record])).collect(),
        };
        let is_known = |result: &GateResult| self.failing.contains(&result.gate);
        let of = |outcome: GateOutcome, known: bool| -> Vec<GateResult> {
            let all = results.iter().filter(|one| one.outcome == outcome && is_known(one) == known);
            all.cloned().collect()
        };
        let (alerts, recovered) = (of(GateOutcome::Failed, false), of(GateOutcome::Passed, true));
        // An inconclusive gate leaves an alert as it is.
        self.failing.extend(alerts.iter().map(|one| one.gate.clone()));
        self.failing.retain(|gate| !recovered.iter().any(|one| one.gate == *gate));
        WatchVerdict { gates: results, alerts, recovered }
    }

    fn against(
        &self,
        baseline: &Baseline,
        record: &RunRecord,
        machine: &Machine,
    ) -> Vec<GateResult> {
        let mut figures: Vec<Figure> = Vec::new();
        for figure in self.gates.iter().map(|gate| gate.selector().figure) {
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        let Baseline { name, record: of_baseline, machine: its_machine } = baseline;
        let mut compared = of_records(
            ComparedRecord { name, path: None, record: of_baseline, machine: its_machine },
            ComparedRecord { name: "watch", path: None, record, machine },
            figures,
            false,
            settings_that_differ(of_baseline, record),
        );
        compared.decide(&self.gates, &[record]);
        let because = &compared.incomparable_because;
        if !because.is_empty() {
            let open = |one: &&mut GateResult| one.outcome == GateOutcome::Inconclusive;
            compared.gates.iter_mut().filter(open).for_each(|one| one.why = because.join("; "));
        }
        compared.gates
    }
}

fn too_few(which: &str, runs: usize) -> String {
    format!(
        "{which} has {runs} runs, and a gate in percent needs {RUNS_MIN} of each: --set runs={RUNS_MIN}"
    )
}

/// Settings that change what is measured. The number and length of runs and the version of
/// tickpath don't.
fn settings_that_differ(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut differs = comparison::differs(a, b);
    differs.retain(|one| {
        let key = one.split(':').next().unwrap_or_default();
        !matches!(key, "tool" | "runs") && !key.ends_with("seconds")
    });
    differs
}

/// Runs the user's command. It gets the alert's words and the record in its environment.
pub(crate) fn run_command(command: &str, alert: &str, record: &Path) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("TICKPATH_ALERT", alert)
        .env("TICKPATH_RECORD", record)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let deadline = Deadline::after(COMMAND_PATIENCE);
    while !deadline.left().is_zero() {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) => std::thread::sleep(COMMAND_POLL),
            Err(error) => return Err(error.to_string()),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("it took longer than {} s and was killed", COMMAND_PATIENCE.as_secs()))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
