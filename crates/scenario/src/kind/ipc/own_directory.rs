//! The directory of a structure's files. On tmpfs files occupy memory, so the next run removes what
//! a killed process (SIGKILL, a second Ctrl-C) left behind.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Prefix of names of locked directories.
const PREFIX: &str = "tickpath-run-";

/// A directory that is removed with the value.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    path: PathBuf,
    /// The kernel releases the lock when its holder dies, in any namespace of process ids.
    _lock: Option<File>,
}

impl OwnDirectory {
    /// Makes one below `below`, after removing orphans.
    pub(crate) fn create(below: &Path, name: &str) -> io::Result<OwnDirectory> {
        remove_orphans(below);
        // Only a directory with its final name may be taken for an orphan.
        let unlocked = below.join(format!("tickpath-new-{name}"));
        fs::create_dir(&unlocked)?;
        let path = below.join(format!("{PREFIX}{name}"));
        // On a file system without locks nobody else gets one either.
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
        // A leftover does no harm: the next run has other names.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn locked(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Removes directories of ours that no process holds.
fn remove_orphans(below: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // The metadata of the entry itself, not of the target of a link.
        let is_ours = |there: fs::Metadata| there.is_dir() && there.uid() == own;
        if is_named && entry.metadata().is_ok_and(is_ours) && locked(&entry.path()).is_some() {
            // If this fails, the next run tries again.
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

    /// A killed process leaves its directory, and the kernel releases its lock. Here only the lock
    /// goes.
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
