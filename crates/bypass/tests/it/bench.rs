//! Two namespaces joined by veth: a stack in one, the kernel's in the other.

use bypass::routes::Interface;
use bypass::{Arrival, Datagrams, Device, Port, PortOptions, ZeroCopy};
use clock::Deadline;
use host::network::{DEVICE, Network, Networks};
use std::net::Ipv4Addr;
use std::time::Duration;

/// How long something may take that must come.
pub const PATIENCE: Duration = Duration::from_secs(20);
pub const COPY: PortOptions = PortOptions { queue: None, zero_copy: ZeroCopy::No };

/// Both networks; `None` after counting the test as skipped.
pub fn networks() -> Option<Networks> {
    match Networks::create() {
        Ok(networks) => Some(networks),
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            None
        }
    }
}

/// A port in the first network; `None` after counting the test as skipped.
pub fn port(networks: &Networks) -> Option<Port> {
    match open(networks.exchange(), COPY) {
        Ok(port) => Some(port),
        Err(why) => {
            testing::skipped(testing::Need::Kernel, why);
            None
        }
    }
}

pub fn open(network: &Network, options: PortOptions) -> Result<Port, bypass::BypassError> {
    network.within(|| Port::open(&Interface::named(DEVICE)?, options)).unwrap()
}

/// Addresses of the stack and of the kernel.
pub fn addresses(networks: &Networks) -> [Ipv4Addr; 2] {
    [networks.exchange().address(), networks.trader().address()]
}

/// The next datagram, which must come.
pub fn receive(datagrams: &mut Datagrams<impl Device>, into: &mut [u8]) -> Arrival {
    let deadline = Deadline::after(PATIENCE);
    loop {
        if let Some(received) = datagrams.receive(into) {
            return received;
        }
        assert!(!deadline.left().is_zero(), "{:?}", datagrams.counts());
    }
}
