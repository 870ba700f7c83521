//! Byte streams over several backends, and datagrams, with the stamps next to the system call; also
//! the raw echo, which gives the floor.
//!
//! Code that speaks over a stream sees only [`Streams`]. A backend is a row of [`BACKENDS`]; a new
//! one changes nothing else.
//!
//! ```text
//!   trader ──────────────┐                      ┌── exchange, echo: a `Service` run by `serve`
//!                        │                      ├── gateway process: `forward`
//!                        v                      v
//!                     Streams: wait, read, write, accept
//!                        ├── inject: harm on purpose, around any
//!                        ├── stamped: the kernel's stamps, around `spin` and `block`
//!                        ├── readiness: `spin`, `block`
//!                        ├── below: `af_xdp`, TCP and datagrams without the kernel's stack
//!                        ├── acked: peers over UDP, beside another set
//!                        ├── FIX sessions, by crate `fix-gateway`, around any
//!                        ├── uring: `io_uring`, `io_uring_spin`
//!                        └── gateways: threads that own the sockets, each with one of the former;
//!                            bytes come and go through rings
//! ```

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod acked;
mod backend;
mod connection;
pub mod cookie;
pub mod datagram;
mod dialogue;
pub mod echo;
pub mod forward;
pub mod gateway;
pub mod lanes;
#[cfg(test)]
mod present;
pub mod proxy;
pub mod serve;
pub mod stamps;
mod stream;
mod streams;
pub mod tls;

pub use backend::{BACKENDS, Backend, SideSet, backend};
pub use connection::Connection;
pub use dialogue::{Blocking, Dialogue};
pub use stream::{StreamReceiver, inject, stamped};
pub use streams::{BELL, RECEIVED_AHEAD_BYTES_MAX, Ready, StreamId, StreamRead, Streams, Write};
