//! Questions to a family of generic netlink
//! (Documentation/userspace-api/netlink/intro.rst): what neither files nor `ioctl` say.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, bind, recv, send, socket};

/// Bytes before a message's attributes: `struct nlmsghdr` and `struct genlmsghdr`.
const HEADS_BYTES: usize = 16 + 4;
/// Where a message's attributes or its error begin.
const ERROR_AT: usize = 16;
/// Kinds of messages: an error (0: none), the end of a list.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// The family that knows all families.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
/// Flags in the kind of an attribute: nested, in network byte order.
const KIND: u16 = 0x3fff;
const BUFFER_BYTES: usize = 64 << 10;
/// The kernel answers at once; a sandbox may not.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// A family, and a socket to ask it.
pub(crate) struct Family {
    socket: OwnedFd,
    id: u16,
}

impl Family {
    /// The family of that name.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has none of that name; or if a sandbox forbids netlink.
    pub(crate) fn open(name: &str) -> io::Result<Family> {
        let socket = socket(AddressFamily::NETLINK, SocketType::RAW, Some(GENERIC))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        let controller = Family { socket, id: CONTROLLER };
        let text = [name.as_bytes(), &[0]].concat();
        let answers = controller.ask(GET_FAMILY, &[(FAMILY_NAME, &text)], false)?;
        let id = answers.first().and_then(|answer| number(answer, FAMILY_ID));
        let id = id.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Family { id: id as u16, ..controller })
    }

    /// Asks for one thing, or for a list. Gives the attributes of each answer.
    ///
    /// # Errors
    /// The family's, such as `EOPNOTSUPP`.
    pub(crate) fn ask(
        &self,
        command: u8,
        attributes: &[(u16, &[u8])],
        is_list: bool,
    ) -> io::Result<Vec<Vec<u8>>> {
        let flags = REQUEST | if is_list { DUMP } else { 0 };
        send(&self.socket, &message(self.id, flags, command, attributes), SendFlags::empty())?;
        let mut answers = Vec::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let (n, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let ended = read(&buffer[..n], &mut answers)?;
            if ended || !is_list {
                return Ok(answers);
            }
        }
    }
}

/// An attribute with its padding.
pub(crate) fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = (4 + content.len()) as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(family: u16, flags: u16, command: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    const VERSION: u8 = 1;
    let attributes: Vec<u8> =
        attributes.iter().flat_map(|(kind, content)| attribute(*kind, content)).collect();
    let length = (HEADS_BYTES + attributes.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend([family.to_ne_bytes(), flags.to_ne_bytes()].concat());
    // The number of the message, and the port, which the kernel sets.
    bytes.extend([0; 8]);
    bytes.extend([command, VERSION, 0, 0]);
    bytes.extend(attributes);
    bytes
}

/// Adds the attributes of each message to `answers`. Returns whether the list is over.
fn read(mut bytes: &[u8], answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let cut = || io::Error::from(io::ErrorKind::InvalidData);
    while !bytes.is_empty() {
        let head = bytes.first_chunk::<8>().ok_or_else(cut)?;
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let message = bytes.get(..length).filter(|_| length >= ERROR_AT).ok_or_else(cut)?;
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let code = message[ERROR_AT..].first_chunk().ok_or_else(cut)?;
                return match i32::from_ne_bytes(*code) {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                };
            }
            _ => answers.push(message.get(HEADS_BYTES..).ok_or_else(cut)?.to_vec()),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The content of an attribute among others; `None` if it is missing or cut.
pub(crate) fn content(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let head = attributes.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & KIND;
        let content = attributes.get(4..length)?;
        if kind == wanted {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// An attribute that is a number of 1 to 8 bytes.
pub(crate) fn number(attributes: &[u8], wanted: u16) -> Option<u64> {
    let content = content(attributes, wanted)?;
    Some(match content.len() {
        1 => content[0].into(),
        2 => u16::from_ne_bytes(content.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(content.try_into().ok()?).into(),
        8 => u64::from_ne_bytes(content.try_into().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_controller_knows_itself_and_no_nonsense() {
        let Ok(controller) = Family::open("nlctrl") else {
            testing::skip!(Kernel, "generic netlink");
        };
        assert_eq!(controller.id, CONTROLLER);
        let all = controller.ask(GET_FAMILY, &[], true).unwrap();
        let named = |answer: &Vec<u8>| content(answer, FAMILY_NAME).map(<[u8]>::to_vec);
        assert!(all.iter().filter_map(named).any(|name| name == b"nlctrl\0"), "{}", all.len());
        let missing = Family::open("tickpath-none").err().unwrap();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn numbers_have_any_width_and_a_cut_attribute_is_none() {
        let all = [
            attribute(1, &[7]),
            attribute(2, &300u16.to_ne_bytes()),
            attribute(0x8003, &70_000u32.to_ne_bytes()),
            attribute(4, &(1u64 << 40).to_ne_bytes()),
            attribute(5, &[1, 2, 3]),
        ]
        .concat();
        let numbers = [1, 2, 3, 4, 5, 6].map(|kind| number(&all, kind));
        assert_eq!(numbers, [Some(7), Some(300), Some(70_000), Some(1 << 40), None, None]);
        assert_eq!(number(&all[..all.len() - 2], 5), None);
        assert_eq!(content(&[0, 0, 1, 0], 1), None, "an attribute without its own head");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_rejected(bytes: Vec<u8>, wanted: u16) {
            let mut answers = Vec::new();
            let _ = read(&bytes, &mut answers);
            let _ = number(&bytes, wanted);
        }

        #[test]
        fn a_written_message_is_read(kind in 0_u16..0x3fff, content: [u8; 5]) {
            let written = message(40, REQUEST, 1, &[(kind, &content)]);
            let mut answers = Vec::new();
            prop_assert!(!read(&written, &mut answers).unwrap());
            prop_assert_eq!(super::content(&answers[0], kind), Some(&content[..]));
        }
    }
}
