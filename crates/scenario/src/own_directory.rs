//! The directory in which a structure between threads has its files. On tmpfs they are memory, so what was left by who was ended
//! at once (SIGKILL, a second Ctrl-C) is removed by the next one.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What their names begin with, once they are locked.
const PREFIX: &str = "tickpath-run-";

/// A directory that goes with the value.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    /// The kernel gives the lock back when its holder dies, in whichever namespace of process ids.
    _lock: Option<File>,
}

impl OwnDirectory {
    /// Makes one below `below`, after those that nobody has any more are removed.
    pub(crate) fn create(below: &Path, name: &str) -> io::Result<OwnDirectory> {
        remove_orphans(below);
        // Only under its last name it may be taken for an orphan.
        let unlocked = below.join(format!("tickpath-new-{name}"));
        fs::create_dir(&unlocked)?;
        let path = below.join(format!("{PREFIX}{name}"));
        // Where a file system has no locks nobody else gets one either.
        let lock = locked(&unlocked);
        match fs::rename(&unlocked, &path) {
            Ok(()) => Ok(OwnDirectory { path, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir(&unlocked);
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        // What stays is in the way of nobody: the next run has other names.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn locked(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Removes directories of ours that nobody holds.
fn remove_orphans(below: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Of the entry itself: a link is none.
        let is_ours = |there: fs::Metadata| there.is_dir() && there.uid() == own;
        if is_named && entry.metadata().is_ok_and(is_ours) && locked(&entry.path()).is_some() {
            // One that stays takes room, and is tried again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let below = tempfile::tempdir().unwrap();
        let held = OwnDirectory::create(below.path(), "1").unwrap();
        fs::write(held.path().join("ring"), "x").unwrap();
        let orphan = below.path().join("tickpath-run-2");
        fs::create_dir(&orphan).unwrap();
        fs::write(orphan.join("queue"), "x").unwrap();
        let others = below.path().join("tickpath-2-of-another-kind");
        fs::create_dir(&others).unwrap();
        let link = below.path().join("tickpath-run-link");
        std::os::unix::fs::symlink(&others, &link).unwrap();
        let second = OwnDirectory::create(below.path(), "3").unwrap();
        assert!(!orphan.exists() && others.exists() && link.is_symlink());
        assert!(held.path().join("ring").exists());
        let path = held.path().to_owned();
        drop((held, second));
        assert!(!path.exists());
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 2);
    }

    /// A process that is killed leaves its directory, and the kernel takes its lock away: here the lock alone goes.
    #[test]
    fn a_name_that_comes_again_is_no_error() {
        let below = tempfile::tempdir().unwrap();
        let mut killed = OwnDirectory::create(below.path(), "1").unwrap();
        killed._lock = None;
        let again = OwnDirectory::create(below.path(), "1").unwrap();
        assert!(again.path().is_dir());
        std::mem::forget(killed);
    }
}
