//! Allows one measurement at a time on a core, with a lock file per core. The kernel releases the
//! lock when its holder ends for any reason.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The environment variable with the directory of the lock files; if empty, nothing is locked.
pub const DIRECTORY: &str = "TICKPATH_LOCKS";
/// Maximum number of bytes of a holder's description that are read.
const HOLDER_BYTES_MAX: u64 = 400;

/// Locks on cores; released on drop.
#[derive(Debug)]
pub struct CoreLocks {
    _files: Vec<File>,
}

/// A core that another process has locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyCore {
    /// The core.
    pub core: usize,
    /// The other process's description of itself.
    pub holder: String,
}

/// The directory of the lock files; `None` if locking is off.
pub fn directory() -> Option<PathBuf> {
    match std::env::var_os(DIRECTORY) {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(named.into()),
        None => {
            let system = Path::new("/run/lock");
            Some(if system.is_dir() { system.to_owned() } else { std::env::temp_dir() })
        }
    }
}

impl CoreLocks {
    /// Locks all `cores`, or none if another process has one of them. Other processes see `who` as
    /// the holder.
    ///
    /// # Errors
    /// If a lock file can't be made.
    pub fn take(
        directory: &Path,
        cores: &[usize],
        who: &str,
    ) -> io::Result<Result<CoreLocks, BusyCore>> {
        let mut cores = cores.to_vec();
        cores.sort_unstable();
        cores.dedup();
        let mut files = Vec::new();
        for core in cores {
            let mut file = open(&directory.join(format!("tickpath-core-{core}.lock")))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let mut holder = String::new();
                    // The core is busy even if the holder's description can't be read.
                    let _ = file.take(HOLDER_BYTES_MAX).read_to_string(&mut holder);
                    return Ok(Err(BusyCore { core, holder: holder.trim().to_owned() }));
                }
                Err(error) => return Err(error.into()),
            }
            // Another user's file may be read-only for us; only the lock matters.
            let _ = file.set_len(0).and_then(|()| writeln!(file, "{who}"));
            files.push(file);
        }
        Ok(Ok(CoreLocks { _files: files }))
    }
}

/// Makes the file writable for all users, because any user may lock a core. Opens an existing file
/// without `O_CREAT`, which the kernel forbids for other users' files in /tmp
/// (fs.protected_regular).
fn open(path: &Path) -> io::Result<File> {
    let existing = OpenOptions::new().read(true).write(true).open(path);
    match existing.or_else(|_| File::open(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        done => return done,
    }
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(path);
    match made {
        Ok(file) => {
            // The umask may have removed permissions.
            fs::set_permissions(path, Permissions::from_mode(0o666))?;
            Ok(file)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => File::open(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_one_process_at_a_time_and_free_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let take =
            |cores: &[usize], who: &str| CoreLocks::take(directory.path(), cores, who).unwrap();
        let first = take(&[1, 0, 1], "pid 7 (tickpath run)").unwrap();
        let busy = take(&[2, 1], "pid 8").unwrap_err();
        assert_eq!(busy, BusyCore { core: 1, holder: "pid 7 (tickpath run)".to_owned() });
        // Core 2 must be free again.
        drop(take(&[2], "pid 9").unwrap());
        drop(first);
        assert!(take(&[0, 1], "pid 8").is_ok());
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error() {
        assert!(CoreLocks::take(Path::new("/no/such/place"), &[0], "x").is_err());
    }
}
