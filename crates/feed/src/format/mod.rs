//! How packets and messages look as bytes.

pub(crate) mod codec;
pub(crate) mod message;
pub(crate) mod packet;
