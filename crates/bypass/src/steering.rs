//! Steers claimed flows to sockets of AF_XDP: the program on an interface, and its maps.

use crate::bpf::{Link, Map, MapKind};
use crate::error::BypassError;
use crate::install::{Attachment, Places, install};
use crate::program::{FLOWS_MAX, KEY_BYTES, capture, key};
use crate::protocol::Protocol;
use crate::routes::Interface;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, RawFd};

/// Gives claimed flows to the sockets of their queues, and leaves everything else to the kernel.
/// When it is dropped, or its process ends in any way, the kernel has all packets again.
pub(crate) struct Steering {
    flows: Map<KEY_BYTES, 1>,
    sockets: Map<4, 4>,
    attachment: Attachment,
    /// The program is attached while this lives.
    _link: Link,
}

impl Steering {
    /// Attaches the program, with no flow and no socket yet, for queues below `queues`.
    pub(crate) fn install(interface: &Interface, queues: u32) -> Result<Steering, BypassError> {
        let failed = |step| kernel(interface, step);
        let flows = Map::create(MapKind::Hash, FLOWS_MAX).map_err(failed("make a map of flows"))?;
        let sockets: Map<4, 4> =
            Map::create(MapKind::Sockets, queues).map_err(failed("make a map of sockets"))?;
        let program = capture(flows.descriptor.as_raw_fd(), sockets.descriptor.as_raw_fd());
        let (link, attachment) = install(interface, &program, Places::Any)?;
        Ok(Steering { flows, sockets, attachment, _link: link })
    }

    /// In place of a program that a library attached without a link, which would outlive this
    /// process: attaches ours, with the library's socket on a queue.
    #[cfg(feature = "dpdk")]
    pub(crate) fn replace(
        interface: &Interface,
        (queue, socket): (u32, RawFd),
    ) -> Result<Steering, BypassError> {
        interface.take_program_off()?;
        let steering = Steering::install(interface, queue.saturating_add(1))?;
        steering.enter(interface, queue, socket)?;
        Ok(steering)
    }

    /// Gives the flows on a queue to that socket.
    pub(crate) fn enter(
        &self,
        interface: &Interface,
        queue: u32,
        socket: RawFd,
    ) -> Result<(), BypassError> {
        let entered = self.sockets.update(&queue.to_ne_bytes(), &socket.to_ne_bytes());
        entered.map_err(kernel(interface, "enter a socket into the map"))
    }

    /// Takes all packets to `address` from now on: up to [`FLOWS_MAX`] addresses.
    pub(crate) fn take(
        &self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<(), BypassError> {
        let taken = self.flows.update(&key(protocol, address), &[1]);
        taken.map_err(|source| BypassError::Claim { address, source })
    }

    /// Where the program runs.
    pub(crate) fn attachment(&self) -> &Attachment {
        &self.attachment
    }
}

fn kernel(interface: &Interface, step: &'static str) -> impl FnOnce(std::io::Error) -> BypassError {
    let interface = interface.name.clone();
    move |source| BypassError::Kernel { interface, step, source }
}
