//! Facts of network interfaces that netlink has: XDP, queues with AF_XDP sockets, LLQ. The
//! numbers come from `include/uapi/linux/netdev.h` and `ethtool_netlink.h`.

use std::io;

use crate::generic_netlink::{Family, attribute, content, number};

const NETDEV: &str = "netdev";
const DEVICE_GET: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;
/// The driver has AF_XDP without copies.
const ZERO_COPY: u64 = 8;
const QUEUE_GET: u8 = 10;
const QUEUE_ID: u16 = 1;
const QUEUE_INDEX: u16 = 2;
const QUEUE_TYPE: u16 = 3;
const QUEUE_SOCKET: u16 = 7;
const RECEIVES: u64 = 0;

const ETHTOOL: &str = "ethtool";
const RINGS_GET: u8 = 15;
/// The kernel rejects a nested attribute without this flag.
const NESTED: u16 = 0x8000;
const HEADER: u16 = 1 | NESTED;
const HEADER_NAME: u16 = 2;
const TX_PUSH: u16 = 13;

/// AF_XDP on an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfXdp {
    /// Whether the driver can do without copies.
    pub has_zero_copy: bool,
    /// Receive queues with a socket of AF_XDP, in any mode. Kernels before 6.14 don't say it, so an
    /// empty list means none only from then on.
    pub queues: Vec<u32>,
}

/// AF_XDP on an interface; `index`: its number.
///
/// # Errors
/// If the kernel (before 6.8) doesn't say, or there is no such interface.
pub fn af_xdp(index: u32) -> io::Result<AfXdp> {
    let family = Family::open(NETDEV)?;
    let index = index.to_ne_bytes();
    let device = family.ask(DEVICE_GET, &[(DEVICE_INDEX, &index)], false)?;
    let features = device.first().and_then(|answer| number(answer, DEVICE_XDP_FEATURES));
    let features = features.ok_or(io::ErrorKind::Unsupported)?;
    let answers = family.ask(QUEUE_GET, &[(QUEUE_INDEX, &index)], true)?;
    let receives = |answer: &&Vec<u8>| number(answer, QUEUE_TYPE) == Some(RECEIVES);
    let with_socket = answers.iter().filter(receives).filter_map(|answer| {
        content(answer, QUEUE_SOCKET)?;
        number(answer, QUEUE_ID).map(|id| id as u32)
    });
    Ok(AfXdp { has_zero_copy: features & ZERO_COPY > 0, queues: with_socket.collect() })
}

/// Whether an interface's driver pushes packets into the device's memory (`TX Push` of
/// `ethtool -g`; with ENA: LLQ). `None`: the driver or the kernel doesn't say.
///
/// # Errors
/// If there is no such interface, or netlink fails.
pub fn pushes(nic: &str) -> io::Result<Option<bool>> {
    let name = attribute(HEADER_NAME, &[nic.as_bytes(), &[0]].concat());
    let answers =
        Family::open(ETHTOOL).and_then(|family| family.ask(RINGS_GET, &[(HEADER, &name)], false));
    match answers {
        Ok(answers) => {
            let push = answers.first().and_then(|answer| number(answer, TX_PUSH));
            Ok(push.map(|push| push > 0))
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOENT)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loopback has no rings, and no driver with zero-copy.
    #[test]
    fn loopback_pushes_nothing_and_has_no_socket() {
        if let Err(why) = Family::open(ETHTOOL) {
            testing::skip!(Kernel, "{why}");
        }
        assert_eq!(pushes("lo").unwrap(), None);
        assert_eq!(pushes("tickpath9").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        match af_xdp(1) {
            Ok(found) => assert_eq!(found, AfXdp::default()),
            Err(why) => testing::skip!(Kernel, "{why}"),
        }
        assert!(af_xdp(u32::MAX >> 1).is_err());
    }
}
