//! Two treatments, one run of each after the other: A B B A A B B A …, so that whatever the machine
//! does meanwhile meets both alike.
//!
//! A treatment is whatever ends in a run record: a scenario with what is set in it, or a command that
//! prints a record. Each run is a record of its own; a pair of which one is void is made again.

use crate::conduct::{Conduct, ConductError};
use crate::process::{Interrupt, Process};
use crate::progress::{Part, Progress, Say};
use measure::record::RunRecord;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Pairs that one experiment makes at most.
pub const PAIRS_MAX: u32 = 100;
/// How long a command of the user's may take for one run.
const COMMAND_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// What is compared.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// A scenario. It is made with one run at a time, whatever it says.
    Scenario(Box<Conduct>),
    /// A command for the shell that prints a run record as JSON.
    Command(String),
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Against what is compared.
    A,
    /// What is compared with it.
    B,
}

impl Side {
    /// `a` or `b`, as directories are called.
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }
}

/// What to make.
pub struct Experiment<'a> {
    /// A, then B.
    pub treatments: [&'a Treatment; 2],
    /// So many runs of each.
    pub pairs: u32,
    /// Where the records go: `a/` and `b/` in it.
    pub directory: &'a Path,
    /// Void runs count like others.
    pub takes_void: bool,
}

/// One run.
pub struct Made {
    /// Its record.
    pub record: RunRecord,
    /// Where that is, if we know.
    pub path: Option<PathBuf>,
}

/// What was made.
#[derive(Default)]
pub struct Pairs {
    /// Of each pair the run of A, in order of time.
    pub a: Vec<Made>,
    /// Of each pair the run of B.
    pub b: Vec<Made>,
    /// Why pairs were void, one sentence each.
    pub void_because: Vec<String>,
    /// What ended it early, if something broke.
    pub failure: Option<String>,
}

impl Experiment<'_> {
    /// Makes the pairs. Fewer than asked if it was interrupted, if something broke, or if as many were
    /// void as were asked for.
    ///
    /// # Errors
    /// If something broke before a pair was made.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<Pairs, ConductError> {
        let mut pairs = Pairs::default();
        let mut run_seconds = 0.0;
        while pairs.a.len() < self.pairs as usize
            && pairs.void_because.len() < self.pairs as usize
            && !interrupt.is_set()
        {
            let number = pairs.a.len() + 1;
            let mut made = [None, None];
            for (turn, side) in order(number).into_iter().enumerate() {
                if turn == 1 && interrupt.is_set() {
                    break;
                }
                let run = 2 * pairs.a.len() + turn + 1;
                let mut as_pair = say.as_mut().map(|say| {
                    |progress: Progress<'_>| self.tell(*say, run, side, &mut run_seconds, progress)
                });
                let say = as_pair.as_mut().map(|say| say as &mut dyn FnMut(Progress<'_>));
                match self.make(side, interrupt, say) {
                    Ok(one) => made[side as usize] = Some(one),
                    Err(error) if pairs.a.is_empty() => return Err(error),
                    Err(error) => {
                        // What was made so far is not lost.
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
                .find(|(_, record)| !record.valid && !self.takes_void)
                .map(|(side, record)| (side, record.invalid_because.join("; ")));
            match void {
                Some((side, because)) => {
                    pairs.void_because.push(format!("pair {number}, {}: {because}", side.name()));
                }
                None => {
                    pairs.a.push(a);
                    pairs.b.push(b);
                }
            }
        }
        Ok(pairs)
    }

    /// One run of many: which one it is, of which treatment, and how long all of them still take.
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

    fn make(&self, side: Side, interrupt: &Interrupt, say: Say<'_>) -> Result<Made, ConductError> {
        let directory = self.directory.join(side.name());
        match self.treatments[side as usize] {
            Treatment::Scenario(conduct) => {
                let mut conduct = conduct.as_ref().clone();
                conduct.scenario.runs = 1;
                // A pair of which one is void is made again, both of it, so that they stay neighbours.
                conduct.repeats_max = 0;
                conduct.runs_directory = directory;
                let (record, path) = conduct.carry_out(interrupt, say)?;
                Ok(Made { record, path: Some(path) })
            }
            Treatment::Command(line) => {
                let record = self.command(line, &directory, interrupt)?;
                Ok(Made { record, path: None })
            }
        }
    }

    /// Runs a command of the user's and reads the record that it prints.
    fn command(
        &self,
        line: &str,
        directory: &Path,
        interrupt: &Interrupt,
    ) -> Result<RunRecord, ConductError> {
        let failed = |why: String| ConductError::Process { who: format!("{line:?}"), why };
        let record_failed =
            |source| ConductError::Record { path: directory.display().to_string(), source };
        std::fs::create_dir_all(directory).map_err(record_failed)?;
        let path = directory.join("command.stderr");
        let stderr = File::create(&path).map_err(record_failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        let mut process = Process::start(command, "", stderr, COMMAND_PATIENCE)
            .map_err(|error| failed(format!("it can't be started: {error}")))?;
        interrupt.watch(&[process.pid()]);
        let printed: Vec<String> = std::iter::from_fn(|| process.line()).collect();
        interrupt.watch(&[]);
        let (status, _) = process.wait().map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&printed.join("\n")).map_err(|error| {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            failed(format!(
                "it printed no run record ({error}; {status}): a command to compare prints one, as \
                 `tickpath run --json` does. {}",
                said.trim()
            ))
        })
    }
}

/// Who comes first, by turns.
fn order(pair: usize) -> [Side; 2] {
    if pair % 2 == 1 { [Side::A, Side::B] } else { [Side::B, Side::A] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::record::Subject;

    /// A command that notes that it ran and prints a record.
    fn treatment(directory: &Path, name: &str, valid: &str) -> Treatment {
        let record = serde_json::json!({"schema": 1, "tool": "test", "scenario": name,
            "complete": true, "valid": "VALID", "invalid_because": ["noise"], "runs": 1,
            "runs_void": 0, "warnings": [], "subjects": [Subject::default()]});
        let text = record.to_string().replace("\"VALID\"", valid);
        let log = directory.join("log");
        Treatment::Command(format!("printf {name} >> '{}'; echo '{text}'", log.display()))
    }

    fn made(pairs: u32, valid: [&str; 2], takes_void: bool) -> (Pairs, String) {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = [("a", valid[0]), ("b", valid[1])]
            .map(|(name, valid)| treatment(directory.path(), name, valid));
        let experiment =
            Experiment { treatments: [&a, &b], pairs, directory: directory.path(), takes_void };
        let made = experiment.carry_out(&Interrupt::default(), None).unwrap();
        (made, std::fs::read_to_string(directory.path().join("log")).unwrap())
    }

    #[test]
    fn runs_come_in_turns() {
        let (pairs, order) = made(4, ["true", "true"], false);
        assert_eq!(order, "abbaabba");
        let names = |made: &[Made]| -> String {
            made.iter().map(|one| one.record.scenario.as_str()).collect()
        };
        assert_eq!((names(&pairs.a), names(&pairs.b)), ("aaaa".to_owned(), "bbbb".to_owned()));
    }

    #[test]
    fn void_pairs_are_made_again_but_not_for_ever() {
        let (pairs, order) = made(3, ["true", "false"], false);
        assert_eq!((pairs.a.len(), pairs.void_because.len()), (0, 3));
        assert_eq!(order.len(), 6);
        assert!(pairs.void_because[0].contains("pair 1, b: noise"));
        assert_eq!(made(3, ["true", "false"], true).0.a.len(), 3);
    }

    /// A command that breaks in its second run: the first pair is there, and what broke.
    #[test]
    fn what_was_made_before_something_broke_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let good = treatment(directory.path(), "a", "true");
        let Treatment::Command(line) = treatment(directory.path(), "b", "true") else {
            unreachable!()
        };
        let once = directory.path().join("once");
        let once = once.display();
        let breaks =
            Treatment::Command(format!("test -e '{once}' && exit 9; touch '{once}'; {line}"));
        let experiment = Experiment {
            treatments: [&good, &breaks],
            pairs: 5,
            directory: directory.path(),
            takes_void: false,
        };
        let made = experiment.carry_out(&Interrupt::default(), None).unwrap();
        assert_eq!((made.a.len(), made.b.len()), (1, 1));
        assert!(made.failure.unwrap().contains("exit status: 9"));
    }

    #[test]
    fn a_command_that_prints_no_record_is_told_what_to_print() {
        let directory = tempfile::tempdir().unwrap();
        let broken = Treatment::Command("echo hello; echo why >&2; exit 7".to_owned());
        let experiment = Experiment {
            treatments: [&broken, &broken],
            pairs: 1,
            directory: directory.path(),
            takes_void: false,
        };
        let error = experiment.carry_out(&Interrupt::default(), None).err().unwrap();
        let error = error.to_string();
        for word in ["tickpath run --json", "exit status: 7", "why"] {
            assert!(error.contains(word), "no {word:?} in {error}");
        }
    }
}
