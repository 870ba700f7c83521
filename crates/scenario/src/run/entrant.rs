//! One entrant in one run: its processes, under the account of its cores.

use crate::conduct::{ConductError, Entrant};
use crate::disturbance::{Seen, exact};
use crate::ipc::core_to_core;
use crate::launch::{Launch, Left};
use crate::network::steering::Steered;
use crate::progress::Teller;
use crate::run::stage::Stage;
use crate::run::{Lengths, Measured};
use crate::tick::{self, files};
use host::Root;
use noise::account::Account;
use plan::scenario::Measure;
use record::directory;
use std::path::Path;
use tune::journal::STATE_DEFAULT;

impl Stage<'_, '_> {
    pub(super) fn one_entrant(
        &mut self,
        number: u32,
        entrant: &Entrant,
        lengths: Option<Lengths>,
    ) -> Result<Measured, ConductError> {
        let account = Account::start(&self.cores(entrant));
        let launch = Launch {
            conduct: self.conduct,
            placed: &self.site.placed,
            path: &self.site.path,
            interrupt: self.interrupt,
            number,
            entrant,
            account: &account,
            networks: self.site.networks.as_ref(),
        };
        let left = self.left(&launch, lengths);
        let accounted = account.finish();
        let Left { result, exchange, taking, exact, moments } = left?;
        let scenario = &self.conduct.scenario;
        let is_observed = match scenario.kind {
            // Whatever the other end does is what was asked for.
            Measure::Endpoint => true,
            kind => !plan::measure::of(kind).has_exchange() || scenario.exchange.start,
        };
        let seen = if !is_observed {
            Seen::unknown("nobody watched the core of the exchange, which another program started")
        } else {
            let hlog = directory::hlog(&self.site.path, number);
            let exact = moments.map_or(exact, |moments| {
                let samples = files::samples(&self.site.path, number as usize, &entrant.name);
                // A run that broke off may have left none; it is void.
                let samples = record::tick::samples::read(&samples).unwrap_or_default();
                exact::of_ticks(&samples, &accounted, moments)
            });
            Seen { exact, ..Seen::of(&accounted, &hlog, &entrant.name, self.pacer(entrant)) }
        };
        let planned = scenario.messages(self.conduct.phases(entrant).1);
        Ok(Measured {
            subject: entrant.name.clone(),
            kind: scenario.kind,
            planned: scenario.rate_per_second_offered().map(|_| planned),
            result,
            exchange,
            is_floor: entrant.is_floor,
            asked: tick::run::asked(self.conduct, entrant),
            seen,
            taking,
        })
    }

    /// The cores of the account.
    fn cores(&self, entrant: &Entrant) -> Vec<usize> {
        let mut cores = self.site.placed.exchange.clone();
        cores.extend(&entrant.cores);
        cores.sort_unstable();
        cores.dedup();
        cores
    }

    /// The core of the thread that paces the load, unless that thread itself is measured.
    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        match self.conduct.scenario.kind {
            Measure::Orders | Measure::Network | Measure::Ipc => entrant.cores.first().copied(),
            _ => None,
        }
    }

    /// Runs the processes of the entrant's kind.
    fn left(&mut self, launch: &Launch, lengths: Option<Lengths>) -> Result<Left, ConductError> {
        match self.conduct.scenario.kind {
            Measure::Orders => launch.with_exchange(lengths.as_ref(), |_, ready| {
                let bytes = lengths.map(|lengths| lengths.messages);
                self.traced(launch, |teller| launch.order(ready, bytes, teller)).map(Left::from)
            }),
            Measure::Network => {
                let _steered = self.steer(launch.entrant)?;
                launch.with_exchange(None, |_, ready| {
                    self.traced(launch, |teller| launch.request(ready, teller)).map(Left::from)
                })
            }
            Measure::Ticks => launch.with_exchange(lengths.as_ref(), |exchange, ready| {
                self.traced(launch, |teller| launch.tick(exchange, ready, lengths, teller))
            }),
            Measure::Endpoint => launch.with_exchange(None, |_, ready| {
                self.traced(launch, |teller| launch.endpoint(ready, teller)).map(Left::from)
            }),
            Measure::Ipc => {
                let mut left = self.traced(launch, |_| launch.ipc())?;
                if left.result.clock.cost_ns == 0 {
                    // A client in another language doesn't tell what its clock costs: no less than
                    // ours.
                    left.result.clock.cost_ns = self.site.clock.cost_ns();
                }
                Ok(left)
            }
            Measure::Engine | Measure::Soak | Measure::Journal => {
                self.traced(launch, |teller| launch.engine(teller)).map(Left::from)
            }
            Measure::Cores => {
                launch.account.is_measured(rustix::process::getpid());
                core_to_core::measure(launch, self.site.clock).map(Left::from)
            }
        }
    }

    /// Moves the interrupts that the entrant's placement moves, until what it returns is dropped.
    fn steer(&self, entrant: &Entrant) -> Result<Option<Steered>, ConductError> {
        let Some((interrupts, cores)) = self.site.placed.interrupts.get(&entrant.index) else {
            return Ok(None);
        };
        let state = Path::new(STATE_DEFAULT);
        let steered = Steered::steer(&Root::system(), state, interrupts, cores);
        let who = || format!("moving interrupts for {}", entrant.name);
        steered.map(Some).map_err(|why| ConductError::Process { who: who(), why })
    }

    /// Runs `work`, during which other processes measure. With `--noise` it also finds out what
    /// disturbs their cores.
    fn traced<T>(&mut self, launch: &Launch, work: impl FnOnce(&mut Teller<'_>) -> T) -> T {
        let Stage { beside, teller, site, .. } = self;
        let name = &launch.entrant.name;
        match beside {
            None => work(teller),
            Some(beside) => {
                let hlog = directory::hlog(launch.path, launch.number);
                beside.during(launch.number, name, site.clock, &hlog, || work(teller))
            }
        }
    }
}
