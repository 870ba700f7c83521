//! Carries a scenario out: prepares the site, makes the runs, and writes the record. Each run has a
//! fresh exchange and a fresh client per subject, and the floors between them. This process sleeps
//! while they measure.

use crate::assemble::{self, RecordInputs};
use crate::conduct::{Conduct, ConductError, Entrant, entrants, record_failed};
use crate::evidence::idle::Idle;
use crate::evidence::{Run, lengths};
use crate::kind::ticks::files;
use crate::launch::process::Interrupt;
use crate::launch::stderr;
use crate::progress::{Progress, Say, Teller};
use crate::run::availability::{self, PartedEntrants};
use crate::run::settle::Settle;
use crate::run::site::Site;
use crate::run::until::{self, AllRuns};
use clock::Deadline;
use host::Root;
use noise::beside::DisturbanceCollector;
use noise::occupancy::Occupancy;
use noise::{hiccup, meter};
use plan::scenario::RUNS_MAX;
use record::noise::Noise;
use record::{RunRecord, directory};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;

impl Conduct {
    /// Carries the scenario out and leaves a record; `say` receives progress. Meanwhile the calling
    /// thread avoids the measured cores, if there are others.
    ///
    /// # Errors
    /// If nothing could be measured. A run that failed makes a void record instead.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<(RunRecord, PathBuf), ConductError> {
        self.check()?;
        self.check_faults()?;
        let site = Site::prepare(self, &mut say)?;
        match self.measure(&site, interrupt, say) {
            Ok((parted, all_runs, noise)) => self.record(site, parted, all_runs, noise),
            Err(error) => {
                // Nothing was measured; the error quotes the processes' own words.
                let _ = fs::remove_dir_all(&site.path);
                Err(error)
            }
        }
    }

    fn measure(
        &self,
        site: &Site,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<(PartedEntrants, AllRuns, Option<Noise>), ConductError> {
        let entrants = entrants(self, &site.placed);
        if entrants.is_empty() {
            return Err(ConductError::CannotRun { faults: site.placed.warnings.clone() });
        }
        let parted = availability::part(self, site, interrupt, entrants)?;
        let teller = Teller::new(say, self, &parted.available);
        let (all_runs, noise) =
            Stage::new(self, site, interrupt, teller).measure(&parted.available);
        Ok((parted, all_runs?, noise))
    }

    /// Writes the record, and deletes the files that it no longer needs.
    fn record(
        &self,
        site: Site,
        PartedEntrants { available, unavailable }: PartedEntrants,
        AllRuns { runs, left_out }: AllRuns,
        noise: Option<Noise>,
    ) -> Result<(RunRecord, PathBuf), ConductError> {
        let machine = site.machine();
        let mut warnings = site.placed.warnings.clone();
        warnings.extend(stderr::warnings(&site.path));
        let mut record = assemble::record(RecordInputs {
            conduct: self,
            placed: &site.placed,
            entrants: &available,
            profile: site.profile.as_ref(),
            path: &site.path,
            runs: &runs,
            left_out,
            unavailable,
            warnings,
            machine: &machine,
            clock: site.clock,
            started_wall_ms: site.started_wall_ms,
            noise,
        });
        if runs.iter().all(|run| !run.failed) {
            stderr::remove(&site.path);
        }
        let kept = self.scenario.audit.keep_runs;
        files::name_kept_audits(&mut record, runs.len(), kept);
        directory::save_record(&site.path, &record, &machine).map_err(record_failed(&site.path))?;
        files::remove_all(&site.path, runs.len(), kept);
        Ok((record, site.path))
    }
}

/// Makes the runs.
pub(super) struct Stage<'a, 's> {
    pub conduct: &'a Conduct,
    pub site: &'a Site,
    pub interrupt: &'a Interrupt,
    pub teller: Teller<'s>,
    /// With `--noise`.
    pub beside: Option<DisturbanceCollector>,
    settle: Settle,
}

impl<'a, 's> Stage<'a, 's> {
    fn new(
        conduct: &'a Conduct,
        site: &'a Site,
        interrupt: &'a Interrupt,
        teller: Teller<'s>,
    ) -> Stage<'a, 's> {
        let cores = site.placed.cores();
        let beside =
            conduct.noise.then(|| DisturbanceCollector::open(&cores, site.has_fair_server));
        let settle = Settle::new(&Root::system(), site.clock);
        Stage { conduct, site, interrupt, teller, beside, settle }
    }

    /// Makes the runs, away from the measured cores. Processes that it starts inherit that
    /// placement, and a measuring thread pins itself. Where the kernel forbids this, we sleep on
    /// the measured cores.
    fn measure(mut self, entrants: &[Entrant]) -> (Result<AllRuns, ConductError>, Option<Noise>) {
        let _ = host::thread::run_on(&self.site.elsewhere);
        let all_runs = self.all_runs(entrants);
        let noise = self.beside.take().map(DisturbanceCollector::finish);
        let _ = host::thread::run_on(&self.site.allowed);
        (all_runs, noise)
    }

    /// Every run, and which of them count.
    ///
    /// # Errors
    /// If nothing was measured. A later error makes a failed run.
    fn all_runs(&mut self, entrants: &[Entrant]) -> Result<AllRuns, ConductError> {
        let planned = self.conduct.scenario.runs as usize;
        let until = self.conduct.until;
        let deadline = until.map(|until| Deadline::after(until.budget));
        let mut runs: Vec<Run> = Vec::new();
        while !self.interrupt.is_set() {
            let wants_more = || {
                let (Some(until), Some(deadline)) = (until, &deadline) else { return false };
                let chosen = until::least_disturbed(self.conduct, entrants, &runs, planned);
                let holds = until::holds_to(self.conduct, entrants, &runs, &chosen);
                holds < until.quantile
                    && !deadline.left().is_zero()
                    && runs.len() < RUNS_MAX as usize
            };
            if runs.len() >= planned && !wants_more() {
                break;
            }
            let number = runs.len() as u32 + 1;
            let (run, error) = self.one_run(number, entrants, &mut runs);
            let idle = |tag: &String| tag.starts_with(hiccup::SUBJECT);
            let nothing = runs.is_empty() && run.totals.keys().all(idle);
            if let Some(error) = error.filter(|_| nothing && !run.interrupted) {
                return Err(error);
            }
            let over = run.failed || run.interrupted;
            runs.push(run);
            if over {
                break;
            }
        }
        if let Some(last) = runs.last_mut() {
            // The look before a run is also the one after the previous run; the last run needs one.
            match self.idle() {
                Ok((_, idle)) => last.idle.extend(idle),
                Err(why) => {
                    let why = format!("no idle look after the last run: {why}");
                    self.teller.say(Progress::Warning(&why));
                }
            }
        }
        Ok(until::keep(self.conduct, &self.site.path, entrants, runs, planned))
    }

    /// The idle look before a run; writes its hiccup row to the run's log.
    fn hiccup(&mut self, number: u32) -> Result<Vec<Idle>, ConductError> {
        let (seen, idle) = self.idle()?;
        if !seen.is_empty() {
            hiccup::write(&self.idle_look(), &seen, &directory::hlog(&self.site.path, number))?;
        }
        Ok(idle)
    }

    fn idle_look(&self) -> hiccup::HiccupSettings {
        let scenario = &self.conduct.scenario;
        hiccup::HiccupSettings {
            cores: self.site.placed.cores(),
            scheduling: scenario.subject[0].scheduling,
            rate_per_second: scenario.rate_per_second(),
            seconds: scenario.hiccup_seconds,
        }
    }

    /// Looks at the clock on the measured cores while nothing else runs on them.
    fn idle(&mut self) -> Result<(Vec<meter::MeterResult>, Vec<Idle>), ConductError> {
        let look = self.idle_look();
        if look.seconds <= 0.0 || look.cores.is_empty() || self.interrupt.is_set() {
            return Ok(Default::default());
        }
        self.teller.hiccup(look.seconds);
        let occupancy = Occupancy::start(&look.cores);
        occupancy.is_measured(rustix::process::getpid());
        let stop = self.interrupt.flag();
        let seen = match &mut self.beside {
            None => hiccup::look(&look, self.site.clock, stop)?,
            Some(beside) => beside.hiccup(&look, self.site.clock, stop)?,
        };
        let occupancy = occupancy.finish();
        let idle = seen.iter().map(|one| Idle::of(one, &occupancy)).collect();
        Ok((seen, idle))
    }

    /// Every entrant once. Every other run has the reverse order, so that drift of the machine does
    /// not always meet the same entrant. Returns the run with the error that ended it.
    fn one_run(
        &mut self,
        number: u32,
        entrants: &[Entrant],
        earlier: &mut [Run],
    ) -> (Run, Option<ConductError>) {
        let mut order: Vec<&Entrant> = entrants.iter().collect();
        // A floor must know how long messages are, which the first run's subjects say.
        if number.is_multiple_of(2) {
            order.reverse();
        }
        let mut run = Run::default();
        self.teller.run(number);
        let mut error = None;
        match self.hiccup(number) {
            Ok(idle) => {
                earlier.last_mut().into_iter().for_each(|run| run.idle.extend(idle.clone()));
                run.idle = idle;
            }
            Err(why) => error = Some(why),
        }
        for entrant in order {
            if self.interrupt.is_set() || error.is_some() || run.failed {
                break;
            }
            self.teller.entrant(self.conduct, entrant);
            let known = |run| lengths(run, entrants, entrant);
            let lengths = earlier.iter().chain([&run]).find_map(known);
            if self.conduct.scenario.measurement().has_exchange() {
                self.settle.pause(self.conduct.phases(entrant).0, self.interrupt);
            }
            let measured = self.one_entrant(number, entrant, lengths);
            self.settle.ended();
            match measured {
                Ok(measured) => {
                    run.failed |= !measured.result.complete && !self.interrupt.is_set();
                    for failure in &measured.result.failures {
                        self.teller.say(Progress::Warning(failure));
                    }
                    run.measured.push(measured);
                }
                // Ctrl-C may meet a process that has no result yet.
                Err(_) if self.interrupt.is_set() => {}
                Err(broken) => error = Some(broken),
            }
        }
        run.interrupted = self.interrupt.is_set();
        run.failed |= error.is_some();
        run.failures.extend(error.as_ref().map(ConductError::to_string));
        if let Ok(log) = File::open(directory::hlog(&self.site.path, number)) {
            let (totals, cut_off) = record::hlog::totals_so_far(BufReader::new(log));
            run.totals = totals;
            if let Some(cut_off) = cut_off {
                run.failed = true;
                run.failures.push(format!("the log of run {number} is damaged: {cut_off}"));
            }
        }
        (run, error)
    }
}
