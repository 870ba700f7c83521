//! Limits of a stack.

use super::wire::{MTU_MAX, MTU_MIN};
use crate::error::BypassError;

/// Limit on the connections of a stack, with those that wait in TIME-WAIT.
pub const CONNECTIONS_MAX: usize = 4096;
/// Limit on a connection's buffers, bytes each.
const BUFFER_BYTES_MAX: usize = 1 << 26;

/// Limits of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// Connections at the same time, at most [`CONNECTIONS_MAX`]. Their memory is taken at once.
    pub connections_max: usize,
    /// Connections of all ports that are being opened or wait to be accepted.
    pub backlog: usize,
    /// Received bytes of a connection that nobody has read; its window.
    pub receive_buffer_bytes: usize,
    /// Sent bytes of a connection that were not acknowledged.
    pub send_buffer_bytes: usize,
}

impl Default for TcpLimits {
    /// 64 connections with 256 KiB each way.
    fn default() -> TcpLimits {
        TcpLimits {
            connections_max: 64,
            backlog: 16,
            receive_buffer_bytes: 256 * 1024,
            send_buffer_bytes: 256 * 1024,
        }
    }
}

impl TcpLimits {
    pub(super) fn check(self, mtu: usize) -> Result<(), BypassError> {
        let limits = [
            ("connections_max", self.connections_max, 1, CONNECTIONS_MAX),
            ("backlog", self.backlog, 1, self.connections_max),
            ("receive_buffer_bytes", self.receive_buffer_bytes, 1, BUFFER_BYTES_MAX),
            ("send_buffer_bytes", self.send_buffer_bytes, 1, BUFFER_BYTES_MAX),
            ("the MTU", mtu, MTU_MIN, MTU_MAX),
        ];
        for (name, value, min, max) in limits {
            if !(min..=max).contains(&value) {
                return Err(BypassError::Limit { name, value, min, max });
            }
        }
        Ok(())
    }
}
