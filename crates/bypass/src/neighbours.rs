//! Hardware addresses of those with whom a stack talks.

use crate::frame::Mac;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Limit on the addresses that a stack knows. Frames of more are still received; nothing is sent
/// to them.
pub const NEIGHBOURS_MAX: usize = 4096;

/// Where to send a packet for an address. Filled from the kernel's tables before a connection, and
/// from each frame that arrives, because a reply goes back to where its request came from.
pub(crate) struct Neighbours {
    known: HashMap<Ipv4Addr, Mac>,
    latest: (Ipv4Addr, Mac),
}

impl Neighbours {
    pub(crate) fn new() -> Neighbours {
        Neighbours {
            known: HashMap::with_capacity(NEIGHBOURS_MAX),
            latest: (Ipv4Addr::UNSPECIFIED, Mac([0; 6])),
        }
    }

    /// Notes where `address` is; false if there are too many.
    #[inline]
    pub(crate) fn learn(&mut self, address: Ipv4Addr, mac: Mac) -> bool {
        if self.latest == (address, mac) {
            return true;
        }
        if self.known.len() >= NEIGHBOURS_MAX && !self.known.contains_key(&address) {
            return false;
        }
        self.known.insert(address, mac);
        self.latest = (address, mac);
        true
    }

    #[inline]
    pub(crate) fn find(&self, address: Ipv4Addr) -> Option<Mac> {
        match self.latest {
            (latest, mac) if latest == address => Some(mac),
            _ => self.known.get(&address).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_limit_the_known_ones_stay_and_may_move() {
        let mut neighbours = Neighbours::new();
        let address = |n: usize| Ipv4Addr::from_bits(n as u32 + 1);
        for n in 0..NEIGHBOURS_MAX {
            assert!(neighbours.learn(address(n), Mac([1; 6])));
        }
        assert!(!neighbours.learn(address(NEIGHBOURS_MAX), Mac([1; 6])));
        assert_eq!(neighbours.find(address(NEIGHBOURS_MAX)), None);
        assert!(neighbours.learn(address(0), Mac([2; 6])));
        assert_eq!(neighbours.find(address(0)), Some(Mac([2; 6])));
        assert_eq!(neighbours.find(address(1)), Some(Mac([1; 6])));
    }
}
