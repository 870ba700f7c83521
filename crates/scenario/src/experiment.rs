//! Treatments, interleaved A B B A A B B A … or A B C C B A …, so that drift of the machine affects
//! all alike.
//!
//! A treatment is anything that ends in a run record: a scenario with settings, or a command that
//! prints a record. Each run is a record of its own. A round is one run of each treatment: with two
//! treatments, a pair. If one run of a round is void, the round is repeated.

use crate::conduct::{Conduct, ConductError};
use crate::launch::process::{Interrupt, Process};
use crate::progress::{Listener, Progress, RunPart, Say};
use clock::{Deadline, wall_ms};
use record::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Rounds that one experiment makes at most.
pub const ROUNDS_MAX: u32 = 100;
/// Treatments that one experiment compares at most.
pub const TREATMENTS_MAX: usize = LETTERS.len();
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
/// Time limit of a user's command for one run.
const COMMAND_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// One of the things that are compared.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// A scenario, made with one run at a time, whatever its `runs` says.
    Scenario(Box<Conduct>),
    /// A command for the shell that prints a run record as JSON.
    Command {
        /// The command.
        line: String,
        /// KEY=VALUE, which it gets in its environment.
        sets: Vec<String>,
    },
}

/// Settings for a command, one KEY=VALUE a line. `tickpath run` puts them before its own `--set`.
pub const SET_VARIABLE: &str = "TICKPATH_SET";
/// Where a command puts its records; `tickpath run` takes it where it has no `--out`.
pub const OUT_VARIABLE: &str = "TICKPATH_OUT";

/// A treatment, by its place among those of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side(usize);

impl Side {
    /// The baseline.
    pub const A: Side = Side(0);
    /// The candidate, or the first of them.
    pub const B: Side = Side(1);

    /// The first `count` sides.
    pub fn all(count: usize) -> impl DoubleEndedIterator<Item = Side> {
        (0..count).map(Side)
    }

    /// `a`, `b`, …, also the name of the directory.
    pub fn name(self) -> &'static str {
        &LETTERS[self.0..=self.0]
    }
}

/// Treatments to compare, and the number of pairs.
pub struct Experiment<'a> {
    /// A, then the candidates: two treatments or more, up to [`TREATMENTS_MAX`].
    pub treatments: &'a [&'a Treatment],
    /// Number of runs of each.
    pub rounds: u32,
    /// Directory of the records, in `a/`, `b/` and so on.
    pub directory: &'a Path,
    /// Accept void runs like others.
    pub takes_void: bool,
    /// Begin no round that would end after this.
    pub deadline: Option<&'a Deadline>,
    /// Called before each run, with its side: puts the machine into that side's state.
    pub switch: Option<Switch<'a>>,
}

/// Puts the machine into the state of a side, or says why it can't.
pub type Switch<'a> = &'a dyn Fn(Side) -> Result<(), String>;

/// One run.
pub struct FinishedRun {
    /// Its record.
    pub record: RunRecord,
    /// The directory of the record.
    pub path: PathBuf,
}

/// The runs that were made.
pub struct Rounds {
    /// By treatment, its runs of all complete rounds in order of time.
    made: Vec<Vec<FinishedRun>>,
    /// By treatment, the records of its runs of void rounds.
    void: Vec<Vec<RunRecord>>,
    /// Why rounds were void, one sentence each.
    pub void_because: Vec<String>,
    /// The error that ended the experiment early.
    pub failure: Option<String>,
}

impl Rounds {
    /// How many rounds are complete and count.
    pub fn count(&self) -> usize {
        self.made[0].len()
    }

    /// The runs of one treatment, in order of time.
    pub fn of(&self, side: Side) -> &[FinishedRun] {
        &self.made[side.0]
    }

    /// The records of one treatment's runs of void rounds, whichever run made a round void.
    pub fn void_of(&self, side: Side) -> &[RunRecord] {
        &self.void[side.0]
    }
}

/// Reports the progress of one run: which one of which treatment, and the time left for all.
struct OfRun<'a> {
    say: &'a mut dyn Listener,
    run: usize,
    runs: u32,
    side: Side,
    /// The longest run so far by its plan, s.
    run_seconds: &'a mut f64,
}

impl Listener for OfRun<'_> {
    fn take(&mut self, progress: Progress<'_>) {
        let Progress::Part(part) = progress else { return self.say.take(progress) };
        *self.run_seconds = part.seconds_left.max(*self.run_seconds);
        let later = f64::from(self.runs) - self.run as f64;
        self.say.take(Progress::Part(RunPart {
            run: self.run as u32,
            runs: self.runs,
            name: &format!("{} {}", self.side.name(), part.name),
            seconds_left: part.seconds_left + later * *self.run_seconds,
            ..part
        }));
    }

    fn wants_seconds(&self) -> bool {
        self.say.wants_seconds()
    }
}

impl Experiment<'_> {
    /// Makes the rounds. There are fewer than asked for if the experiment was interrupted, if the
    /// time was up, if something broke, or if as many rounds were void as were asked for.
    ///
    /// # Errors
    /// If something broke before the first round was complete.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<Rounds, ConductError> {
        let made = self.treatments.iter().map(|_| Vec::new()).collect();
        let void = vec![Vec::new(); self.treatments.len()];
        let mut rounds = Rounds { made, void, void_because: Vec::new(), failure: None };
        let mut lasted =
            RunDurations { run_seconds: 0.0, commands: vec![0.0; self.treatments.len()] };
        let mut longest_round = Duration::ZERO;
        while rounds.count() < self.rounds as usize
            && rounds.void_because.len() < self.rounds as usize
            && !interrupt.is_set()
            && self.has_time_for(longest_round)
        {
            let begins_with = self.time_left();
            let made = match self.round(rounds.count(), &mut lasted, interrupt, &mut say) {
                Ok(Some(made)) => made,
                Ok(None) => break,
                Err(error) if rounds.count() == 0 => return Err(error),
                Err(error) => {
                    // The complete rounds count.
                    rounds.failure = Some(error.to_string());
                    break;
                }
            };
            let void = made
                .iter()
                .zip(Side::all(made.len()))
                .find(|(one, _)| one.record.is_void() && !self.takes_void);
            match void {
                Some((one, side)) => {
                    let round = if self.treatments.len() == 2 { "pair" } else { "round" };
                    rounds.void_because.push(format!(
                        "{round} {}, {}: {}",
                        rounds.count() + 1,
                        side.name(),
                        one.record.void_because.join("; ")
                    ));
                    let void = rounds.void.iter_mut().zip(made);
                    void.for_each(|(all, one)| all.push(one.record));
                }
                None => rounds.made.iter_mut().zip(made).for_each(|(all, one)| all.push(one)),
            }
            longest_round = longest_round.max(begins_with.saturating_sub(self.time_left()));
        }
        Ok(rounds)
    }

    /// One run of each treatment; `None` if it was interrupted. `before` rounds are complete.
    fn round(
        &self,
        before: usize,
        lasted: &mut RunDurations,
        interrupt: &Interrupt,
        say: &mut Say<'_>,
    ) -> Result<Option<Vec<FinishedRun>>, ConductError> {
        let count = self.treatments.len();
        let mut made: Vec<Option<FinishedRun>> = (0..count).map(|_| None).collect();
        for (turn, side) in order(before + 1, count).into_iter().enumerate() {
            if interrupt.is_set() {
                return Ok(None);
            }
            let run = count * before + turn + 1;
            let began_ms = wall_ms();
            let RunDurations { run_seconds, commands } = &mut *lasted;
            let mut of_run = say.as_mut().map(|say| OfRun {
                say: &mut **say,
                runs: self.treatments.len() as u32 * self.rounds,
                run,
                side,
                run_seconds,
            });
            let say = of_run.as_mut().map(|say| say as &mut dyn Listener);
            made[side.0] = Some(self.make(side, commands[side.0], interrupt, say)?);
            commands[side.0] = wall_ms().saturating_sub(began_ms) as f64 / 1e3;
        }
        Ok(made.into_iter().collect::<Option<Vec<_>>>().filter(|_| !interrupt.is_set()))
    }

    /// The time to the deadline; the longest there is without one.
    fn time_left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, Deadline::left)
    }

    fn has_time_for(&self, round: Duration) -> bool {
        let left = self.time_left();
        !left.is_zero() && round < left
    }

    fn make(
        &self,
        side: Side,
        command_seconds: f64,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<FinishedRun, ConductError> {
        if let Some(switch) = self.switch {
            let failed = |why| ConductError::Process { who: "switching a setting".to_owned(), why };
            switch(side).map_err(failed)?;
        }
        let directory = self.directory.join(side.name());
        match self.treatments[side.0] {
            Treatment::Scenario(conduct) => {
                let mut conduct = conduct.as_ref().clone();
                conduct.scenario.runs = 1;
                // A void round is repeated as a whole, so that its runs stay neighbours in time.
                conduct.runs_directory = directory;
                let (record, path) = conduct.carry_out(interrupt, say)?;
                Ok(FinishedRun { record, path })
            }
            Treatment::Command { line, sets } => {
                if let Some(say) = &mut say {
                    say.take(Progress::Part(RunPart {
                        run: 0,
                        runs: 0,
                        name: &format!("{}: {line}", side.name()),
                        warm_up_seconds: 0.0,
                        seconds: command_seconds,
                        rate_per_second_offered: None,
                        seconds_left: command_seconds,
                    }));
                }
                self.command(line, sets, &directory, interrupt)
            }
        }
    }

    /// Runs a user's command and reads the record that it prints.
    fn command(
        &self,
        line: &str,
        sets: &[String],
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<FinishedRun, ConductError> {
        let failed = |why: String| ConductError::Process { who: format!("{line:?}"), why };
        let record_failed =
            |source| ConductError::Record { path: directory.display().to_string(), source };
        std::fs::create_dir_all(directory).map_err(record_failed)?;
        // Beside the records, not among them.
        let path = directory.with_extension("stderr");
        let stderr = File::create(&path).map_err(record_failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        // A round has one run of each.
        let all = std::iter::once("runs=1").chain(sets.iter().map(String::as_str));
        command.env(SET_VARIABLE, all.collect::<Vec<_>>().join("\n"));
        // A command may change its directory.
        let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        command.env(OUT_VARIABLE, absolute);
        let earlier = records_in(directory);
        let mut process = Process::start(command, "", stderr, COMMAND_PATIENCE)
            .map_err(|error| failed(format!("it can't be started: {error}")))?;
        interrupt.watch(&[process.pid()]);
        let printed: Vec<String> = std::iter::from_fn(|| process.line()).collect();
        interrupt.watch(&[]);
        let (status, _) = process.wait().map_err(|error| failed(error.to_string()))?;
        let record = RunRecord::from_json(&printed.join("\n")).map_err(|error| {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            failed(format!(
                "it printed no run record ({error}; {status}): a command to compare prints one, as \
                 `tickpath run --json` does. {}",
                said.trim()
            ))
        })?;
        if !sets.is_empty() && record.runs > 1 {
            return Err(failed(format!(
                "it doesn't read {SET_VARIABLE}, so --set has no effect on it: write the settings into the command"
            )));
        }
        let own = records_in(directory).into_iter().find(|path| !earlier.contains(path));
        let path = match own {
            Some(path) => path,
            None => keep(&record, directory).map_err(record_failed)?,
        };
        Ok(FinishedRun { record, path })
    }
}

/// The directories of records in `directory`.
fn records_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("run.json").is_file()).collect()
}

/// Keeps a record whose command keeps none here.
fn keep(record: &RunRecord, directory: &Path) -> std::io::Result<PathBuf> {
    let path = record::directory::create(directory, &record.scenario)?;
    let text = serde_json::to_string_pretty(record)?;
    record::directory::write_whole(&path.join("run.json"), &text)?;
    Ok(path)
}

/// How long runs took, to tell how long the next ones will.
struct RunDurations {
    /// A scenario's run says it beforehand.
    run_seconds: f64,
    /// A command doesn't; its run before did. By treatment.
    commands: Vec<f64>,
}

/// There and back again.
fn order(round: usize, treatments: usize) -> Vec<Side> {
    let sides = Side::all(treatments);
    if round % 2 == 1 { sides.collect() } else { sides.rev().collect() }
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
