//! Why there is no io_uring here.

use rustix::io::Errno;
use std::io;

/// The kernel has no io_uring, an older one, or does not let this process have it.
#[derive(Debug, thiserror::Error)]
#[error(
    "io_uring can't be used here: {call}: {error}. {why}. The backends \"block\" and \"spin\" do \
     without io_uring"
)]
pub(super) struct UringError {
    call: &'static str,
    why: &'static str,
    error: io::Error,
}

impl UringError {
    pub(super) fn of(call: &'static str, error: io::Error) -> UringError {
        let why = match Errno::from_io_error(&error) {
            Some(Errno::NOSYS) => "This kernel was built without io_uring, or hides it",
            Some(Errno::PERM | Errno::ACCESS) => {
                "It is forbidden: set kernel.io_uring_disabled to 0 by sysctl, and let the seccomp \
                 profile of the container allow io_uring_setup, io_uring_enter and \
                 io_uring_register"
            }
            Some(Errno::INVAL) => {
                "This kernel is too old: multishot receive into registered buffers with deferred \
                 task work takes Linux 6.1 or newer"
            }
            Some(Errno::NOMEM) => {
                "There is too little memory that may be locked: raise ulimit -l by 1 MiB for each \
                 thread that uses the backend"
            }
            Some(Errno::MFILE | Errno::NFILE) => {
                "There are too many open files: raise ulimit -n by 1 for each thread that uses the \
                 backend"
            }
            _ => "The kernel gives no other reason",
        };
        UringError { call, why, error }
    }
}

impl From<UringError> for io::Error {
    fn from(unavailable: UringError) -> io::Error {
        io::Error::new(unavailable.error.kind(), unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_names_the_missing_part_and_the_alternative() {
        for (errno, words) in [
            (Errno::NOSYS, "built without io_uring"),
            (Errno::PERM, "kernel.io_uring_disabled"),
            (Errno::PERM, "seccomp"),
            (Errno::INVAL, "Linux 6.1"),
            (Errno::NOMEM, "ulimit -l"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::IO, "no other reason"),
        ] {
            let unavailable = UringError::of("io_uring_setup", errno.into());
            let text = io::Error::from(unavailable).to_string();
            let errno = io::Error::from(errno).to_string();
            for part in [words, &errno, "io_uring_setup", "\"block\" and \"spin\""] {
                assert!(text.contains(part), "{part:?} in {text:?}");
            }
        }
    }
}
