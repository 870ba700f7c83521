//! `tickpath noise`: a profile as a run record.

use crate::meter::MeterResult;
use crate::profile::{Plan, ProfileError, profile};
use clock::calendar::utc;
use clock::recorder::{INTERVAL_NS, SECONDS_IN_MEMORY_MAX, Series, recorder};
use clock::{Clock, wall_ms};
use host::Root;
use record::directory::{self, cannot_write};
use record::hlog::Totals;
use record::machine::{self, Machine, PROBE_RATIO_MAX};
use record::merge::pooling::{self, FigureJudge};
use record::{self, Kind, RunRecord, SCHEMA, Subject};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The record's name, in place of a scenario's.
pub const NAME: &str = "noise";
/// The series of each core: lengths of its gaps.
const SERIES: &str = "gap";

/// A measurement, and the place of its record.
#[derive(Clone, Debug)]
pub struct Run {
    /// Cores and duration.
    pub plan: Plan,
    /// The directory of run directories.
    pub runs_directory: PathBuf,
    /// `tickpath 0.1.0`.
    pub tool: String,
    /// The command line that repeats this.
    pub command: Vec<String>,
    /// Warnings about the cores.
    pub warnings: Vec<String>,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Nothing could be measured.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The record can't be written.
    #[error("{} with --out", cannot_write(format_args!("the record in {path}"), source))]
    Record {
        /// The directory.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl Run {
    /// Measures and writes a record. If `stop` interrupts it, the record has the part measured so
    /// far, and is void.
    ///
    /// # Errors
    /// If a thread can't be placed, or the record can't be written.
    pub fn carry_out(&self, stop: &AtomicBool) -> Result<(RunRecord, PathBuf), RunError> {
        let started_wall_ms = wall_ms();
        let root = Root::system();
        let clock = Clock::calibrate();
        let before = host::capture(&root, &clock, None);
        let profile = profile(&self.plan, clock, stop)?;
        let machine = Machine { before, after: Some(host::capture(&root, &clock, None)) };
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |source| RunError::Record { path, source }
        };
        let path =
            directory::create(&self.runs_directory, NAME).map_err(failed(&self.runs_directory))?;
        let hlog = directory::hlog(&path, 1);
        let totals = write_gaps(&hlog, &profile.seen).map_err(failed(&hlog))?;
        let seconds = profile.noise.cores.iter().map(|core| core.seconds).fold(0.0, f64::max);
        let mut void_because = Vec::new();
        if !profile.complete {
            let wanted = self.plan.seconds;
            void_because.push(format!("it was interrupted after {seconds:.1} of {wanted} s"));
        }
        let mut warnings = self.warnings.clone();
        warnings.extend(changes(&machine));
        let record = RunRecord {
            schema: SCHEMA,
            tool: self.tool.clone(),
            scenario: NAME.to_owned(),
            started: utc(started_wall_ms),
            command: self.command.clone(),
            complete: profile.complete,
            void_because,
            runs: 1,
            warnings,
            clock: record::Clock::of(&clock),
            clock_step_ns: clock.step_ns(),
            subjects: self.plan.cores.iter().map(|core| self.subject(*core, &totals)).collect(),
            noise: Some(profile.noise),
            ..RunRecord::default()
        };
        directory::save_record(&path, &record, &machine).map_err(failed(&path))?;
        Ok((record, path))
    }

    fn subject(&self, core: usize, totals: &Totals) -> Subject {
        let name = subject_name(core);
        Subject {
            series: pooling::series(&name, &[totals], 1, &FigureJudge::UNDISTURBED),
            name,
            backend: "spin".to_owned(),
            scheduling: self.plan.scheduling.to_string(),
            cores: vec![core],
            ..Subject::default()
        }
    }
}

fn subject_name(core: usize) -> String {
    format!("core{core}")
}

/// The machine's changes during the measurement.
fn changes(machine: &Machine) -> Option<String> {
    let after = machine.after.as_ref()?;
    let changes = machine::differences(&machine.before, after, PROBE_RATIO_MAX);
    (!changes.is_empty())
        .then(|| format!("the machine changed while this was measured ({})", changes.join("; ")))
}

/// Writes the stored gaps as an .hlog with one interval per second, and reads it back.
fn write_gaps(hlog: &Path, seen: &[MeterResult]) -> io::Result<Totals> {
    let mut log = BufWriter::new(File::create(hlog)?);
    for seen in seen {
        write_core(&mut log, seen)?;
    }
    log.flush()?;
    record::hlog::totals(BufReader::new(File::open(hlog)?)).map_err(io::Error::other)
}

/// In pieces that fit a recorder's memory: a file may hold several logs.
fn write_core(log: &mut impl Write, seen: &MeterResult) -> io::Result<()> {
    let piece_ns = SECONDS_IN_MEMORY_MAX as u64 * INTERVAL_NS;
    let mut start_ns = seen.start_ns;
    let mut gaps = seen.gaps.iter().peekable();
    while start_ns < seen.end_ns {
        let end_ns = (start_ns + piece_ns).min(seen.end_ns);
        let series = Series { name: SERIES.into(), kind: Kind::Noise };
        let (mut recorder, drain) = recorder(&[series], SECONDS_IN_MEMORY_MAX);
        recorder.start(start_ns);
        while let Some(gap) = gaps.next_if(|gap| gap.end_ns <= end_ns || end_ns == seen.end_ns) {
            recorder.roll(gap.end_ns.max(start_ns));
            recorder.record(0, gap.length_ns());
        }
        recorder.finish(end_ns);
        let started = seen.started + Duration::from_nanos(start_ns - seen.start_ns);
        drain.run(&subject_name(seen.core), log, started, start_ns, &|| ())?;
        start_ns = end_ns;
    }
    Ok(())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
