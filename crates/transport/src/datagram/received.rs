//! A datagram, or why there is none.

use std::io;

/// The result of one look for a datagram.
#[derive(Debug)]
pub enum Datagram {
    /// One came.
    Bytes {
        /// Its length; 0 is possible. What did not fit into the buffer is gone, and counted.
        n: usize,
        /// Taken first thing after the call returned, on the [`clock::Clock`], ns.
        read_ns: u64,
    },
    /// Nothing there now.
    Empty,
    /// The socket is broken.
    Failed(io::Error),
}
