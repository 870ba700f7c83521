//! Copies of one flow's datagrams to many receivers, below the kernel's stack.
//!
//! - [`ReceiverHeaders`]: the headers to one receiver, for frames that this process writes.
//! - [`Broadcast`]: two XDP programs, by which the kernel copies without this process.
//! - [`Paths`]: where receivers are.
//!
//! How the kernel's copies find their receivers:
//! docs/decisions/031-replication-below-the-kernel.md.

mod paths;
mod prepared;
mod programs;

pub use self::paths::Paths;
pub use self::prepared::{Content, ReceiverHeaders};

use self::prepared::{SLOT_BYTES, slot};
use self::programs::{Maps, RECEIVED_BYTES, STATE_BYTES};
use crate::bpf::{self, Link, Map, MapKind, Role};
use crate::error::BypassError;
use crate::install::{Places, install};
use crate::routes::Interface;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

/// Limit on the receivers of a broadcast: entries of its maps.
pub const RECEIVERS_MAX: usize = 256;

/// A receiver's place in a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiverSlot(u32);

/// One flow whose datagrams the kernel copies. When it is dropped, or its process ends in any way,
/// the programs go and the kernel has all packets again.
pub struct Broadcast {
    interface: Interface,
    flow: SocketAddrV4,
    /// The interface, once for each place up to the last one that is used.
    exits: Map<4, 8>,
    slots: Map<4, SLOT_BYTES>,
    sent: Map<4, 8>,
    received: Map<4, RECEIVED_BYTES>,
    /// By place: the count before its receiver came; `None`: nobody has it.
    places: Vec<Option<u64>>,
    leave: OwnedFd,
    _link: Link,
    _state: Map<4, STATE_BYTES>,
}

impl Broadcast {
    /// Takes the datagrams to `flow` that the interface receives, from `source` only if that is
    /// given. Everything else stays with the kernel.
    ///
    /// # Errors
    /// If the kernel, the driver, our rights or another program do not allow it.
    pub fn open(
        interface: &Interface,
        flow: SocketAddrV4,
        source: Option<Ipv4Addr>,
    ) -> Result<Broadcast, BypassError> {
        let failed = |step| {
            let interface = interface.name.clone();
            move |source| BypassError::Kernel { interface, step, source }
        };
        let map = "make the maps of a broadcast";
        let most = RECEIVERS_MAX as u32;
        let exits = Map::create(MapKind::Interfaces, most).map_err(failed(map))?;
        let slots = Map::create(MapKind::Array, most).map_err(failed(map))?;
        let sent = Map::create(MapKind::Array, most).map_err(failed(map))?;
        let received = Map::create(MapKind::Array, 1).map_err(failed(map))?;
        let state = Map::create(MapKind::ArrayOfEachCore, 1).map_err(failed(map))?;
        let maps = Maps {
            exits: exits.descriptor.as_raw_fd(),
            slots: slots.descriptor.as_raw_fd(),
            sent: sent.descriptor.as_raw_fd(),
            state: state.descriptor.as_raw_fd(),
            received: received.descriptor.as_raw_fd(),
        };
        // Over veth the kernel leaves checksums to the receiver, which is on this host.
        let leave = programs::leave(maps, !interface.is_veth);
        let leave = bpf::load(&leave, Role::Leave).map_err(failed("load the program of copies"))?;
        let receive = programs::receive(flow, source, maps);
        let (link, _) = install(interface, &receive, Places::Native)?;
        Ok(Broadcast {
            interface: interface.clone(),
            flow,
            exits,
            slots,
            sent,
            received,
            places: Vec::new(),
            leave,
            _link: link,
            _state: state,
        })
    }

    /// Gives a receiver a place. It gets each datagram from now on. The calling thread must be in
    /// the interface's network namespace.
    ///
    /// # Errors
    /// If there are [`RECEIVERS_MAX`] already, the namespace is another one, or the kernel fails.
    pub fn enter(&mut self, receiver: &ReceiverHeaders) -> Result<ReceiverSlot, BypassError> {
        let free = self.places.iter().position(Option::is_none);
        let at = free.unwrap_or(self.places.len());
        if at >= RECEIVERS_MAX {
            let (name, max) = ("receivers of a broadcast", RECEIVERS_MAX);
            return Err(BypassError::Limit { name, value: at + 1, min: 0, max });
        }
        let place = ReceiverSlot(at as u32);
        let before = self.count_at(place)?;
        let value = receiver.slot(self.flow);
        let mut silent = value;
        silent[slot::ACTIVE] = 0;
        // First what the program doesn't use yet, then the one word that says that it may.
        self.write(place, &silent)?;
        self.write(place, &value)?;
        if at == self.places.len() {
            self.add_exit(place)?;
            self.places.push(None);
        }
        self.places[at] = Some(before);
        Ok(place)
    }

    /// Takes a receiver's place. It gets no copy of a datagram that arrives from now on. Returns
    /// how many it got.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn leave(&mut self, place: ReceiverSlot) -> Result<u64, BypassError> {
        let mut value = self.slots.read(&place.key()).map_err(self.failed("read a receiver"))?;
        value[slot::ACTIVE] = 0;
        self.write(place, &value)?;
        let sent = self.sent(place)?;
        self.places[place.0 as usize] = None;
        // The places behind the last receiver cost a copy each. Those between receivers stay, since
        // the others keep theirs.
        while self.places.last().is_some_and(Option::is_none) {
            self.places.pop();
            let last = ReceiverSlot(self.places.len() as u32);
            self.exits.remove(&last.key()).map_err(self.failed("remove a receiver"))?;
        }
        Ok(sent)
    }

    /// Copies to a receiver that left so far.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn sent(&self, place: ReceiverSlot) -> Result<u64, BypassError> {
        let before = self.places[place.0 as usize].unwrap_or_default();
        Ok(self.count_at(place)? - before)
    }

    /// Datagrams that were taken so far, and the bytes of their content.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn received(&self) -> Result<(u64, u64), BypassError> {
        let failed = self.failed("read the counts");
        let counts = self.received.read(&ReceiverSlot(0).key()).map_err(failed)?;
        let (datagrams, bytes) = counts.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        Ok((number(datagrams), number(bytes)))
    }

    fn count_at(&self, place: ReceiverSlot) -> Result<u64, BypassError> {
        let count = self.sent.read(&place.key()).map_err(self.failed("read the counts"))?;
        Ok(u64::from_ne_bytes(count))
    }

    fn write(&self, place: ReceiverSlot, value: &[u8; SLOT_BYTES]) -> Result<(), BypassError> {
        self.slots.update(&place.key(), value).map_err(self.failed("write a receiver"))
    }

    fn add_exit(&self, place: ReceiverSlot) -> Result<(), BypassError> {
        // The kernel takes the number for one of the caller's network namespace, where it may be
        // another interface's.
        let here = Interface::named(&self.interface.name)?;
        if (here.index, here.mac) != (self.interface.index, self.interface.mac) {
            let wanted = self.interface.name.clone();
            return Err(BypassError::NoInterface { kind: "name", wanted });
        }
        // `struct bpf_devmap_val`: the interface, and the program for packets that leave by it.
        let mut exit = [0; 8];
        exit[..4].copy_from_slice(&self.interface.index.to_ne_bytes());
        exit[4..].copy_from_slice(&self.leave.as_raw_fd().to_ne_bytes());
        self.exits.update(&place.key(), &exit).map_err(self.failed("add a receiver"))
    }

    fn failed(&self, step: &'static str) -> impl Fn(io::Error) -> BypassError + use<> {
        let interface = self.interface.name.clone();
        move |source| BypassError::Kernel { interface: interface.clone(), step, source }
    }
}

impl ReceiverSlot {
    fn key(self) -> [u8; 4] {
        self.0.to_ne_bytes()
    }
}
