//! A socket of the kernel that swallows what comes to it.
//!
//! A driver that gets copies leaves the originals to the kernel, which would answer a segment to a
//! port where nobody listens with a reset. A listening socket whose filter takes no packet drops
//! them without a word.

use crate::protocol::Protocol;
use rustix::net::listen;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Makes a bound socket swallow everything.
pub(super) fn swallow(socket: BorrowedFd<'_>, protocol: Protocol) -> io::Result<()> {
    // `BPF_RET | BPF_K` with 0: of each packet no byte.
    let mut nothing = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &mut nothing };
    // SAFETY: the program and its one instruction live until the call has copied them.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            mem::size_of_val(&program) as libc::socklen_t,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if protocol == Protocol::Tcp {
        listen(socket, 1)?;
    }
    Ok(())
}
