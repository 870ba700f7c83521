//! The binary, run as a person would.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod far;
pub mod progress;
pub mod python;
pub mod websocket;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

pub fn tickpath() -> Command {
    // Inherited. To move the memory of an exchange to huge pages is half of the kernel's time in a
    // run of a second. Where the kernel can't leave it, it is done.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickpath"));
    // Tests share the cores of this machine, so they judge no tail; second_hour.rs tries the locks.
    command.stdin(Stdio::null()).env("TICKPATH_LOCKS", "").env("TICKPATH_SETTLE_SECONDS", "0");
    command
}

pub fn output(arguments: &[&str]) -> Output {
    tickpath().args(arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All that a process said.
pub fn text_of(done: &Output) -> String {
    text(&done.stdout) + &text(&done.stderr)
}

/// A scenario that is over in a few seconds. The backend blocks: tests share their cores with
/// whatever else runs.
pub const SHORT: &[&str] = &[
    "run",
    "order-to-ack",
    "--set",
    "runs=1",
    "--set",
    "warm_up_seconds=0.1",
    "--set",
    "seconds=0.5",
    "--set",
    "floor_seconds=0.3",
    "--set",
    "hiccup_seconds=0.1",
    "--set",
    "load.rate_per_second=1000",
    "--set",
    "exchange.backend=block",
    "--set",
    "subject.rust.backend=block",
];

/// Ends in seconds. Tests share cores, so both ends block, and neither the schedule nor the
/// machine's state is checked.
pub const SHORT_TICKS: &[&str] = &[
    "runs=1",
    "warm_up_seconds=0.2",
    "seconds=1",
    "floor_seconds=0",
    "hiccup_seconds=0",
    "flow.rate_per_second=500",
    "exchange.backend=block",
    "subject.rust.backend=block",
];

/// Whether a record broke a rule of integrity.
pub fn is_void(record: &serde_json::Value) -> bool {
    record["void_because"].as_array().is_none_or(|because| !because.is_empty())
}

/// The exit status of a run that left this record: 0 if it is not void and its main series holds to
/// p50.
pub fn status_of(record: &serde_json::Value) -> i32 {
    let record = record::RunRecord::from_json(&record.to_string()).unwrap();
    if record.holds(0.5) { 0 } else { 3 }
}

/// The first subject of a record.
pub fn rust(record: &serde_json::Value) -> &serde_json::Value {
    &record["subjects"][0]
}

/// An exchange in the background, ended with the value.
pub struct Exchange {
    pub child: Child,
    pub address: String,
    lines: BufReader<ChildStdout>,
}

impl Exchange {
    pub fn start(arguments: &[&str]) -> Exchange {
        Exchange::start_by(tickpath(), arguments)
    }

    /// By a command that starts the program with the arguments that follow.
    pub fn start_by(program: Command, arguments: &[&str]) -> Exchange {
        Exchange::start_telling(program, arguments, Stdio::null())
    }

    /// The same, with a place for what it says on stderr.
    pub fn start_telling(mut program: Command, arguments: &[&str], stderr: Stdio) -> Exchange {
        let mut child = program
            .args(["exchange", "--listen", "127.0.0.1:0", "--backend", "block"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let (lines, address) = listening(&mut child);
        Exchange { child, address, lines }
    }

    /// Ends it with SIGTERM; what it says last.
    pub fn end(mut self) -> serde_json::Value {
        signal(self.child.id(), rustix::process::Signal::TERM);
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&line).unwrap()
    }
}

/// An address that nobody uses now, outside of the ports that the system gives to connections.
pub fn free_address() -> String {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let next = || format!("127.0.0.1:{}", first + TRIED.fetch_add(1, Ordering::SeqCst));
    std::iter::repeat_with(next).find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// The address in the first line of a child that listens, and its further lines.
pub fn listening(child: &mut Child) -> (BufReader<ChildStdout>, String) {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    (lines, ready["listening"].as_str().unwrap().to_owned())
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// The children of `pid` whose command line has `word`.
pub fn children(pid: u32, word: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|child| {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
            parent == Some(&pid.to_string())
        })
        .filter(|child| {
            let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            text(&line).split('\0').any(|part| part == word)
        })
        .collect()
}

/// Waits until `find` finds something.
pub fn wait_for<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    wait_up_to(Duration::from_secs(60), what, find)
}

/// Waits until `find` finds something, up to `time`.
pub fn wait_up_to<T>(time: Duration, what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + time;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come in {time:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The jar of a cluster's processes, if it is built.
pub fn cluster_jar() -> Option<PathBuf> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/java-cluster");
    let jar = client.join("target/java-cluster.jar");
    jar.exists().then(|| jar.canonicalize().unwrap())
}

/// Whether an XDP program is on the exchange's interface.
pub fn has_program(networks: &host::network::Networks) -> bool {
    let show = ["link", "show", "dev", host::network::DEVICE];
    let shown = networks.exchange().within(|| Command::new("ip").args(show).output());
    text(&shown.unwrap().unwrap().stdout).contains("xdp")
}

/// The only run directory in `runs`.
pub fn only_run(runs: &Path) -> PathBuf {
    let entries: Vec<PathBuf> =
        std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

pub fn record(run: &Path) -> serde_json::Value {
    validated(&std::fs::read(run.join("run.json")).unwrap())
}

/// The record that a command with `--json` printed.
#[track_caller]
pub fn printed_record(done: &Output) -> serde_json::Value {
    validated(&done.stdout)
}

/// Every record that a test makes is one by docs/run.schema.json.
#[track_caller]
fn validated(text: &[u8]) -> serde_json::Value {
    valid_by(include_str!("../../../../../docs/run.schema.json"), text)
}

/// JSON that is as a schema says.
#[track_caller]
pub fn valid_by(schema: &str, text: &[u8]) -> serde_json::Value {
    let record: serde_json::Value = serde_json::from_slice(text).unwrap();
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let faults = testing::schema::faults(&schema, &record);
    assert!(faults.is_empty(), "{faults:?} in {record}");
    record
}

/// A subject in a record.
pub fn subject<'a>(record: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let subjects = record["subjects"].as_array().unwrap();
    subjects.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no subject {name}"))
}

/// A shipped scenario with these of its subjects only.
pub fn with_subjects(shipped: &str, names: &[&str]) -> String {
    const HEAD: &str = "[[subject]]";
    let mut parts = shipped.split(HEAD);
    let mut kept = parts.next().unwrap().to_owned();
    let lines = names.iter().map(|name| format!("\nname = \"{name}\"\n")).collect::<Vec<_>>();
    let is_kept = |part: &&str| lines.iter().any(|line| part.contains(line));
    let subjects: Vec<&str> = parts.filter(is_kept).collect();
    assert_eq!(subjects.len(), names.len(), "{names:?}");
    subjects.iter().for_each(|subject| kept.extend([HEAD, subject]));
    kept
}

/// A series of a subject in a record.
pub fn series<'a>(
    record: &'a serde_json::Value,
    of: &str,
    name: &str,
    kind: &str,
) -> &'a serde_json::Value {
    let all = subject(record, of)["series"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name && one["kind"] == kind).unwrap()
}

/// A validity rule of a record.
pub fn rule<'a>(record: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let rules = record["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["rule"] == name).unwrap_or_else(|| panic!("no rule {name}"))
}
