//! Tests that can't run on this machine. The test harness knows only "passed" and "failed", so a
//! test that returned early once looked like one that passed. Here it writes a line to the file
//! that [`SKIPPED_FILE`] names; `scripts/skipped` counts the lines.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file to which skipped tests are appended.
pub const SKIPPED_FILE: &str = "TICKPATH_SKIPPED";

/// The missing need of a skipped test. `.ci/run` decides by it whether the test had to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A browser. `scripts/setup tests` installs one.
    Browser,
    /// More than one core.
    Cores,
    /// The client in C++. `make clients` builds it.
    CppClient,
    /// A build with the feature `dpdk`: `make dpdk`.
    Dpdk,
    /// A Python with the package hftbacktest, named by `TICKPATH_HFTBACKTEST`.
    Hftbacktest,
    /// The client in Java. `make clients` builds it.
    JavaClient,
    /// A member of a cluster, in Java. `make cluster` builds it.
    JavaCluster,
    /// The peers in Java. `make peers` builds them.
    JavaPeers,
    /// Something that some kernels, containers and emulators lack, such as sealed memory files.
    Kernel,
    /// A recorded day, below the directory that `TICKPATH_MARKET_DATA` names.
    MarketData,
    /// Multicast on the loopback interface.
    Multicast,
    /// A Python with the package nautilus_trader, named by `TICKPATH_NAUTILUS_TRADER`.
    NautilusTrader,
    /// The program `openssl`. `scripts/setup tests` installs it.
    OpenSsl,
    /// Permission to start the test's own program, which user-mode emulators don't have.
    OwnProcess,
    /// The program `python3`. `scripts/setup python` installs it.
    Python,
    /// A Python with the package quickfix, named by `TICKPATH_QUICKFIX`.
    QuickFix,
    /// A core from which nothing takes more than a share that the test names.
    QuietCore,
    /// Root, or namespaces for mounts and networks.
    Root,
    /// The kernel's tracepoints, through `perf_event_open` and tracefs.
    Tracepoints,
    /// The program `tshark`. `scripts/setup tests` installs it.
    Tshark,
    /// The program `udevadm`. `scripts/setup tests` installs it.
    Udev,
}

impl Need {
    /// The name under which skipped tests are counted.
    pub fn name(self) -> &'static str {
        match self {
            Need::Browser => "browser",
            Need::Cores => "cores",
            Need::CppClient => "cpp-client",
            Need::Dpdk => "dpdk",
            Need::Hftbacktest => "hftbacktest",
            Need::JavaClient => "java-client",
            Need::JavaCluster => "java-cluster",
            Need::JavaPeers => "java-peers",
            Need::Kernel => "kernel",
            Need::MarketData => "market-data",
            Need::Multicast => "multicast",
            Need::NautilusTrader => "nautilus-trader",
            Need::OpenSsl => "openssl",
            Need::OwnProcess => "own-process",
            Need::Python => "python",
            Need::QuickFix => "quickfix",
            Need::QuietCore => "quiet-core",
            Need::Root => "root",
            Need::Tracepoints => "tracepoints",
            Need::Tshark => "tshark",
            Need::Udev => "udev",
        }
    }
}

/// Ends the test here and counts it as skipped: `skip!(Root, "mounting a disk: {error}")`.
#[macro_export]
macro_rules! skip {
    ($need:ident, $($detail:tt)+) => {
        return $crate::skipped($crate::Need::$need, format_args!($($detail)+))
    };
}

/// Counts the running test as skipped. The caller returns.
///
/// # Panics
/// If the file named by [`SKIPPED_FILE`] can't be written: an uncounted test would look as if it
/// had passed.
pub fn skipped(need: Need, detail: impl Display) {
    let line = line(need, detail);
    eprintln!("skipped: {}", line.replace('\t', ": "));
    let Some(path) = std::env::var_os(SKIPPED_FILE) else { return };
    append(Path::new(&path), &line).unwrap_or_else(|error| {
        panic!("{SKIPPED_FILE}={}: {error}: set it to a writable path", path.display())
    });
}

/// Whether `open` opens the kernel's interface of that name; otherwise counts the running test as
/// skipped. User-mode emulators have no io_uring, and containers forbid it.
///
/// Opens it in a thread of its own: some time after an io_uring was closed, the kernel interrupts a
/// system call of the thread that had it.
///
/// # Panics
/// If `open` does.
pub fn opens<T, E: Display + Send>(name: &str, open: impl FnOnce() -> Result<T, E> + Send) -> bool {
    let opened = std::thread::scope(|scope| scope.spawn(|| open().map(drop)).join());
    let opened = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    if let Err(error) = &opened {
        skipped(Need::Kernel, format_args!("{name} is not here: {error}"));
    }
    opened.is_ok()
}

/// The need, the test and the reason, with tabs between them.
fn line(need: Need, detail: impl Display) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _hash)| name);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed thread");
    let detail: String = detail
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(200)
        .collect();
    format!("{}\t{program}::{test}\t{detail}", need.name())
}

/// One write of one line: several tests append at the same time.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// A file of recorded market data, or `None` after counting the test as skipped.
pub fn market_data(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("TICKPATH_MARKET_DATA").unwrap_or_default();
    let path = Path::new(&directory).join(name);
    if directory.is_empty() || !path.is_file() {
        skipped(
            Need::MarketData,
            format_args!("set TICKPATH_MARKET_DATA to a directory with {name}"),
        );
        return None;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_need_the_test_and_the_reason() {
        let line = line(Need::Root, "no\tmount\nhere");
        let parts: Vec<&str> = line.split('\t').collect();
        assert_eq!(parts[0], "root");
        let name = "testing::skipping::tests::a_line_names_the_need_the_test_and_the_reason";
        assert_eq!(parts[1], name);
        assert_eq!(parts[2], "no mount here");
    }

    #[test]
    fn only_what_opens_is_here() {
        assert!(opens("a file", || File::open("/dev/null")));
        assert!(!opens("a file", || File::open("/dev/null/none")));
    }

    #[test]
    fn lines_are_appended() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("skipped");
        append(&path, "one").unwrap();
        append(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }
}
