//! Shared by loads and tick traders: the sessions of a WebSocket and of FIX, and messages encoded
//! in advance.

pub(crate) mod codec;
pub(crate) mod fix;
pub(crate) mod form;
pub(crate) mod standing;
pub(crate) mod web;
