//! Finds the entrants that can't run on this machine, before anything is measured. Each becomes a
//! row with its reason, and the others run.

use crate::conduct::{Conduct, ConductError, Entrant};
use crate::kind;
use crate::launch::process::Interrupt;
use crate::launch::{Launch, stderr};
use crate::run::site::Site;
use noise::occupancy::Occupancy;
use record::{Unavailable, directory};

/// The number of the run of a trial: those that are measured begin at 1.
const TRIAL: u32 = 0;

/// Entrants that run, and those that can't.
pub(crate) struct PartedEntrants {
    pub available: Vec<Entrant>,
    pub unavailable: Vec<Unavailable>,
}

/// Parts them.
///
/// # Errors
/// If none can run, or it can't be found out.
pub(crate) fn part(
    conduct: &Conduct,
    site: &Site,
    interrupt: &Interrupt,
    entrants: Vec<Entrant>,
) -> Result<PartedEntrants, ConductError> {
    let runner = kind::runner(conduct.scenario.kind);
    let mut parted = PartedEntrants { available: Vec::new(), unavailable: Vec::new() };
    for entrant in entrants {
        let occupancy = Occupancy::start(&[]);
        let launch = Launch {
            conduct,
            placed: &site.placed,
            path: &site.path,
            interrupt,
            number: TRIAL,
            entrant: &entrant,
            occupancy: &occupancy,
            clock: site.clock,
            networks: site.networks.as_ref(),
        };
        let why = runner.unavailable(&launch);
        // The record has the runs that were measured only.
        let _ = std::fs::remove_file(directory::hlog(&site.path, TRIAL));
        stderr::remove(&site.path);
        let why = match why {
            Err(_) if interrupt.is_set() => {
                let fault = "interrupted before anything was measured".to_owned();
                return Err(ConductError::CannotRun { faults: vec![fault] });
            }
            why => why?,
        };
        match why {
            None => parted.available.push(entrant),
            Some(why) => {
                parted.unavailable.push(Unavailable { subject: entrant.name.clone(), why });
            }
        }
    }
    if parted.available.is_empty() {
        let line = |one: &Unavailable| format!("{} cannot run: {}", one.subject, one.why);
        return Err(ConductError::CannotRun {
            faults: parted.unavailable.iter().map(line).collect(),
        });
    }
    Ok(parted)
}
