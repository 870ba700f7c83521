//! Two namespaces joined by veth: a stack in one, the kernel's in the other.

use bypass::routes::Interface;
use bypass::{Arrival, Datagrams, Device, Frames, Port, PortOptions, ZeroCopy};
use clock::Deadline;
use host::network::{DEVICE, Network, Networks};
use std::io;
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

/// Does harm to frames in both directions: each `drop`th is lost, each `double`th comes twice, each
/// `swap`th comes after its successor; 0: none. Dropped frames are only those with content, since a
/// connection that loses its last acknowledgement waits for a second and more.
pub struct Harmed<F> {
    pub frames: F,
    pub harm: Harm,
    inbound: Way,
    outbound: Way,
}

#[derive(Clone, Copy)]
pub struct Harm {
    pub drop: u64,
    pub double: u64,
    pub swap: u64,
}

#[derive(Default)]
struct Way {
    count: u64,
    /// Frames to deliver before any other.
    next: Vec<Vec<u8>>,
    /// A frame that waits for its successor.
    late: Option<Vec<u8>>,
    pub harmed: [u64; 3],
}

impl Way {
    /// A frame comes: now deliver those in `next`, the last one first.
    fn pass(&mut self, frame: Vec<u8>, harm: Harm) {
        self.count += 1;
        let is = |every: u64| every > 0 && self.count.is_multiple_of(every);
        if is(harm.drop) && frame.len() > 100 {
            self.harmed[0] += 1;
            return;
        }
        if is(harm.swap) && self.late.is_none() {
            self.harmed[2] += 1;
            self.late = Some(frame);
            return;
        }
        self.next.extend(self.late.take());
        if is(harm.double) {
            self.harmed[1] += 1;
            self.next.push(frame.clone());
        }
        self.next.push(frame);
    }
}

impl<F> Harmed<F> {
    pub fn new(frames: F, harm: Harm) -> Harmed<F> {
        Harmed { frames, harm, inbound: Way::default(), outbound: Way::default() }
    }

    /// Frames dropped, doubled and swapped on the way in and out.
    pub fn harmed(&self) -> [[u64; 3]; 2] {
        [self.inbound.harmed, self.outbound.harmed]
    }
}

impl<F: Frames> Frames for Harmed<F> {
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        while self.inbound.next.is_empty() {
            let mut came = None;
            if !self.frames.receive(|frame| came = Some(frame.to_vec())) {
                // No successor came by now.
                let Some(late) = self.inbound.late.take() else { return false };
                self.inbound.next.push(late);
                break;
            }
            self.inbound.pass(came.unwrap(), self.harm);
        }
        take(&self.inbound.next.pop().unwrap());
        true
    }

    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let mut frame = vec![0; bytes];
        fill(&mut frame);
        self.outbound.pass(frame, self.harm);
        while let Some(frame) = self.outbound.next.pop() {
            self.frames.send(frame.len(), |to| to.copy_from_slice(&frame));
        }
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(frame) = self.outbound.late.take() {
            self.frames.send(frame.len(), |to| to.copy_from_slice(&frame));
        }
        self.frames.flush()
    }
}
