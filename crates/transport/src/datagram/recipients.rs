//! Where datagrams may be sent: never to an address that did not ask for them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::str::FromStr;

/// An IPv4 network, written `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: Ipv4Addr,
    prefix_bits: u32,
}

/// Text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an IPv4 network: write it as 192.0.2.0/24, or 192.0.2.7/32 for one address")]
pub struct BadNetwork(String);

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Network, BadNetwork> {
        let bad = || BadNetwork(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(bad)?;
        let address: Ipv4Addr = address.parse().map_err(|_| bad())?;
        let prefix_bits = bits.parse().ok().filter(|bits| *bits <= 32).ok_or_else(bad)?;
        let first = Ipv4Addr::from_bits(address.to_bits() & mask(prefix_bits));
        Ok(Network { first, prefix_bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix_bits)
    }
}

impl Network {
    fn contains(&self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.prefix_bits) == self.first.to_bits()
    }

    /// Whether an address of this network is that of one host. The networks within it are unknown,
    /// but most broadcast addresses end in 255, and addresses of networks in 0.
    fn is_host(&self, address: Ipv4Addr) -> bool {
        let mask = mask(self.prefix_bits.max(24));
        let host = address.to_bits() & !mask;
        self.prefix_bits >= 31 || (host != 0 && host != !mask)
    }
}

/// Whether no host has this address (RFC 6890): "this network" and class E, with the broadcast
/// address of all hosts in it.
fn is_reserved(address: Ipv4Addr) -> bool {
    matches!(address.octets()[0], 0 | 240..)
}

fn mask(prefix_bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - prefix_bits).unwrap_or(0)
}

/// Where a client may have datagrams sent to: its own address, networks that the operator allows,
/// and the feed's multicast group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipients {
    /// Networks that any client may name addresses of, such as those of its market data cards.
    pub allowed: Vec<Network>,
    /// The group of the feed: its port, and the next.
    pub group: Option<SocketAddrV4>,
}

/// Why no datagrams are sent to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// Not an IPv4 address, or port 0.
    Unreachable,
    /// An address of all hosts, of no host, or of a group that is not the feed's.
    NotOneHost,
    /// Another host than the client, in no network that the operator allows.
    Foreign,
    /// Below the kernel: a host without a connection to this process.
    Unconnected,
}

impl Recipients {
    /// Whether a client that connects from `peer` may have datagrams sent to `address`. With an
    /// unknown peer only the networks that the operator allows are left.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, address: SocketAddr, peer: Option<IpAddr>) -> Result<(), NotSent> {
        let SocketAddr::V4(address) = address else { return Err(NotSent::Unreachable) };
        if address.port() == 0 {
            return Err(NotSent::Unreachable);
        }
        let ip = *address.ip();
        if ip.is_multicast() {
            return if self.is_group(address) { Ok(()) } else { Err(NotSent::NotOneHost) };
        }
        if is_reserved(ip) {
            return Err(NotSent::NotOneHost);
        }
        let is_peer = peer.is_some_and(|peer| peer.to_canonical() == IpAddr::V4(ip));
        let mut allowing = self.allowed.iter().filter(|network| network.contains(ip)).peekable();
        let is_allowed = allowing.peek().is_some();
        match is_peer || allowing.any(|network| network.is_host(ip)) {
            true => Ok(()),
            false if is_allowed => Err(NotSent::NotOneHost),
            false => Err(NotSent::Foreign),
        }
    }

    fn is_group(&self, address: SocketAddrV4) -> bool {
        let ports = |group: SocketAddrV4| group.port()..=group.port().saturating_add(1);
        self.group.is_some_and(|group| {
            group.ip() == address.ip() && ports(group).contains(&address.port())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_go_to_the_client_the_allowed_networks_and_the_group() {
        let recipients = Recipients {
            allowed: vec!["10.1.2.0/24".parse().unwrap(), "10.9.9.9/32".parse().unwrap()],
            group: Some("239.1.1.1:4000".parse().unwrap()),
        };
        let peer = Some("192.0.2.7".parse().unwrap());
        for (address, expected) in [
            ("192.0.2.7:1", Ok(())),
            ("10.1.2.3:1", Ok(())),
            ("10.9.9.9:1", Ok(())),
            ("239.1.1.1:4000", Ok(())),
            ("239.1.1.1:4001", Ok(())),
            ("192.0.2.8:1", Err(NotSent::Foreign)),
            ("10.1.3.3:1", Err(NotSent::Foreign)),
            ("127.0.0.1:1", Err(NotSent::Foreign)),
            // The network's own and its broadcast address.
            ("10.1.2.0:1", Err(NotSent::NotOneHost)),
            ("10.1.2.255:1", Err(NotSent::NotOneHost)),
            ("239.1.1.1:4002", Err(NotSent::NotOneHost)),
            ("239.1.1.2:4000", Err(NotSent::NotOneHost)),
            ("255.255.255.255:1", Err(NotSent::NotOneHost)),
            ("0.0.0.0:1", Err(NotSent::NotOneHost)),
            ("192.0.2.7:0", Err(NotSent::Unreachable)),
            ("[::1]:1", Err(NotSent::Unreachable)),
        ] {
            let found = recipients.check(address.parse().unwrap(), peer);
            assert_eq!(found, expected, "{address}");
        }
        let mapped = Some("::ffff:192.0.2.7".parse().unwrap());
        assert_eq!(recipients.check("192.0.2.7:1".parse().unwrap(), mapped), Ok(()));
        assert_eq!(recipients.check("192.0.2.7:1".parse().unwrap(), None), Err(NotSent::Foreign));
    }

    /// However much the operator allows: `0.0.0.0/0` means all hosts.
    #[test]
    fn nothing_allows_broadcast_or_reserved_addresses() {
        let networks = |texts: &[&str]| Recipients {
            allowed: texts.iter().map(|text| text.parse().unwrap()).collect(),
            group: None,
        };
        let all = networks(&["0.0.0.0/0"]);
        for (address, expected) in [
            ("192.0.2.7:1", Ok(())),
            ("192.0.2.255:1", Err(NotSent::NotOneHost)),
            ("10.255.255.255:1", Err(NotSent::NotOneHost)),
            ("192.0.2.0:1", Err(NotSent::NotOneHost)),
            ("255.255.255.255:1", Err(NotSent::NotOneHost)),
            ("240.0.0.1:1", Err(NotSent::NotOneHost)),
            ("254.1.2.3:1", Err(NotSent::NotOneHost)),
            ("0.1.2.3:1", Err(NotSent::NotOneHost)),
            ("224.0.0.1:1", Err(NotSent::NotOneHost)),
        ] {
            assert_eq!(all.check(address.parse().unwrap(), None), expected, "{address}");
        }
        // A smaller network's own, and what only its operator knows to be a host.
        let own = networks(&["192.0.2.64/26", "10.0.1.255/32", "255.255.255.255/32"]);
        for (address, expected) in [
            ("192.0.2.127:1", Err(NotSent::NotOneHost)),
            ("192.0.2.64:1", Err(NotSent::NotOneHost)),
            ("192.0.2.126:1", Ok(())),
            ("10.0.1.255:1", Ok(())),
            ("255.255.255.255:1", Err(NotSent::NotOneHost)),
        ] {
            assert_eq!(own.check(address.parse().unwrap(), None), expected, "{address}");
        }
    }

    #[test]
    fn networks_are_read_and_written() {
        for (text, expected) in [
            ("10.1.2.3/24", "10.1.2.0/24"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("1.2.3.4/32", "1.2.3.4/32"),
        ] {
            let network: Network = text.parse().unwrap();
            assert_eq!(network.to_string(), expected);
        }
        for text in ["10.1.2.3", "10.1.2.3/33", "10.1.2/24", "::1/128", "/8", ""] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
