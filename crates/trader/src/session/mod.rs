//! Shared by loads and tick traders: the WebSocket session and messages encoded in advance.

pub(crate) mod codec;
pub(crate) mod form;
pub(crate) mod standing;
pub(crate) mod web;
