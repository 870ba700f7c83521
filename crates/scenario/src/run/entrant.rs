//! One entrant in one run: its processes, while the occupancy of its cores is recorded.

use crate::conduct::ConductError;
use crate::conduct::Entrant;
use crate::evidence::seen::EntrantDisturbance;
use crate::evidence::{Lengths, Outcome, SubjectResult};
use crate::kind;
use crate::kind::ticks::{exact, files};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use crate::run::stage::Stage;
use noise::occupancy::Occupancy;
use record::directory;

impl Stage<'_, '_> {
    pub(super) fn one_entrant(
        &mut self,
        number: u32,
        entrant: &Entrant,
        lengths: Option<Lengths>,
    ) -> Result<SubjectResult, ConductError> {
        let occupancy = Occupancy::start(&self.cores(entrant));
        let launch = Launch {
            conduct: self.conduct,
            placed: &self.site.placed,
            path: &self.site.path,
            interrupt: self.interrupt,
            number,
            entrant,
            occupancy: &occupancy,
            clock: self.site.clock,
            networks: self.site.networks.as_ref(),
        };
        let runner = kind::runner(self.conduct.scenario.kind);
        let mut observer = Observer { teller: &mut self.teller, beside: self.beside.as_mut() };
        let outcome = runner.run(&launch, lengths, &mut observer);
        let asked = runner.asked(&launch);
        let occupancy = occupancy.finish();
        if let Some(beside) = &mut self.beside {
            beside.attribute(&occupancy);
        }
        let Outcome { result, exchange, taking, exact, moments } = outcome?;
        let scenario = &self.conduct.scenario;
        let is_observed = runner.observes_foreign_exchange()
            || !scenario.measurement().has_exchange()
            || scenario.exchange.start;
        let seen = if !is_observed {
            EntrantDisturbance::unknown(
                "nobody watched the core of the exchange, which another program started",
            )
        } else {
            let hlog = directory::hlog(&self.site.path, number);
            let exact = moments.map_or(exact, |moments| {
                let samples = files::samples(&self.site.path, number as usize, &entrant.name);
                // A run that broke off may have left none; it is void.
                let samples = record::tick::samples::read(&samples).unwrap_or_default();
                exact::of_ticks(&samples, &occupancy, moments)
            });
            EntrantDisturbance {
                exact,
                ..EntrantDisturbance::of(&occupancy, &hlog, &entrant.name, runner.pacer(entrant))
            }
        };
        let planned = scenario.messages(self.conduct.phases(entrant).1);
        Ok(SubjectResult {
            subject: entrant.name.clone(),
            kind: scenario.kind,
            planned: scenario.rate_per_second_offered().map(|_| planned),
            result,
            exchange,
            is_floor: entrant.is_floor,
            asked,
            seen,
            taking,
        })
    }

    /// The cores whose occupancy is recorded.
    fn cores(&self, entrant: &Entrant) -> Vec<usize> {
        let mut cores = self.site.placed.exchange.clone();
        cores.extend(&entrant.cores);
        cores.sort_unstable();
        cores.dedup();
        cores
    }
}
