//! The wall clock of one process, which a test sets.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the library that is preloaded, into this directory.
pub fn library(place: &Path) -> PathBuf {
    let library = place.join("clock.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/failover/clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// A wall clock for chosen processes, some seconds off.
pub struct WallClock {
    library: PathBuf,
    /// Has the seconds by which it is off.
    file: PathBuf,
}

impl WallClock {
    pub fn new(library: &Path, file: PathBuf) -> WallClock {
        let clock = WallClock { library: library.to_owned(), file };
        clock.set_off(0);
        clock
    }

    /// Sets by how many seconds it is off from now on, in processes that run, too.
    pub fn set_off(&self, seconds: i64) {
        let file = File::options().create(true).truncate(false).write(true).open(&self.file);
        file.unwrap().write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }

    /// Gives it to a process that is about to start.
    pub fn give_to(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("TICKPATH_TEST_CLOCK", &self.file);
    }
}
