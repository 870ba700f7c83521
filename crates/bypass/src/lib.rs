//! Stacks below the kernel: frames go straight between a network interface and this process.
//!
//! - [`Port`]: AF_XDP on the queues of one interface. An XDP program takes the flows that the port
//!   claimed, and everything else stays with the kernel. The program goes when the process ends,
//!   however it ends.
//! - [`broadcast`]: copies of one flow's datagrams to many receivers, by frames that this process
//!   writes or by the kernel alone.
//! - [`loss`]: an interface that loses packets, for tests and scenarios.
//! - `DpdkPort`, with feature `dpdk`: the same by a poll-mode driver of the distribution's DPDK.
//! - [`frame`]: Ethernet, IPv4 and UDP, bytes in and bytes out.
//! - [`Datagrams`]: UDP over frames.
//! - [`TcpStack`]: TCP over frames, by `smoltcp`.
//! - [`share`]: one device under both.
//! - [`RealDevice`]: a device of either kind; [`AnyDevice`]: that, or the part of one.
//! - [`routes`]: the kernel's interfaces, routes and neighbours, by netlink.
//!
//! Nothing here reads a clock: who polls a stack says what time it is. Why these crates:
//! docs/decisions/024-af-xdp-and-user-space-tcp.md; why DPDK so: docs/decisions/028-dpdk.md.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod any;
mod assembler;
#[allow(unsafe_code)]
mod bpf;
pub mod broadcast;
#[allow(unsafe_code)]
mod busy_poll;
mod datagrams;
mod device;
#[cfg(any(feature = "dpdk", test))]
mod dpdk;
mod error;
mod forward;
pub mod frame;
mod frames;
mod install;
pub mod loss;
mod neighbours;
mod port;
mod program;
mod protocol;
#[allow(unsafe_code)]
mod queue;
pub mod routes;
mod shared;
mod steering;
mod tcp;

pub use crate::any::{AnyDevice, RealDevice};
pub use crate::datagrams::{Arrival, DatagramCounts, Datagrams};
pub use crate::device::Device;
#[cfg(feature = "dpdk")]
pub use crate::dpdk::{DRIVER_DEFAULT, DpdkPort};
pub use crate::error::BypassError;
pub use crate::forward::DatagramFrame;
pub use crate::frames::Frames;
pub use crate::install::Attachment;
pub use crate::neighbours::NEIGHBOURS_MAX;
pub use crate::port::{Port, PortOptions, QUEUES_MAX, ZeroCopy};
pub use crate::program::FLOWS_MAX;
pub use crate::protocol::Protocol;
pub use crate::queue::{CopyMode, FRAME_BYTES_MAX};
pub use crate::shared::{Part, WAITING_MAX, share};
pub use crate::tcp::{CONNECTIONS_MAX, ConnectionId, TcpCounts, TcpLimits, TcpStack};
