//! Functions of the C library that a test changes in chosen processes: the wall clock is off, and
//! `fdatasync` waits as at a disk that takes data and does not write it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Places in the file of the seconds by which the clock is off, and of whether syncs wait.
const SECONDS_OFF: u64 = 0;
const HOLDS_SYNCS: u64 = 8;

/// Compiles the library that is preloaded, into this directory.
pub fn library(place: &Path) -> PathBuf {
    let library = place.join("preload.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/failover/preload.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// A library that is preloaded into chosen processes.
pub struct Preload {
    library: PathBuf,
    file: PathBuf,
}

impl Preload {
    /// Changes nothing yet. `file` is to be its own.
    pub fn new(library: &Path, file: PathBuf) -> Preload {
        let preload = Preload { library: library.to_owned(), file };
        preload.set_clock_off(0);
        preload.hold_syncs(false);
        preload
    }

    /// Sets by how many seconds the clock is off from now on, in processes that run, too.
    pub fn set_clock_off(&self, seconds: i64) {
        self.write(SECONDS_OFF, seconds);
    }

    /// Sets whether `fdatasync` waits from now on. No call that began before is held.
    pub fn hold_syncs(&self, holds: bool) {
        self.write(HOLDS_SYNCS, holds.into());
    }

    fn write(&self, place: u64, word: i64) {
        let file = File::options().create(true).truncate(false).write(true).open(&self.file);
        file.unwrap().write_all_at(&word.to_ne_bytes(), place).unwrap();
    }

    /// Gives it to a process that is about to start.
    pub fn give_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("TICKPATH_TEST_PRELOAD", &self.file);
    }
}
