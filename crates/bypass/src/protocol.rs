//! The protocols above IPv4 that the stack speaks.

use rustix::net::SocketType;

/// Protocols whose flows a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    pub(crate) fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }

    pub(crate) fn kind(self) -> SocketType {
        match self {
            Protocol::Tcp => SocketType::STREAM,
            Protocol::Udp => SocketType::DGRAM,
        }
    }
}
