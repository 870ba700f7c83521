//! From a scenario to one that fills the time between two records, at a low rate.

use crate::cli::WatchArguments;
use crate::project::Project;
use crate::treatment::conduct_of;
use anyhow::bail;
use plan::scenario::Measure;
use record::Preflight;
use scenario::Conduct;
use std::path::Path;
use std::time::Duration;

/// Messages a second, unless --set says otherwise: too few to matter to an exchange.
const LOW_RATE: &str = "load.rate_per_second=100";
/// Starting and ending the processes of a run takes about this long.
const OVERHEAD_SECONDS: f64 = 1.0;
/// A shorter measured part is no use.
const SECONDS_MIN: f64 = 0.5;

/// The conduct to repeat, with its preflight. Its records go below `out`.
pub(crate) fn plan(
    arguments: &WatchArguments,
    project: &Project,
    out: &Path,
) -> anyhow::Result<(Conduct, Preflight)> {
    let own = &arguments.settings.set;
    if own.iter().any(|set| set.starts_with("seconds=")) {
        bail!("--set seconds: a watch divides --every among its runs; leave it out");
    }
    let name = &arguments.scenario;
    let plain = project.scenario(name, &[])?;
    if !matches!(plain.kind, Measure::Orders | Measure::Ticks) {
        bail!("a watch measures the path to an exchange, and {name} has none: try order-to-ack");
    }
    let is_open = plain.has_key(LOW_RATE);
    let mut sets: Vec<String> = is_open.then(|| LOW_RATE.to_owned()).into_iter().collect();
    sets.extend_from_slice(own);
    let conduct = |sets: &[String]| -> anyhow::Result<(Conduct, Preflight)> {
        let conduct = Conduct {
            connect: arguments.target.connect.clone(),
            connect_floor: arguments.target.connect_floor.clone(),
            ..conduct_of(project.scenario(name, sets)?, out)?
        };
        let preflight = conduct.preflight()?;
        Ok((conduct, preflight))
    };
    let (as_written, plan) = conduct(&sets)?;
    let (runs, subjects) = (as_written.scenario.runs, as_written.scenario.subject.len() as f64);
    let beside = plan.seconds / f64::from(runs) - as_written.scenario.seconds * subjects;
    sets.push(format!("seconds={:.3}", seconds(arguments.every, runs, subjects, beside)?));
    conduct(&sets)
}

/// The measured part of each subject in each run. `beside` is what a run takes besides.
fn seconds(every: Duration, runs: u32, subjects: f64, beside: f64) -> anyhow::Result<f64> {
    let of_each_run = every.as_secs_f64() / f64::from(runs);
    let seconds = (of_each_run - beside - OVERHEAD_SECONDS) / subjects;
    if seconds < SECONDS_MIN {
        let least = (beside + OVERHEAD_SECONDS + SECONDS_MIN * subjects) * f64::from(runs);
        let runs_noun = if runs == 1 { "run" } else { "runs" };
        bail!(
            "--every {}s is too short: {runs} {runs_noun} with warm-up and floor need {:.0}s at least. Use a longer \
             time, or fewer runs with --set runs=1",
            every.as_secs(),
            least.ceil()
        );
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_of_a_record_fill_its_time() {
        let hour = Duration::from_secs(3600);
        let each = seconds(hour, 6, 1.0, 3.0).unwrap();
        assert_eq!(6.0 * (each + 3.0 + OVERHEAD_SECONDS), 3600.0);
        assert_eq!(seconds(hour, 6, 2.0, 3.0).unwrap(), each / 2.0);
        let error = seconds(Duration::from_secs(20), 6, 1.0, 3.0).unwrap_err().to_string();
        assert!(error.contains("6 runs with warm-up and floor need 27s"), "{error}");
    }
}
