//! A private mount that ends by itself.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::path::Path;

/// Calls `work` with `kind` mounted on `place`, which must be a directory. Only `work` sees the
/// mount. It runs in a thread with its own mount namespace: when the thread ends in any way, the
/// kernel removes the mount.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN, ENOENT without the place, ENODEV if the kernel has no such file
/// system.
pub(crate) fn with_private_mount<T: Send>(
    kind: &str,
    place: &Path,
    work: impl FnOnce(&Path) -> T + Send,
) -> io::Result<T> {
    let in_namespace = || {
        // SAFETY: this function started the thread, which ends with it. The thread shares
        // everything except mounts, root and working directory, and no descriptor table changes.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        // The mount must not propagate to our own namespace.
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        mount("tickpath", place, kind, MountFlags::RDONLY, None)?;
        Ok(work(place))
    };
    std::thread::scope(|scope| {
        scope.spawn(in_namespace).join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
    })
}
