//! A datagram on its way through the replicator, with room for a header in front of it.

use crate::gre::{self, HEADERS_BYTES_MAX, NotTaken};
use crate::tunnel::{self, HEADER_BYTES};
use std::net::Ipv4Addr;
use transport::datagram::DATAGRAM_BYTES_MAX;

/// Treatment of the tunnel header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tunnel {
    /// Datagrams are copied as they are, whatever they contain.
    #[default]
    None,
    /// They must have one. It stays, and the copies are stamped.
    Keep,
    /// It is put in front, with the group where they arrive.
    Add,
    /// They must have one. The copies have none.
    Remove,
}

/// Why a datagram is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reject {
    NoHeader,
    TooLong,
}

/// The buffer of one datagram.
pub(crate) struct Frame {
    tunnel: Tunnel,
    header: [u8; HEADER_BYTES],
    bytes: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(tunnel: Tunnel, group: Ipv4Addr) -> Frame {
        let bytes = vec![0; HEADER_BYTES + HEADERS_BYTES_MAX + DATAGRAM_BYTES_MAX];
        Frame { tunnel, header: tunnel::header(group), bytes }
    }

    /// Where a datagram is received.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[HEADER_BYTES..]
    }

    /// The datagram as it came.
    pub(crate) fn received(&self, length: usize) -> &[u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + length]
    }

    /// Takes a packet of GRE for the datagram in it. Returns that one's length.
    pub(crate) fn unwrap(&mut self, length: usize, to: gre::Tunnel) -> Result<usize, NotTaken> {
        let (_, content) = gre::decode(self.received(length), to)?;
        let (start, bytes) = (HEADER_BYTES + content.start, content.len());
        self.bytes.copy_within(start..start + bytes, HEADER_BYTES);
        Ok(bytes)
    }

    /// Its copy. `wall_ns` reads the wall clock, twice if the copy is stamped: now, which is right
    /// behind the receive call, and when the copy is ready.
    pub(crate) fn copy(
        &mut self,
        length: usize,
        wall_ns: impl Fn() -> u64,
    ) -> Result<&[u8], Reject> {
        let end = HEADER_BYTES + length;
        match self.tunnel {
            Tunnel::None => Ok(&self.bytes[HEADER_BYTES..end]),
            Tunnel::Add if end > DATAGRAM_BYTES_MAX => Err(Reject::TooLong),
            Tunnel::Add => {
                self.bytes[..HEADER_BYTES].copy_from_slice(&self.header);
                Ok(&self.bytes[..end])
            }
            Tunnel::Keep | Tunnel::Remove => {
                let datagram = &mut self.bytes[HEADER_BYTES..end];
                if self.tunnel == Tunnel::Remove {
                    tunnel::group(datagram).ok_or(Reject::NoHeader)?;
                    return Ok(&datagram[HEADER_BYTES..]);
                }
                stamp(datagram, wall_ns)?;
                Ok(datagram)
            }
        }
    }
}

/// Stamps a datagram with a tunnel header, as [`Frame::copy`] does.
pub(crate) fn stamp(datagram: &mut [u8], wall_ns: impl Fn() -> u64) -> Result<(), Reject> {
    let received_ns = wall_ns();
    tunnel::group(datagram).ok_or(Reject::NoHeader)?;
    tunnel::stamp_received(datagram, received_ns);
    tunnel::stamp_resent(datagram, wall_ns());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::{STAMPED_BYTES, Stamps};

    const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

    fn copied(tunnel: Tunnel, datagram: &[u8]) -> Result<Vec<u8>, Reject> {
        let mut frame = Frame::new(tunnel, GROUP);
        frame.room()[..datagram.len()].copy_from_slice(datagram);
        let times = std::cell::Cell::new(100);
        let tick = || times.replace(times.get() + 1);
        frame.copy(datagram.len(), tick).map(<[u8]>::to_vec)
    }

    #[test]
    fn a_header_is_kept_added_or_removed() {
        let plain = b"payload".to_vec();
        let tunnelled = [&tunnel::header(GROUP)[..], &plain].concat();
        for (tunnel, datagram, expected) in [
            (Tunnel::None, &plain, Ok(&plain)),
            (Tunnel::None, &tunnelled, Ok(&tunnelled)),
            (Tunnel::Keep, &tunnelled, Ok(&tunnelled)),
            (Tunnel::Keep, &plain, Err(Reject::NoHeader)),
            (Tunnel::Add, &plain, Ok(&tunnelled)),
            (Tunnel::Remove, &tunnelled, Ok(&plain)),
            (Tunnel::Remove, &plain, Err(Reject::NoHeader)),
        ] {
            assert_eq!(copied(tunnel, datagram), expected.cloned(), "{tunnel:?}");
        }
        let longest = vec![0; DATAGRAM_BYTES_MAX];
        assert_eq!(copied(Tunnel::None, &longest), Ok(longest.clone()));
        assert_eq!(copied(Tunnel::Add, &longest), Err(Reject::TooLong));
    }

    #[test]
    fn a_kept_header_carries_both_stamps() {
        let mut datagram = [0; STAMPED_BYTES];
        let stamps = Stamps { sequence: 3, sent_ns: 50, ..Stamps::default() };
        stamps.encode(GROUP, &mut datagram);
        let copy = copied(Tunnel::Keep, &datagram).unwrap();
        let expected = Stamps { received_ns: 100, resent_ns: 101, ..stamps };
        assert_eq!(Stamps::decode(&copy), Some(expected));
        // Copied as it is, it is not stamped.
        assert_eq!(copied(Tunnel::None, &datagram).unwrap(), datagram);
    }
}
