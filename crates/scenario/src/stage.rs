//! Carries a scenario out: for each run a fresh exchange and a fresh client a subject, the raw echo
//! between them, each pair alone on its cores. This process sleeps while they measure.

use crate::assemble::{self, Parts};
use crate::conduct::{Conduct, ConductError, Entrant, Interrupt, entrants};
use crate::core_to_core;
use crate::file::{Kind, Network};
use crate::launch::{self, Launch, Ready};
use crate::placement::{Placed, place};
use crate::process::Process;
use crate::progress::{Progress, Say, Teller};
use crate::run::{Lengths, Measured, Run, lengths};
use crate::ticking;
use crate::validity;
use host::network::Networks;
use host::scheduling::has_fair_server;
use host::{Root, Topology};
use measure::clock::{Clock, wall_ms};
use measure::directory;
use measure::machine::Machine;
use measure::record::{ClientResult, RunRecord};
use noise::beside::Beside;
use noise::hiccup;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

impl Conduct {
    /// Carries the scenario out and leaves a record; `say` is told what happens, where somebody looks on.
    /// Meanwhile the calling thread keeps off the cores that are measured, if there are others.
    ///
    /// # Errors
    /// If nothing could be measured. A run that went wrong makes an invalid record instead.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<(RunRecord, PathBuf), ConductError> {
        self.check()?;
        let profile = self.risk_profile()?;
        let started_wall_ms = wall_ms();
        let root = Root::system();
        let clock = Clock::calibrate();
        let allowed = host::thread::allowed()?;
        let topology = Topology::read(&root);
        let fixed = host::capture(&root, &clock, None).fixed;
        let placed = place(&self.scenario, &topology, &allowed, &fixed)?;
        let probed = probe_cores(&placed, &allowed);
        if let Some(say) = &mut say {
            say(Progress::Machine);
        }
        let before = host::capture(&root, &clock, probed);
        let wants_networks =
            self.scenario.kind == Kind::Tick && self.scenario.network == Network::Veth;
        let networks = wants_networks.then(Networks::create).transpose()?;
        let record_failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| ConductError::Record { path, source }
        };
        let path = directory::create(&self.runs_directory, &self.scenario.name)
            .map_err(record_failed(&self.runs_directory))?;
        ticking::write_profile(&path, profile.as_ref()).map_err(record_failed(&path))?;
        let entrants = entrants(self, &placed);
        let teller = Teller::new(say, self, &entrants);
        let has_fair_server = fixed.kernel_release.as_deref().is_some_and(has_fair_server);
        let beside = self.noise.then(|| Beside::open(&placed.cores(), has_fair_server));
        let networks = networks.as_ref();
        let mut stage = Stage {
            conduct: self,
            placed: &placed,
            path: &path,
            interrupt,
            teller,
            clock,
            beside,
            networks,
        };
        // Who is measured pins itself; everybody else, and what they start, stays where we are. Where
        // the kernel forbids it we are a guest on the measured cores that sleeps.
        let _ = host::thread::run_on(&placed.elsewhere(&topology, &allowed));
        let all_runs = stage.all_runs(&entrants);
        let noise = stage.beside.take().map(Beside::finish);
        let _ = host::thread::run_on(&allowed);
        let (runs, runs_void, mut warnings) = match all_runs {
            Ok(runs) => runs,
            Err(error) => {
                // Nothing was measured; what processes said stands in the error.
                let _ = fs::remove_dir_all(&path);
                return Err(error);
            }
        };
        let after = host::capture(&root, &clock, probed);
        let machine = Machine { before, after: Some(after) };
        warnings.splice(0..0, placed.warnings.iter().cloned());
        warnings.extend(launch::warnings(&path));
        let mut record = assemble::record(Parts {
            conduct: self,
            placed: &placed,
            entrants: &entrants,
            profile: profile.as_ref(),
            path: &path,
            runs: &runs,
            runs_void,
            warnings,
            machine: &machine,
            clock,
            started_wall_ms,
            noise,
        });
        if runs.iter().all(|run| !run.failed) {
            launch::remove_stderr(&path);
        }
        let kept = self.scenario.audit.keep_runs;
        ticking::name_kept_audits(&mut record, runs.len(), kept);
        directory::save_record(&path, &record, &machine).map_err(record_failed(&path))?;
        ticking::remove_files(&path, runs.len(), kept);
        Ok((record, path))
    }
}

fn probe_cores(placed: &Placed, allowed: &[usize]) -> Option<(usize, usize)> {
    let first = placed.subjects.first()?;
    let subject = *first.last()?;
    let other = placed
        .exchange
        .first()
        .copied()
        .or_else(|| first.iter().copied().find(|core| *core != subject))
        .or_else(|| allowed.iter().copied().find(|core| *core != subject))?;
    (other != subject).then_some((other, subject))
}

/// What the runs are made with.
struct Stage<'a, 's> {
    conduct: &'a Conduct,
    placed: &'a Placed,
    path: &'a Path,
    interrupt: &'a Interrupt,
    teller: Teller<'s>,
    clock: Clock,
    /// Where that is asked for.
    beside: Option<Beside>,
    /// The same.
    networks: Option<&'a Networks>,
}

impl Stage<'_, '_> {
    /// Runs that count, how many were void, what to warn of.
    ///
    /// An error is one before anything was measured; a later one makes a failed run.
    fn all_runs(
        &mut self,
        entrants: &[Entrant],
    ) -> Result<(Vec<Run>, u32, Vec<String>), ConductError> {
        let scenario = &self.conduct.scenario;
        let mut runs: Vec<Run> = Vec::new();
        let mut void = 0;
        let repeats_max = if scenario.has_one_flow() { 0 } else { self.conduct.repeats_max };
        let mut warnings = Vec::new();
        while runs.len() < scenario.runs as usize && !self.interrupt.is_set() {
            let number = runs.len() as u32 + 1;
            let (run, error) = self.one_run(number, entrants, &runs);
            let idle = |tag: &String| tag.starts_with(hiccup::SUBJECT);
            let nothing = runs.is_empty() && void == 0 && run.totals.keys().all(idle);
            if let Some(error) = error.filter(|_| nothing && !run.interrupted) {
                return Err(error);
            }
            let broken = validity::broken(&run);
            let over = run.failed || run.interrupted;
            if broken.is_empty() || over || void == repeats_max {
                runs.push(run);
                if over {
                    break;
                }
                continue;
            }
            let hlog = directory::hlog(self.path, number);
            let kept = self.path.join(format!("void-{}.hlog", void + 1));
            if let Err(error) = fs::rename(&hlog, &kept) {
                let failure = format!("cannot keep {} aside: {error}", hlog.display());
                runs.push(Run { failed: true, failures: vec![failure], ..run });
                break;
            }
            ticking::forget(self.path, number);
            void += 1;
            warnings.push(format!("run {number} was void and is repeated: {}", broken.join("; ")));
            self.teller.say(Progress::Warning(&warnings[warnings.len() - 1]));
        }
        Ok((runs, void, warnings))
    }

    /// What the machine does at this time, before each run.
    fn hiccup(&mut self, number: u32) -> Result<(), ConductError> {
        let scenario = &self.conduct.scenario;
        let cores = self.placed.cores();
        if scenario.hiccup_seconds <= 0.0 || cores.is_empty() || self.interrupt.is_set() {
            return Ok(());
        }
        self.teller.hiccup(scenario.hiccup_seconds);
        let look = hiccup::Look {
            cores,
            scheduling: scenario.subject[0].scheduling,
            rate_per_second: scenario.rate_per_second(),
            seconds: scenario.hiccup_seconds,
        };
        let hlog = directory::hlog(self.path, number);
        let stop = self.interrupt.flag();
        match &mut self.beside {
            None => Ok(hiccup::look(&look, self.clock, &hlog, stop)?),
            Some(beside) => {
                let seen = beside.hiccup(number, &look, self.clock, stop)?;
                Ok(hiccup::write(&look, &seen, &hlog)?)
            }
        }
    }

    /// Every entrant once, in the scenario's order and in the reverse order by turns, so that a drift
    /// of the machine does not always meet the same one. With the run comes the error that ended it.
    fn one_run(
        &mut self,
        number: u32,
        entrants: &[Entrant],
        earlier: &[Run],
    ) -> (Run, Option<ConductError>) {
        let mut order: Vec<&Entrant> = entrants.iter().collect();
        // The first run tells how long messages are, which a floor must know.
        if number.is_multiple_of(2) {
            order.reverse();
        }
        let mut run = Run::default();
        self.teller.run(number);
        let mut error = self.hiccup(number).err();
        for entrant in order {
            if self.interrupt.is_set() || error.is_some() || run.failed {
                break;
            }
            self.teller.entrant(self.conduct, entrant);
            let known = |run| lengths(run, entrants, entrant);
            let lengths = earlier.iter().chain([&run]).find_map(known);
            match self.one_entrant(number, entrant, lengths) {
                Ok(measured) => {
                    run.failed |= !measured.result.complete && !self.interrupt.is_set();
                    for failure in &measured.result.failures {
                        self.teller.say(Progress::Warning(failure));
                    }
                    run.measured.push(measured);
                }
                // Ctrl-C may find a process that can't say anything yet.
                Err(_) if self.interrupt.is_set() => {}
                Err(broken) => error = Some(broken),
            }
        }
        run.interrupted = self.interrupt.is_set();
        run.failed |= error.is_some();
        run.failures.extend(error.as_ref().map(ConductError::to_string));
        if let Ok(log) = File::open(directory::hlog(self.path, number)) {
            let (totals, cut_off) = measure::hlog::totals_so_far(BufReader::new(log));
            run.totals = totals;
            if let Some(cut_off) = cut_off {
                run.failed = true;
                run.failures.push(format!("the log of run {number} is damaged: {cut_off}"));
            }
        }
        (run, error)
    }

    fn one_entrant(
        &mut self,
        number: u32,
        entrant: &Entrant,
        lengths: Option<Lengths>,
    ) -> Result<Measured, ConductError> {
        let launch = Launch {
            conduct: self.conduct,
            placed: self.placed,
            path: self.path,
            interrupt: self.interrupt,
            number,
            entrant,
            networks: self.networks,
        };
        match self.conduct.scenario.kind {
            Kind::OrderEntry | Kind::Tick => self.two_ends(&launch, lengths),
            Kind::Ipc => {
                let mut result = self.traced(&launch, |_| launch.relay())?;
                if result.clock.cost_ns == 0 {
                    // A client of another language does not say what its clock costs; no less than ours.
                    result.clock.cost_ns = self.clock.cost_ns();
                }
                Ok(self.measured(entrant, result))
            }
            Kind::Engine | Kind::Soak | Kind::Journal => {
                let result = self.traced(&launch, |teller| launch.matching(teller))?;
                Ok(self.measured(entrant, result))
            }
            Kind::CoreToCore => {
                let hlog = directory::hlog(self.path, number);
                let seconds = self.conduct.scenario.seconds;
                let Entrant { name, cores, .. } = entrant;
                let interrupt = self.interrupt;
                let result =
                    core_to_core::measure(name, cores, seconds, self.clock, &hlog, interrupt)?;
                Ok(self.measured(entrant, result))
            }
        }
    }

    /// Does `work`, in which other processes measure; where that was asked for with an eye on who disturbs
    /// their cores.
    fn traced<T>(&mut self, launch: &Launch, work: impl FnOnce(&mut Teller<'_>) -> T) -> T {
        let Stage { beside, teller, clock, .. } = self;
        let name = &launch.entrant.name;
        match beside {
            None => work(teller),
            Some(beside) => beside.during(launch.number, name, *clock, || work(teller)),
        }
    }

    /// A fresh exchange, or what gives the floor, and a fresh client.
    fn two_ends(
        &mut self,
        launch: &Launch,
        lengths: Option<Lengths>,
    ) -> Result<Measured, ConductError> {
        let entrant = launch.entrant;
        let Conduct { scenario, connect, connect_floor, .. } = self.conduct;
        let (process, ready) = match launch.start_exchange(lengths.as_ref())? {
            Some((process, ready)) => (Some(process), ready),
            None => {
                let known = if entrant.is_floor { connect_floor } else { connect };
                (None, Ready { address: known.clone().unwrap_or_default(), clock: None })
            }
        };
        let pid = process.as_ref().map(Process::pid);
        let told = self.traced(launch, |teller| match scenario.kind {
            Kind::Tick => launch.ticks(pid, ready, lengths, teller),
            _ => {
                let bytes = lengths.map(|lengths| lengths.messages);
                launch.client(ready.address, bytes, teller).map(|result| (result, None))
            }
        });
        let ended = process.map(|process| launch.end_exchange(process));
        let (mut result, taking) = told?;
        let exchange = match ended {
            Some(Ok(ended)) => ended,
            Some(Err(why)) => {
                result.complete = false;
                result.failures.insert(0, why);
                None
            }
            None => None,
        };
        Ok(Measured { exchange, taking, ..self.measured(entrant, result) })
    }

    fn measured(&self, entrant: &Entrant, result: ClientResult) -> Measured {
        let scenario = &self.conduct.scenario;
        let seconds = self.conduct.phases(entrant).1;
        let offered = scenario.rate_per_second_offered();
        Measured {
            subject: entrant.name.clone(),
            kind: scenario.kind,
            core: entrant.cores.first().copied(),
            offered,
            planned: offered.map(|_| scenario.messages(seconds)),
            result,
            exchange: None,
            is_floor: entrant.is_floor,
            asked: ticking::asked(self.conduct, entrant),
            taking: None,
        }
    }
}
