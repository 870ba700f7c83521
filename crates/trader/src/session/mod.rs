//! What loads and tick traders share: the WebSocket session and messages encoded in advance.

pub(crate) mod codec;
pub(crate) mod form;
pub(crate) mod web;
