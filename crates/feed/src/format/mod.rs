//! The bytes of packets and messages.

pub(crate) mod codec;
pub(crate) mod message;
pub(crate) mod packet;
