//! The trader's way to the exchange before the run: a connection that blocks, and where datagrams
//! come to.

use crate::load::dialler::{Dialler, first_address};
use crate::load::error::TraderError;
use crate::session::web::STEP_PATIENCE;
use crate::tick::receiver::TickReceiver;
use clock::Clock;
use plan::process::ticks::TickPlan;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use transport::datagram::{DatagramReceiver, ReceiveOptions, SharedDevice};
use transport::{Blocking, Connection, Dialogue, StreamId, Streams, inject, stamped};

/// One connection, with the clock of all stamps.
pub(crate) struct Link<'a> {
    dialler: &'a Dialler<'a>,
    clock: Clock,
    way: Way,
}

enum Way {
    /// A socket of the kernel, which goes into a set when the run begins.
    Kernel(Connection),
    /// A stream of a set below the kernel, whose device the datagrams share.
    Below { streams: Box<dyn Streams>, id: StreamId, device: SharedDevice, is_secure: bool },
}

impl<'a> Link<'a> {
    /// Connects as the plan's backend does.
    ///
    /// # Errors
    /// If the backend can't run here, or the exchange can't be reached.
    pub(crate) fn dial(
        plan: &TickPlan,
        dialler: &'a Dialler<'a>,
        clock: Clock,
    ) -> Result<Link<'a>, TraderError> {
        let failed = |source| TraderError::connect(&plan.target, 0, source);
        let way = match transport::backend(&plan.backend)?.on(plan.queue).shared_device() {
            None => Way::Kernel(dialler.connect().map_err(failed)?),
            Some(device) => {
                let streams = dialler.around(device.streams(clock), clock);
                let mut streams = inject::around(streams, &plan.inject, clock);
                let exchange = first_address(&plan.target).map_err(failed)?;
                let id = streams.dial(exchange).map_err(failed)?;
                Way::Below { streams, id, device, is_secure: plan.tls.is_some() }
            }
        };
        Ok(Link { dialler, clock, way })
    }

    /// Whether its device is below the kernel's sockets.
    pub(crate) fn is_below(&self) -> bool {
        matches!(self.way, Way::Below { .. })
    }

    /// Reads and writes that block.
    pub(crate) fn talk<T>(&mut self, words: impl FnOnce(&mut dyn Blocking) -> T) -> T {
        match &mut self.way {
            Way::Kernel(connection) => words(connection),
            Way::Below { streams, id, is_secure, .. } => {
                let (streams, id, is_secure) = (&mut **streams, *id, *is_secure);
                let (clock, patience) = (self.clock, STEP_PATIENCE);
                words(&mut Dialogue { streams, id, clock, patience, is_secure })
            }
        }
    }

    /// Receives datagrams at `address`, or those to a group, named with an interface, at that port.
    ///
    /// # Errors
    /// If that address or group can't be had.
    pub(crate) fn receive(
        &self,
        plan: &TickPlan,
        address: SocketAddr,
        multicast: Option<(Ipv4Addr, Ipv4Addr)>,
    ) -> Result<DatagramReceiver, TraderError> {
        Ok(match &self.way {
            Way::Kernel(_) => {
                DatagramReceiver::bind(address, &receive_options(plan, multicast), self.clock)?
            }
            Way::Below { device, .. } => {
                DatagramReceiver::below(device, address, multicast, self.clock)?
            }
        })
    }

    /// The connection as a stream of a set that does not block. A backend that sleeps also wakes
    /// for `receiver`.
    ///
    /// # Errors
    /// If the kernel lacks what the backend needs.
    pub(crate) fn into_streams(
        self,
        plan: &TickPlan,
        receiver: &TickReceiver,
    ) -> Result<(Box<dyn Streams>, StreamId), TraderError> {
        let Link { dialler, clock, way } = self;
        let backend = transport::backend(&plan.backend)?;
        let open = |connection| -> io::Result<(Box<dyn Streams>, StreamId)> {
            let mut streams = match receiver.socket() {
                Some(socket) => backend.open_beside(clock, &[socket])?,
                None => backend.open(clock)?,
            };
            if plan.stamp_every > 0 {
                streams = stamped::around(streams, clock, backend.row.spins);
            }
            let streams = dialler.around(streams, clock);
            let mut streams = inject::around(streams, &plan.inject, clock);
            let id = streams.add(connection)?;
            Ok((streams, id))
        };
        match way {
            Way::Kernel(connection) => open(connection)
                .map_err(|source| TraderError::Open { backend: plan.backend.clone(), source }),
            Way::Below { streams, id, .. } => Ok((streams, id)),
        }
    }
}

pub(crate) fn receive_options(
    plan: &TickPlan,
    multicast: Option<(Ipv4Addr, Ipv4Addr)>,
) -> ReceiveOptions {
    let feed = &plan.feed;
    ReceiveOptions {
        receive_buffer_bytes: feed.receive_buffer_bytes,
        kernel_stamps: feed.kernel_stamps,
        multicast,
    }
}
