//! Attributes of a network interface that are in no file: interrupt moderation, rings, channels,
//! offloads. The numbers come from `include/uapi/linux/ethtool.h`.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::netdev;

/// Longest name of an interface, including its closing zero.
const NAME_BYTES: usize = libc::IFNAMSIZ;

/// How to read and set an attribute: the calls to get and set, the length of their structure in
/// words (the first is the call's number), and the attribute's word.
struct Attribute {
    name: &'static str,
    get: u32,
    /// `None` for a limit of the driver, which is read-only.
    set: Option<u32>,
    words: usize,
    word: usize,
    /// One bit of the word.
    bit: Option<u32>,
}

const fn field(
    name: &'static str,
    get: u32,
    set: Option<u32>,
    words: usize,
    word: usize,
) -> Attribute {
    Attribute { name, get, set, words, word, bit: None }
}

const fn coalesce(name: &'static str, word: usize) -> Attribute {
    field(name, 0x0e, Some(0x0f), 23, word)
}

const fn ring(name: &'static str, word: usize, is_limit: bool) -> Attribute {
    field(name, 0x10, if is_limit { None } else { Some(0x11) }, 9, word)
}

const fn channel(name: &'static str, word: usize, is_limit: bool) -> Attribute {
    field(name, 0x3c, if is_limit { None } else { Some(0x3d) }, 9, word)
}

const fn flag(name: &'static str, bit: u32) -> Attribute {
    Attribute { bit: Some(bit), ..field(name, 0x25, Some(0x26), 2, 1) }
}

const ATTRIBUTES: [Attribute; 19] = [
    coalesce("rx-usecs", 1),
    coalesce("tx-usecs", 5),
    coalesce("adaptive-rx", 10),
    coalesce("adaptive-tx", 11),
    ring("rx-max", 1, true),
    ring("tx-max", 4, true),
    ring("rx", 5, false),
    ring("tx", 8, false),
    channel("rx-channels-max", 1, true),
    channel("tx-channels-max", 2, true),
    channel("combined-max", 4, true),
    channel("rx-channels", 5, false),
    channel("tx-channels", 6, false),
    channel("combined", 8, false),
    field("tso", 0x1e, Some(0x1f), 2, 1),
    field("gso", 0x23, Some(0x24), 2, 1),
    field("gro", 0x2b, Some(0x2c), 2, 1),
    flag("lro", 1 << 15),
    flag("ntuple", 1 << 27),
];

/// Attributes that netlink tells and nobody can set: whether the driver pushes packets into the
/// device, whether it has AF_XDP without copies, and the number of receive queues with a socket of
/// AF_XDP.
const TOLD: [&str; 3] = ["tx-push", "zero-copy", "af-xdp-queues"];

/// Names of all attributes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ATTRIBUTES.iter().map(|attribute| attribute.name).chain(TOLD)
}

/// One of [`TOLD`]; `None` if the driver or the kernel lacks it.
fn told(nic: &str, name: &str) -> io::Result<Option<u32>> {
    if name == TOLD[0] {
        return Ok(netdev::pushes(nic)?.map(u32::from));
    }
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let index = name_to_index(&socket, nic)?;
    // Older kernels lack the family, or parts of it.
    let Ok(af_xdp) = netdev::af_xdp(index) else { return Ok(None) };
    Ok(Some(match name == TOLD[1] {
        true => af_xdp.has_zero_copy.into(),
        false => af_xdp.queues.len() as u32,
    }))
}

/// An attribute's value; `None` if the driver lacks it.
///
/// # Errors
/// If the interface or the attribute does not exist.
pub fn get(nic: &str, name: &str) -> io::Result<Option<u32>> {
    if TOLD.contains(&name) {
        return told(nic, name);
    }
    let attribute = attribute(name)?;
    match words(nic, attribute) {
        Ok(words) => Ok(Some(match attribute.bit {
            Some(bit) => u32::from(words[attribute.word] & bit != 0),
            None => words[attribute.word],
        })),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sets an attribute and keeps the others of its structure.
///
/// # Errors
/// Errors of the driver: EOPNOTSUPP, EINVAL, EPERM.
pub fn set(nic: &str, name: &str, value: u32) -> io::Result<()> {
    if TOLD.contains(&name) {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let attribute = attribute(name)?;
    let Some(set) = attribute.set else {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    };
    let mut words = words(nic, attribute)?;
    let word = &mut words[attribute.word];
    *word = match attribute.bit {
        Some(bit) if value == 0 => *word & !bit,
        Some(bit) => *word | bit,
        None => value,
    };
    words[0] = set;
    call(nic, &mut words)
}

fn attribute(name: &str) -> io::Result<&'static Attribute> {
    let known = ATTRIBUTES.iter().find(|attribute| attribute.name == name);
    known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no attribute {name}")))
}

fn words(nic: &str, attribute: &Attribute) -> io::Result<Vec<u32>> {
    let mut words = vec![0; attribute.words];
    words[0] = attribute.get;
    call(nic, &mut words)?;
    Ok(words)
}

fn call(nic: &str, words: &mut [u32]) -> io::Result<()> {
    if nic.len() >= NAME_BYTES {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut name = [0; NAME_BYTES];
    for (to, from) in name.iter_mut().zip(nic.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: words.as_mut_ptr().cast() },
    };
    // SAFETY: the request outlives the call and points to as many words as the structure of the
    // call in its first word has (see `ATTRIBUTES`); the kernel reads and writes no more.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_offloads_and_no_rings() {
        let tso = match get("lo", "tso") {
            // An emulator of another processor supports few of these calls.
            Err(error)
                if [Some(libc::ENOTTY), Some(libc::ENOSYS)].contains(&error.raw_os_error()) =>
            {
                testing::skip!(Kernel, "ethtool's calls: {error}");
            }
            tso => tso.unwrap().unwrap(),
        };
        assert!(tso <= 1, "{tso}");
        assert_eq!(get("lo", "rx").unwrap(), None);
        assert!(get("lo", "speed-of-light").is_err());
        assert!(get("no-such-interface", "tso").is_err());
        assert!(get("none", "tso").is_err());
        let limit = set("lo", "rx-max", 1).unwrap_err();
        assert_eq!(limit.raw_os_error(), Some(libc::EOPNOTSUPP));
    }
}
