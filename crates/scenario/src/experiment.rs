//! Two treatments, interleaved A B B A A B B A …, so that drift of the machine affects both alike.
//!
//! A treatment is anything that ends in a run record: a scenario with settings, or a command that
//! prints a record. Each run is a record of its own. If one run of a pair is void, the pair is
//! repeated.

use crate::conduct::{Conduct, ConductError};
use crate::launch::process::{Interrupt, Process};
use crate::progress::{Part, Progress, Say};
use clock::{Deadline, wall_ms};
use record::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Pairs that one experiment makes at most.
pub const PAIRS_MAX: u32 = 100;
/// Time limit of a user's command for one run.
const COMMAND_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// One side of a comparison.
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

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl Side {
    /// `a` or `b`, also the name of the directory.
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }
}

/// What to compare, and how often.
pub struct Experiment<'a> {
    /// A, then B.
    pub treatments: [&'a Treatment; 2],
    /// Number of runs of each.
    pub pairs: u32,
    /// Directory of the records, in `a/` and `b/`.
    pub directory: &'a Path,
    /// Accept void runs like others.
    pub takes_void: bool,
    /// Begin no pair that would end after this.
    pub deadline: Option<&'a Deadline>,
    /// Called before each run, with its side: puts the machine into that side's state.
    pub switch: Option<Switch<'a>>,
}

/// Puts the machine into the state of a side, or says why it can't.
pub type Switch<'a> = &'a dyn Fn(Side) -> Result<(), String>;

/// One run.
pub struct Made {
    /// Its record.
    pub record: RunRecord,
    /// The directory of the record.
    pub path: PathBuf,
}

/// The runs that were made.
#[derive(Default)]
pub struct Pairs {
    /// A's run of each pair, in order of time.
    pub a: Vec<Made>,
    /// B's run of each pair.
    pub b: Vec<Made>,
    /// Why pairs were void, one sentence each.
    pub void_because: Vec<String>,
    /// The error that ended the experiment early.
    pub failure: Option<String>,
}

impl Experiment<'_> {
    /// Makes the pairs. There are fewer than asked for if the experiment was interrupted, if the
    /// time was up, if something broke, or if as many pairs were void as were asked for.
    ///
    /// # Errors
    /// If something broke before the first pair was complete.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<Pairs, ConductError> {
        let mut pairs = Pairs::default();
        let mut run_seconds = 0.0;
        // A command doesn't say how long it takes; its run before does.
        let mut command_seconds = [0.0; 2];
        let mut longest_pair = Duration::ZERO;
        while pairs.a.len() < self.pairs as usize
            && pairs.void_because.len() < self.pairs as usize
            && !interrupt.is_set()
            && self.has_time_for(longest_pair)
        {
            let begins_with = self.time_left();
            let number = pairs.a.len() + 1;
            let mut made = [None, None];
            for (turn, side) in order(number).into_iter().enumerate() {
                if turn == 1 && interrupt.is_set() {
                    break;
                }
                let run = 2 * pairs.a.len() + turn + 1;
                let began_ms = wall_ms();
                let mut as_pair = say.as_mut().map(|say| {
                    |progress: Progress<'_>| self.tell(*say, run, side, &mut run_seconds, progress)
                });
                let say = as_pair.as_mut().map(|say| say as &mut dyn FnMut(Progress<'_>));
                let name = format!("{}: ", side.name());
                match self.make(side, (&name, command_seconds[side as usize]), interrupt, say) {
                    Ok(one) => {
                        command_seconds[side as usize] =
                            wall_ms().saturating_sub(began_ms) as f64 / 1e3;
                        made[side as usize] = Some(one);
                    }
                    Err(error) if pairs.a.is_empty() => return Err(error),
                    Err(error) => {
                        // Keep the pairs that are complete.
                        pairs.failure = Some(error.to_string());
                        break;
                    }
                }
            }
            let [Some(a), Some(b)] = made else { break };
            if interrupt.is_set() {
                break;
            }
            let void = [(Side::A, &a.record), (Side::B, &b.record)]
                .into_iter()
                .find(|(_, record)| record.is_void() && !self.takes_void)
                .map(|(side, record)| (side, record.void_because.join("; ")));
            match void {
                Some((side, because)) => {
                    pairs.void_because.push(format!("pair {number}, {}: {because}", side.name()));
                }
                None => {
                    pairs.a.push(a);
                    pairs.b.push(b);
                }
            }
            longest_pair = longest_pair.max(begins_with.saturating_sub(self.time_left()));
        }
        Ok(pairs)
    }

    /// The time to the deadline; the longest there is without one.
    fn time_left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, Deadline::left)
    }

    fn has_time_for(&self, pair: Duration) -> bool {
        let left = self.time_left();
        !left.is_zero() && pair < left
    }

    /// Reports progress: which run of which treatment, and the time left for all.
    fn tell(
        &self,
        say: &mut dyn FnMut(Progress<'_>),
        run: usize,
        side: Side,
        run_seconds: &mut f64,
        progress: Progress<'_>,
    ) {
        let Progress::Part(part) = progress else { return say(progress) };
        *run_seconds = part.seconds_left.max(*run_seconds);
        let runs = 2 * self.pairs;
        let later = f64::from(runs) - run as f64;
        say(Progress::Part(Part {
            run: run as u32,
            runs,
            name: &format!("{} {}", side.name(), part.name),
            seconds_left: part.seconds_left + later * *run_seconds,
            ..part
        }));
    }

    fn make(
        &self,
        side: Side,
        (name, seconds): (&str, f64),
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<Made, ConductError> {
        if let Some(switch) = self.switch {
            let failed = |why| ConductError::Process { who: "switching a setting".to_owned(), why };
            switch(side).map_err(failed)?;
        }
        let directory = self.directory.join(side.name());
        match self.treatments[side as usize] {
            Treatment::Scenario(conduct) => {
                let mut conduct = conduct.as_ref().clone();
                conduct.scenario.runs = 1;
                // A void pair is repeated as a whole, so that its runs stay neighbours in time.
                conduct.runs_directory = directory;
                let (record, path) = conduct.carry_out(interrupt, say)?;
                Ok(Made { record, path })
            }
            Treatment::Command { line, sets } => {
                if let Some(say) = &mut say {
                    say(Progress::Part(Part {
                        run: 0,
                        runs: 0,
                        name: &format!("{name}{line}"),
                        warm_up_seconds: 0.0,
                        seconds,
                        rate_per_second_offered: None,
                        seconds_left: seconds,
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
    ) -> Result<Made, ConductError> {
        let failed = |why: String| ConductError::Process { who: format!("{line:?}"), why };
        let record_failed =
            |source| ConductError::Record { path: directory.display().to_string(), source };
        std::fs::create_dir_all(directory).map_err(record_failed)?;
        // Beside the records, not among them.
        let path = directory.with_extension("stderr");
        let stderr = File::create(&path).map_err(record_failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        // A pair has one run of each.
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
        Ok(Made { record, path })
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

/// The first side alternates.
fn order(pair: usize) -> [Side; 2] {
    if pair % 2 == 1 { [Side::A, Side::B] } else { [Side::B, Side::A] }
}

#[cfg(test)]
#[path = "experiment_tests.rs"]
mod tests;
