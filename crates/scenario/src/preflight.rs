//! Looks at a scenario before its first run: its cores and duration, what makes the figures poor,
//! and what makes the runs fail.

use crate::assemble::resolved;
use crate::conduct::{Conduct, ConductError, entrants};
use crate::launch::cluster;
use crate::launch::command::{is_on_path, missing};
use crate::placement::place_on;
use crate::progress::run_seconds;
use clock::Clock;
use clock::schedule::Arrival;
use host::{Root, Topology};
use plan::backend;
use plan::scenario::Measure;
use plan::tables::replica::Replicate;
use plan::tables::subject::Subject;
use record::Preflight;
use rustix::fs::{Access, access, statvfs};
use std::fs::File;
use std::path::Path;
use transport::datagram::receive_buffer_granted;

/// Bytes of a record without its logs: run.json, machine.json, report.html.
const RECORD_BYTES: f64 = 4e6;
/// Bytes of logs per second of one subject; measured: 4 to 12 kB.
const LOG_BYTES_PER_SECOND: f64 = 16e3;
/// Bytes that are kept of one tick until its record is written.
const TICK_BYTES: f64 = 256.0;

impl Conduct {
    /// Looks at the scenario and at this machine, and changes nothing.
    ///
    /// # Errors
    /// If the scenario and the command line contradict each other, or the cores can't be had.
    pub fn preflight(&self) -> Result<Preflight, ConductError> {
        self.check()?;
        let profile = self.risk_profile()?;
        let root = Root::system();
        let allowed = host::thread::allowed()?;
        let fixed = host::capture(&root, &Clock::calibrate(), None).fixed;
        let placed = place_on(&root, &self.scenario, &Topology::read(&root), &allowed, &fixed)?;
        let entrants = entrants(self, &placed);
        let cores = |own: &[usize]| placed.exchange.iter().chain(own).copied().collect();
        Ok(Preflight {
            scenario: resolved(&self.scenario, &placed, profile.as_ref()),
            subjects: entrants.iter().map(|one| (one.name.clone(), cores(&one.cores))).collect(),
            seconds: run_seconds(self, &entrants) * f64::from(self.scenario.runs),
            bytes: self.bytes_needed() as u64,
            warnings: placed.warnings.into_iter().chain(self.missing_clusters()).collect(),
            refusals: self.faults(),
        })
    }

    pub(crate) fn check_faults(&self) -> Result<(), ConductError> {
        let faults = self.faults();
        if faults.is_empty() { Ok(()) } else { Err(ConductError::CannotRun { faults }) }
    }

    fn faults(&self) -> Vec<String> {
        let place = existing(&self.runs_directory);
        let faults = [no_permission(place), self.no_space(place), self.small_receive_buffer()];
        let faults = faults.into_iter().flatten().chain(self.missing_clients());
        faults.chain(self.missing_wrappers()).chain(self.missing_files()).collect()
    }

    /// Wrappers that are not there.
    fn missing_wrappers(&self) -> impl Iterator<Item = String> {
        self.scenario.subject.iter().filter_map(|subject| {
            let program = subject.wrapper.first()?;
            let is_there = match program.contains('/') {
                true => Path::new(program).exists(),
                false => is_on_path(program),
            };
            let name = &subject.name;
            (!is_there).then(|| {
                format!(
                    "subject {name} can't be started: there is no program {program}, which \
                     subject.{name}.wrapper names; install it, or leave the wrapper out"
                )
            })
        })
    }

    /// A command with a path is a program of somebody's build. Others are found on the PATH.
    fn missing_clients(&self) -> impl Iterator<Item = String> {
        let started = |one: &&Subject| !one.command.is_empty();
        self.scenario.subject.iter().filter(started).filter_map(|subject| {
            let remedy = "run tickpath in the checkout, after `make clients` (or `make peers`) \
                          there, or build the client that your scenario names";
            let missing = missing(&subject.command, remedy)?;
            Some(format!("subject {} can't be started: {missing}", subject.name))
        })
    }

    /// Subjects whose cluster can't run here: each is a row that says so.
    fn missing_clusters(&self) -> impl Iterator<Item = String> {
        let has_one = |subject: &&Subject| subject.replicate == Replicate::Cluster;
        self.scenario.subject.iter().filter(has_one).filter_map(|subject| {
            let why = cluster::not_here(&self.scenario, subject)?;
            Some(format!("{} will not run: {why}", subject.name))
        })
    }

    /// The files that an exchange or a client of ours reads at its start.
    fn missing_files(&self) -> impl Iterator<Item = String> {
        let scenario = &self.scenario;
        let starts = scenario.measurement().has_exchange() && scenario.exchange.start;
        let flows = scenario.kind == Measure::Ticks;
        let reads_times = scenario.load.arrival == Arrival::Recorded;
        let named = [
            ("exchange.book", &scenario.exchange.book, starts),
            ("exchange.instruments", &scenario.exchange.instruments, starts),
            ("flow.source", &scenario.flow.source, starts && flows),
            ("load.source", &scenario.load.source, reads_times),
        ];
        named.into_iter().filter(|(_, _, is_read)| *is_read).filter_map(|(key, file, _)| {
            let is_file = !["", "synthetic", "empty"].contains(&file.as_str());
            let error = is_file.then(|| File::open(file).err()).flatten()?;
            Some(format!("{key}: cannot read {file}: {error}; name a file that exists"))
        })
    }

    fn bytes_needed(&self) -> f64 {
        let scenario = &self.scenario;
        let subjects = scenario.subject.len() as f64;
        let seconds = scenario.seconds + scenario.warm_up_seconds + scenario.floor_seconds;
        let logs = f64::from(scenario.runs) * subjects * seconds * LOG_BYTES_PER_SECOND;
        let ticks = match scenario.kind {
            Measure::Ticks => scenario.rate_per_second() * scenario.seconds * subjects * TICK_BYTES,
            _ => 0.0,
        };
        RECORD_BYTES + logs + ticks
    }

    fn no_space(&self, place: &Path) -> Option<String> {
        // A file system that counts no blocks does not say.
        let free = statvfs(place).ok().filter(|free| free.f_blocks > 0)?;
        let free = free.f_bavail.saturating_mul(free.f_frsize) as f64;
        let needed = self.bytes_needed();
        (free < needed).then(|| {
            format!(
                "{} has {:.0} MB of free space, and this record may need {:.0} MB: free some, choose another place \
                 with --out, or set fewer runs or seconds",
                place.display(),
                free / 1e6,
                needed / 1e6
            )
        })
    }

    /// The kernel drops datagrams of a burst where its buffer is smaller than asked.
    fn small_receive_buffer(&self) -> Option<String> {
        let asked = self.scenario.feed.receive_buffer_bytes;
        let subjects = &self.scenario.subject;
        let has_socket = subjects.iter().any(|subject| !backend::is_below(&subject.backend));
        let granted = (self.scenario.kind == Measure::Ticks && has_socket)
            .then(|| receive_buffer_granted(asked).ok())
            .flatten()?;
        (granted < 2 * asked.min(i32::MAX as usize / 2)).then(|| {
            format!(
                "the receive buffer is {} bytes, {asked} needed: run `sysctl -w net.core.rmem_max={asked}`, give \
                 tickpath CAP_NET_ADMIN, or lower feed.receive_buffer_bytes",
                granted / 2
            )
        })
    }
}

/// The nearest directory above `path` that exists, or `path` itself.
fn existing(path: &Path) -> &Path {
    let at = path.ancestors().find(|one| one.exists() && *one != Path::new(""));
    at.unwrap_or(Path::new("."))
}

fn no_permission(place: &Path) -> Option<String> {
    let error = access(place, Access::WRITE_OK | Access::EXEC_OK).err()?;
    let error = std::io::Error::from(error);
    Some(format!("{} with --out", record::directory::cannot_write(place.display(), &error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Scenario;

    fn conduct(name: &str, sets: &[&str], out: &Path) -> Conduct {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Conduct {
            runs_directory: out.to_owned(),
            ..Conduct::of(Scenario::find(name, &sets).unwrap())
        }
    }

    #[test]
    fn a_plan_says_cores_and_duration() {
        let out = tempfile::tempdir().unwrap();
        let sets = ["runs=2", "seconds=3", "floor_seconds=0", "hiccup_seconds=0.5"];
        let plan = conduct("order-to-ack", &sets, out.path()).preflight().unwrap();
        // Warm-up 1 s and 3 s, hiccup 0.5 s, twice.
        assert!((plan.seconds - 9.0).abs() < 1e-9, "{}", plan.seconds);
        assert_eq!(plan.subjects.len(), 1);
        assert!(!plan.subjects[0].1.is_empty() && plan.refusals.is_empty(), "{plan:?}");
        assert_eq!(plan.scenario["runs"], 2);
    }

    #[test]
    fn a_record_larger_than_the_disk_is_rejected_before_anything_runs() {
        let out = tempfile::tempdir().unwrap();
        let sets = ["runs=1000", "seconds=2592000"];
        let conduct = conduct("order-to-ack", &sets, &out.path().join("a/b"));
        let Err(ConductError::CannotRun { faults }) = conduct.check_faults() else {
            panic!("not refused")
        };
        assert!(faults[0].contains("--out"), "{faults:?}");
        assert!(!out.path().join("a").exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_rejected() {
        let here = tempfile::tempdir().unwrap();
        // Nothing can be below a file, whoever asks.
        let file = here.path().join("file");
        std::fs::write(&file, "").unwrap();
        let faults = conduct("ring", &[], &file.join("runs")).faults();
        assert!(faults.iter().any(|fault| fault.contains("with --out")), "{faults:?}");
    }

    /// `--dry-run` once said "can run", and the run failed behind measured subjects.
    #[test]
    fn files_that_a_run_will_need_are_missed_before_it() {
        let out = tempfile::tempdir().unwrap();
        let faults = |name, sets: &[&str]| conduct(name, sets, out.path()).faults().join("; ");
        let book = faults("order-to-ack", &["exchange.book=/no/such.dbn"]);
        assert!(book.contains("exchange.book: cannot read /no/such.dbn"), "{book}");
        let flow = faults("tick-to-trade", &["flow.source=/no/day.dbn"]);
        assert!(flow.contains("flow.source: cannot read /no/day.dbn"), "{flow}");
        let sets = ["load.arrival=recorded", "load.source=/no/day.dbn"];
        let load = faults("order-to-ack", &sets);
        assert!(load.contains("load.source: cannot read /no/day.dbn"), "{load}");
        let orders = faults("order-to-ack", &["exchange.book=empty"]);
        assert!(!orders.contains("cannot read"), "{orders}");
        // The Java client's script was there, the jar that it starts was not.
        let java = ["subject.rust.command=[\"java\", \"-jar\", \"/no/client.jar\"]"];
        let said = faults("order-to-ack", &java);
        assert!(
            said.contains("/no/client.jar does not") || said.contains("no program java"),
            "{said}"
        );
        // A cluster that can't run is a row, and no fault of the others.
        let set = "follower.cluster=[\"no-such-program\"]";
        let plan = conduct("two-zones", &[set], out.path()).preflight().unwrap();
        let warnings = plan.warnings.join("; ");
        assert!(warnings.contains("cluster will not run: there is no program"), "{warnings}");
        assert!(plan.refusals.is_empty(), "{plan:?}");
        let none = faults("order-to-ack", &["subject.rust.command=[\"no-such-program\"]"]);
        assert!(none.contains("no program no-such-program on the PATH"), "{none}");
    }
}
