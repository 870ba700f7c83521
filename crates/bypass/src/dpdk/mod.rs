//! DPDK: a poll-mode driver on an interface that the kernel has, too.
//!
//! Over AF_XDP our program steers claimed flows to the driver's socket, and the rest is the
//! kernel's. Other drivers may take all frames of the interface, so that the kernel sees no ARP any
//! more, or a copy of all of them, so that the kernel answers what is ours. So the port answers and
//! asks by ARP itself there, and a socket of the kernel swallows what comes to an address that the
//! port claimed. Frames of others are dropped: the stack above would reset their connections.
//!
//! See docs/decisions/028-dpdk.md.

mod arp;
#[cfg(feature = "dpdk")]
#[allow(unsafe_code)]
mod ffi;
mod flow;
#[cfg(feature = "dpdk")]
mod port;
#[cfg(feature = "dpdk")]
#[allow(unsafe_code)]
mod swallow;

#[cfg(feature = "dpdk")]
pub use port::{DRIVER_DEFAULT, DpdkPort};
