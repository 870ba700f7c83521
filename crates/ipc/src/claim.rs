//! Exclusive roles (the consumer, a producer, the writer) in a structure that processes share.
//!
//! A role is one byte of the file; its holder has a write lock on that byte through an open file
//! description (`F_OFD_SETLK`, fcntl(2)). The kernel releases the lock when the holder dies in any
//! way. Unlike a process id in shared memory, it can't be mistaken for a later process with the
//! same id, and it works between containers that share a file but not their process ids.
//!
//! Each claim opens the file again through `/proc/self/fd`, because locks of one open file
//! description don't exclude each other. So two threads of a process, or two processes that
//! inherited one memfd, exclude each other too. After a `fork` without `exec`, the claim lasts
//! until both processes have ended.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};

/// A role, held until this is dropped or its process dies.
#[derive(Debug)]
pub struct Claim {
    /// Holds the lock; closing it releases the lock.
    _description: OwnedFd,
}

impl Claim {
    /// Takes the role at `byte`; `None` if it is taken.
    pub(crate) fn take(file: BorrowedFd<'_>, byte: u64) -> io::Result<Option<Claim>> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let description = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let mut lock = write_lock(byte);
        match control(description.as_raw_fd(), libc::F_OFD_SETLK, &mut lock) {
            Ok(()) => Ok(Some(Claim { _description: description })),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Whether a living process holds the role at `byte`. `file` must not be the description of a
/// claim, which does not see its own lock.
pub(crate) fn is_held(file: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
    let mut lock = write_lock(byte);
    control(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock)?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

fn write_lock(byte: u64) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte as libc::off_t,
        l_len: 1,
        // Required for locks of open file descriptions.
        l_pid: 0,
    }
}

fn control(file: RawFd, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: both commands take a pointer to a flock, which is valid and exclusively borrowed
    // during the call.
    let result = unsafe { libc::fcntl(file, command, std::ptr::from_mut(lock)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
