//! The ways to receivers, by the kernel's routes and neighbours.

use crate::error::BypassError;
use crate::frame::{Header, Mac};
use crate::routes::{self, Interface};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The way to a host.
struct Path {
    next_hop: Ipv4Addr,
    /// `None`: it did not answer ARP yet.
    mac: Option<Mac>,
}

/// The ways from one address. Never waits for an answer to ARP.
pub struct Paths {
    interface: Interface,
    from: SocketAddrV4,
    by_host: HashMap<Ipv4Addr, Path>,
}

impl Paths {
    /// Ways of datagrams with the source address `from`.
    pub fn new(interface: Interface, from: SocketAddrV4) -> Paths {
        Paths { interface, from, by_host: HashMap::new() }
    }

    /// Looks up the kernel's route to a host.
    ///
    /// # Errors
    /// If there is none, or it leaves by another interface.
    pub fn add(&mut self, host: Ipv4Addr) -> Result<(), BypassError> {
        if !self.by_host.contains_key(&host) {
            let next_hop = self.interface.route(host)?.next_hop;
            self.by_host.insert(host, Path { next_hop, mac: None });
        }
        Ok(())
    }

    /// Forgets all hosts but these.
    pub fn keep(&mut self, is_needed: impl Fn(Ipv4Addr) -> bool) {
        self.by_host.retain(|host, _| is_needed(*host));
    }

    /// The header of a datagram to that address; `None`: it is not known where the host is.
    pub fn header(&self, destination: SocketAddrV4) -> Option<Header> {
        let to = self.by_host.get(destination.ip())?.mac?;
        Some(Header { from: self.interface.mac, to, source: self.from, destination })
    }

    /// Whether some host did not answer ARP yet.
    pub fn is_incomplete(&self) -> bool {
        self.by_host.values().any(|path| path.mac.is_none())
    }

    /// Reads the kernel's neighbours, and makes it ask for those that it doesn't know. Returns
    /// whether a way changed.
    ///
    /// # Errors
    /// If netlink fails.
    pub fn refresh(&mut self) -> Result<bool, BypassError> {
        if self.by_host.is_empty() {
            return Ok(false);
        }
        let known: HashMap<Ipv4Addr, Mac> =
            routes::neighbours(self.interface.index)?.into_iter().collect();
        let mut has_changed = false;
        for path in self.by_host.values_mut() {
            match known.get(&path.next_hop) {
                Some(mac) if path.mac == Some(*mac) => {}
                Some(mac) => {
                    path.mac = Some(*mac);
                    has_changed = true;
                }
                // One that the kernel forgot is still where it was.
                None if path.mac.is_some() => {}
                None => routes::resolve(self.interface.index, path.next_hop)?,
            }
        }
        Ok(has_changed)
    }
}
