//! Events while a scenario runs, for a person who watches. No record depends on them.

use crate::conduct::{Conduct, Entrant};
use noise::hiccup;
use record::progress::Second;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    /// The machine is examined, before the first run.
    Machine,
    /// A part of a run begins.
    Part(RunPart<'a>),
    /// A second of the current part is over.
    Second(&'a Second),
    /// A run was void, or something broke.
    Warning(&'a str),
}

/// One entrant of a run, or the hiccup row before it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPart<'a> {
    /// Number of the run, from 1.
    pub run: u32,
    /// Number of runs that the scenario asks for.
    pub runs: u32,
    /// A subject, a floor, or `hiccup`.
    pub name: &'a str,
    /// Length of the warm-up.
    pub warm_up_seconds: f64,
    /// Length of the measured part.
    pub seconds: f64,
    /// Messages per second of the schedule; `None` in ping-pong and in a hiccup row.
    pub rate_per_second_offered: Option<f64>,
    /// Time left for the whole scenario, this part included, by its plan. Starting and ending
    /// processes, and repeated runs, take extra time.
    pub seconds_left: f64,
}

/// Receives the events. A closure does, and gets each second.
pub trait Listener {
    /// Takes one event.
    fn take(&mut self, progress: Progress<'_>);
    /// Whether clients report each second.
    fn wants_seconds(&self) -> bool;
}

impl<F: FnMut(Progress<'_>)> Listener for F {
    fn take(&mut self, progress: Progress<'_>) {
        self(progress);
    }

    fn wants_seconds(&self) -> bool {
        true
    }
}

/// The listener; `None` if nobody watches. Then clients report no progress either.
pub type Say<'a> = Option<&'a mut dyn Listener>;

/// Lends it for a part of the work.
pub(crate) fn again<'a>(say: &'a mut Say<'_>) -> Say<'a> {
    say.as_mut().map(|say| &mut **say as &mut dyn Listener)
}

/// Length of one run by its plan, without starting and ending processes.
pub(crate) fn run_seconds(conduct: &Conduct, entrants: &[Entrant]) -> f64 {
    let of = |entrant: &Entrant| {
        let (warm_up_seconds, seconds) = conduct.phases(entrant);
        warm_up_seconds + seconds
    };
    conduct.scenario.hiccup_seconds + entrants.iter().map(of).sum::<f64>()
}

/// Passes events on, and calculates the time that is left.
pub(crate) struct Teller<'a> {
    say: Say<'a>,
    run: u32,
    runs: u32,
    /// Length of all parts of one run.
    run_seconds: f64,
    left_in_run_seconds: f64,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(say: Say<'a>, conduct: &Conduct, entrants: &[Entrant]) -> Teller<'a> {
        let run_seconds = run_seconds(conduct, entrants);
        let runs = conduct.scenario.runs;
        Teller { say, run: 0, runs, run_seconds, left_in_run_seconds: 0.0 }
    }

    /// Whether clients report each second.
    pub(crate) fn wants_seconds(&self) -> bool {
        self.say.as_ref().is_some_and(|say| say.wants_seconds())
    }

    pub(crate) fn say(&mut self, progress: Progress<'_>) {
        if let Some(say) = &mut self.say {
            say.take(progress);
        }
    }

    pub(crate) fn run(&mut self, run: u32) {
        self.run = run;
        self.left_in_run_seconds = self.run_seconds;
    }

    pub(crate) fn hiccup(&mut self, seconds: f64) {
        self.part(hiccup::SUBJECT, (0.0, seconds), None);
    }

    pub(crate) fn entrant(&mut self, conduct: &Conduct, entrant: &Entrant) {
        let offered = conduct.scenario.rate_per_second_offered();
        self.part(&entrant.name, conduct.phases(entrant), offered);
    }

    fn part(&mut self, name: &str, phases: (f64, f64), rate_per_second_offered: Option<f64>) {
        let (warm_up_seconds, seconds) = phases;
        let (run, runs) = (self.run, self.runs);
        let later_runs = f64::from(runs.saturating_sub(run)) * self.run_seconds;
        let seconds_left = later_runs + self.left_in_run_seconds;
        self.left_in_run_seconds -= warm_up_seconds + seconds;
        self.say(Progress::Part(RunPart {
            run,
            runs,
            name,
            warm_up_seconds,
            seconds,
            rate_per_second_offered,
            seconds_left,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::entrants;
    use crate::placement::ScenarioCores;
    use plan::Scenario;

    /// All parts of `runs` runs, each with the time left when it begins.
    fn parts(runs: u32) -> Vec<(String, f64)> {
        let sets = [format!("runs={runs}"), "hiccup_seconds=0.5".into(), "seconds=3".into()];
        let conduct = Conduct::of(Scenario::find("order-to-ack", &sets).unwrap());
        let placed = ScenarioCores {
            exchange: vec![0],
            subjects: vec![vec![1]],
            ..ScenarioCores::default()
        };
        let entrants = entrants(&conduct, &placed);
        let mut said = Vec::new();
        let mut say = |progress: Progress<'_>| {
            if let Progress::Part(part) = progress {
                said.push((format!("{} {}", part.run, part.name), part.seconds_left));
            }
        };
        let mut teller = Teller::new(Some(&mut say), &conduct, &entrants);
        for run in 1..=runs {
            teller.run(run);
            teller.hiccup(0.5);
            entrants.iter().for_each(|entrant| teller.entrant(&conduct, entrant));
        }
        said
    }

    /// Warm-up 1 s and 3 s; for the floor 0.5 s and 2 s.
    #[test]
    fn what_is_left_is_what_the_plan_still_holds() {
        let expected = [
            ("1 hiccup", 14.0),
            ("1 rust", 13.5),
            ("1 floor", 9.5),
            ("2 hiccup", 7.0),
            ("2 rust", 6.5),
            ("2 floor", 2.5),
        ];
        assert_eq!(parts(2), expected.map(|(name, left)| (name.to_owned(), left)));
    }
}
