//! The kernel's interfaces, routes and neighbours, by netlink (rtnetlink(7)). Off the path: each
//! question is some system calls.

use crate::error::BypassError;
use crate::frame::Mac;
#[cfg(feature = "dpdk")]
use crate::install::{GENERIC, NATIVE};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage, LinkXdp};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use xdp::nic::NicIndex;

/// Looks at the table of neighbours while one is resolved, [`RESOLVE_PAUSE`] apart: the kernel asks
/// three times, a second apart (arp(7), `mcast_solicit`, `retrans_time_ms`).
const RESOLVE_LOOKS: u32 = 1_600;
const RESOLVE_PAUSE: Duration = Duration::from_millis(2);

/// `NETDEV_XDP_ACT_NDO_XMIT` (linux/netdev.h).
const SENDS_FOR_PROGRAMS: u64 = 1 << 2;

/// A network interface with an Ethernet address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth1`.
    pub name: String,
    /// The kernel's number.
    pub index: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Bytes of its longest packet.
    pub mtu: u32,
    /// Its IPv4 addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// Whether packets may come without a checksum because they never leave the host.
    pub is_veth: bool,
    /// Whether an XDP program is attached.
    pub has_program: bool,
}

/// The way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The kernel's number of the interface that it leaves by.
    pub interface: u32,
    /// The address that the kernel would send from.
    pub source: Ipv4Addr,
    /// The destination, or the router to it.
    pub next_hop: Ipv4Addr,
}

impl Interface {
    /// The interface of that name.
    ///
    /// # Errors
    /// If there is none with a hardware address, or netlink fails.
    pub fn named(name: &str) -> Result<Interface, BypassError> {
        let missing = || BypassError::NoInterface { kind: "name", wanted: name.to_owned() };
        all()?.into_iter().find(|one| one.name == name).ok_or_else(missing)
    }

    /// The interface with that address.
    ///
    /// # Errors
    /// If there is none with a hardware address, or netlink fails.
    pub fn with_address(address: Ipv4Addr) -> Result<Interface, BypassError> {
        let missing = || BypassError::NoInterface { kind: "address", wanted: address.to_string() };
        all()?.into_iter().find(|one| one.addresses.contains(&address)).ok_or_else(missing)
    }

    /// Its receive queues that are in use, at least 1.
    ///
    /// # Errors
    /// If the driver's answer is an error other than that it has no such setting.
    pub fn receive_queues(&self) -> Result<u32, BypassError> {
        match NicIndex::new(self.index).queue_counts() {
            Ok(queues) => Ok(queues.rx_count().max(1)),
            Err(why) if why.kind() == io::ErrorKind::Unsupported => Ok(1),
            Err(source) => Err(BypassError::Kernel {
                interface: self.name.clone(),
                step: "read its number of queues",
                source,
            }),
        }
    }

    /// Whether its driver has AF_XDP without copies; `None`: the kernel (before 6.3) doesn't say.
    pub(crate) fn has_zero_copy(&self) -> Option<bool> {
        let said = NicIndex::new(self.index).query_capabilities().ok()?;
        Some(said.xdp_features.zero_copy())
    }

    /// Whether it sends frames of XDP programs now: a veth does if its other end has GRO or a
    /// program, others if their driver can. `None`: the kernel (before 6.3) doesn't say.
    pub fn sends_for_programs(&self) -> Option<bool> {
        let said = NicIndex::new(self.index).query_capabilities().ok()?;
        Some(said.xdp_features.0 & SENDS_FOR_PROGRAMS != 0)
    }

    /// Whether a default route of the kernel leaves by it.
    ///
    /// # Errors
    /// If netlink fails.
    pub fn has_default_route(&self) -> Result<bool, BypassError> {
        let mut question = RouteMessage::default();
        question.header.address_family = AddressFamily::Inet;
        let answers = ask(RouteNetlinkMessage::GetRoute(question), NLM_F_DUMP)
            .map_err(|source| BypassError::Netlink { table: "routes", source })?;
        let leaves_here = RouteAttribute::Oif(self.index);
        Ok(answers.iter().any(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => {
                route.header.destination_prefix_length == 0
                    && route.attributes.contains(&leaves_here)
            }
            _ => false,
        }))
    }

    /// Frames that the interface dropped on their way out, of all programs, since it exists.
    ///
    /// # Errors
    /// If the interface is gone, or netlink fails.
    pub fn dropped_on_leaving(&self) -> Result<u64, BypassError> {
        let mut question = LinkMessage::default();
        question.header.index = self.index;
        let answers = ask(RouteNetlinkMessage::GetLink(question), 0)
            .map_err(|source| BypassError::Netlink { table: "interfaces", source })?;
        let dropped = answers.iter().find_map(|answer| {
            let RouteNetlinkMessage::NewLink(link) = answer else { return None };
            link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::Stats64(counts) => Some(counts.tx_dropped),
                _ => None,
            })
        });
        dropped.ok_or_else(|| BypassError::Netlink {
            table: "counts of interfaces",
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// Takes off an XDP program that no link holds.
    ///
    /// # Errors
    /// If a link holds it, the rights are missing, or netlink fails.
    #[cfg(feature = "dpdk")]
    pub(crate) fn take_program_off(&self) -> Result<(), BypassError> {
        // In each place where one may run; where none does, this changes nothing.
        for place in [NATIVE, GENERIC] {
            let mut change = LinkMessage::default();
            change.header.index = self.index;
            let none = vec![LinkXdp::Fd(-1), LinkXdp::Flags(place)];
            change.attributes.push(LinkAttribute::Xdp(none));
            ask(RouteNetlinkMessage::SetLink(change), NLM_F_ACK).map_err(|source| {
                let (interface, step) = (self.name.clone(), "take off an XDP program");
                BypassError::Kernel { interface, step, source }
            })?;
        }
        Ok(())
    }

    /// The kernel's route to an address, if it leaves by this interface.
    ///
    /// # Errors
    /// If it leaves by another one, or as [`route`].
    pub fn route(&self, to: Ipv4Addr) -> Result<Route, BypassError> {
        let route = route(to)?;
        if route.interface != self.index {
            return Err(BypassError::OtherInterface { to, interface: self.name.clone() });
        }
        Ok(route)
    }

    /// The hardware address of a host on this interface's network. Where the kernel doesn't know
    /// it, it is made to ask; that takes up to three seconds if nobody answers.
    ///
    /// # Errors
    /// If nobody answers, or netlink fails.
    pub fn neighbour(&self, address: Ipv4Addr) -> Result<Mac, BypassError> {
        for look in 0..RESOLVE_LOOKS {
            if let Some(mac) = known_neighbour(self.index, address)? {
                return Ok(mac);
            }
            if look == 0 {
                resolve(self.index, address)?;
            }
            std::thread::sleep(RESOLVE_PAUSE);
        }
        Err(BypassError::NoNeighbour { address, interface: self.name.clone() })
    }
}

/// All interfaces with an Ethernet address.
///
/// # Errors
/// If netlink fails.
pub fn all() -> Result<Vec<Interface>, BypassError> {
    let failed = |source| BypassError::Netlink { table: "interfaces", source };
    let links = ask(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP);
    let mut interfaces: Vec<Interface> =
        links.map_err(failed)?.iter().filter_map(interface).collect();
    let addresses = ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP);
    for answer in addresses.map_err(failed)? {
        let RouteNetlinkMessage::NewAddress(message) = answer else { continue };
        let local = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(IpAddr::V4(local)) => Some(*local),
            _ => None,
        });
        let of = interfaces.iter_mut().find(|one| one.index == message.header.index);
        if let (Some(interface), Some(local)) = (of, local) {
            interface.addresses.push(local);
        }
    }
    Ok(interfaces)
}

fn interface(answer: &RouteNetlinkMessage) -> Option<Interface> {
    let RouteNetlinkMessage::NewLink(link) = answer else { return None };
    let mut found = Interface {
        name: String::new(),
        index: link.header.index,
        mac: Mac([0; 6]),
        mtu: 0,
        addresses: Vec::new(),
        is_veth: false,
        has_program: false,
    };
    let mut is_ethernet = false;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => found.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => found.mtu = *mtu,
            LinkAttribute::Address(bytes) => {
                if let Ok(mac) = <[u8; 6]>::try_from(&bytes[..]) {
                    (found.mac, is_ethernet) = (Mac(mac), mac != [0; 6]);
                }
            }
            LinkAttribute::LinkInfo(infos) => {
                found.is_veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
            }
            LinkAttribute::Xdp(facts) => {
                found.has_program = facts.iter().any(|fact| matches!(fact, LinkXdp::ProgId(_)));
            }
            _ => {}
        }
    }
    is_ethernet.then_some(found)
}

/// The route to an address, as the kernel would choose it.
///
/// # Errors
/// If there is none, or netlink fails.
pub fn route(to: Ipv4Addr) -> Result<Route, BypassError> {
    let mut question = RouteMessage::default();
    question.header.address_family = AddressFamily::Inet;
    question.header.destination_prefix_length = 32;
    question.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(to)));
    let answers = ask(RouteNetlinkMessage::GetRoute(question), 0)
        .map_err(|source| BypassError::NoRoute { to, source })?;
    let mut route = Route { interface: 0, source: Ipv4Addr::UNSPECIFIED, next_hop: to };
    for answer in answers {
        let RouteNetlinkMessage::NewRoute(message) = answer else { continue };
        for attribute in message.attributes {
            match attribute {
                RouteAttribute::Oif(index) => route.interface = index,
                RouteAttribute::PrefSource(RouteAddress::Inet(source)) => route.source = source,
                RouteAttribute::Gateway(RouteAddress::Inet(hop)) => route.next_hop = hop,
                _ => {}
            }
        }
    }
    Ok(route)
}

/// The kernel's entry for a neighbour, if it has an address in it.
fn known_neighbour(interface: u32, address: Ipv4Addr) -> Result<Option<Mac>, BypassError> {
    let all = neighbours(interface)?;
    Ok(all.into_iter().find_map(|(known, mac)| (known == address).then_some(mac)))
}

/// The neighbours of an interface whose hardware address the kernel knows.
pub(crate) fn neighbours(interface: u32) -> Result<Vec<(Ipv4Addr, Mac)>, BypassError> {
    let mut question = NeighbourMessage::default();
    question.header.family = AddressFamily::Inet;
    let answers = ask(RouteNetlinkMessage::GetNeighbour(question), NLM_F_DUMP)
        .map_err(|source| BypassError::Netlink { table: "neighbours", source })?;
    let known = answers.into_iter().filter_map(|answer| {
        let RouteNetlinkMessage::NewNeighbour(entry) = answer else { return None };
        if entry.header.ifindex != interface {
            return None;
        }
        let (mut address, mut mac) = (None, None);
        for attribute in &entry.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(one)) => {
                    address = Some(*one);
                }
                // A failed or incomplete entry has none.
                NeighbourAttribute::LinkLayerAddress(bytes) => {
                    mac = <[u8; 6]>::try_from(&bytes[..]).ok().map(Mac);
                }
                _ => {}
            }
        }
        address.zip(mac)
    });
    Ok(known.collect())
}

/// Makes the kernel ask for a neighbour, as if it had a packet for it (`ip neigh add … use`).
pub(crate) fn resolve(interface: u32, address: Ipv4Addr) -> Result<(), BypassError> {
    let mut entry = NeighbourMessage::default();
    entry.header.family = AddressFamily::Inet;
    entry.header.ifindex = interface;
    entry.header.flags = NeighbourFlags::Use;
    entry.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet(address)));
    ask(RouteNetlinkMessage::NewNeighbour(entry), NLM_F_CREATE | NLM_F_ACK)
        .map(|_| ())
        .map_err(|source| BypassError::Netlink { table: "neighbours", source })
}

/// Sends one question and collects the answers.
fn ask(question: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut message = NetlinkMessage::from(question);
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    let is_dump = flags & NLM_F_DUMP == NLM_F_DUMP;
    let mut answers = Vec::new();
    loop {
        let (bytes, _) = socket.recv_from_full()?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why.to_string()))?;
            // Each begins at a multiple of four bytes (netlink(7)).
            let length = (answer.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(16)..).unwrap_or_default();
            match answer.payload {
                NetlinkPayload::InnerMessage(one) => answers.push(one),
                NetlinkPayload::Done(_) => return Ok(answers),
                NetlinkPayload::Error(why) if why.code.is_some() => return Err(why.to_io()),
                NetlinkPayload::Error(_) => return Ok(answers),
                _ => {}
            }
        }
        if !is_dump && flags & NLM_F_ACK == 0 {
            return Ok(answers);
        }
    }
}
