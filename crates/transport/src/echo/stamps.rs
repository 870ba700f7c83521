//! The stamps in an echo's replies over datagrams: its own, and the kernel's where a client asks
//! for them.

use crate::datagram::Control;
use crate::echo::HEADER_BYTES;
use crate::stamps::{self, KernelStamps, Segments};
use clock::Clock;
use clock::wall::WallLine;
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

/// Bytes of the shortest reply that has room for the kernel's stamps.
pub const KERNEL_STAMPED_BYTES: usize = HEADER_BYTES + 6 * 8;

/// In the first byte after a request's header: the kernel shall stamp the reply on its way out.
const STAMP_REPLY: u8 = 1;

/// The count and the stamps in the body of a stamped reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoStamps {
    /// Stamped messages received from this sender so far, this one included.
    pub received: u64,
    /// When the receive call returned, ns on the echo's clock.
    pub received_ns: u64,
    /// Just before the send call, ns on the echo's clock.
    pub sent_ns: u64,
    /// When the echo's kernel had the message, ns on the echo's clock.
    pub kernel_received_ns: Option<u64>,
    /// An earlier reply to this sender, and when the echo's kernel handed it to the driver: a reply
    /// can't carry its own.
    pub left: Option<ReplyLeft>,
}

/// When a reply left the echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLeft {
    /// Its sequence.
    pub sequence: u64,
    /// When the driver got it, ns on the echo's clock.
    pub driver_ns: u64,
}

impl EchoStamps {
    /// Reads the body of a stamped reply; `None` if it is too short to have one. One without room
    /// for the kernel's stamps has none, nor does that of an older echo.
    pub fn decode(body: &[u8]) -> Option<EchoStamps> {
        let word = |index: usize| {
            let bytes = body.get(8 * index..8 * index + 8)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let stamp = |index| word(index).filter(|ns| *ns > 0);
        Some(EchoStamps {
            received: word(0)?,
            received_ns: word(1)?,
            sent_ns: word(2)?,
            kernel_received_ns: stamp(3),
            left: word(4).zip(stamp(5)).map(|(sequence, ns)| ReplyLeft { sequence, driver_ns: ns }),
        })
    }

    /// Into the body of a reply, as far as there is room.
    pub(super) fn encode(&self, body: &mut [u8]) {
        let left = self.left.unwrap_or(ReplyLeft { sequence: 0, driver_ns: 0 });
        let kernel_ns = self.kernel_received_ns.unwrap_or(0);
        let words = [self.received, self.received_ns, self.sent_ns, kernel_ns];
        let words = words.into_iter().chain([left.sequence, left.driver_ns]);
        for (place, word) in body.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Has the kernel stamp the reply to this encoded request on its way out, if the request has room
/// to say so. Echoes that don't know it ignore it.
pub fn ask_for_departure(request: &mut [u8]) {
    request.get_mut(HEADER_BYTES).into_iter().for_each(|byte| *byte = STAMP_REPLY);
}

/// Whether this request asks for that.
pub(super) fn asks_for_departure(request: &[u8]) -> bool {
    request.get(HEADER_BYTES) == Some(&STAMP_REPLY)
}

/// The kernel's stamps of one socket, converted to the echo's clock.
pub(super) struct KernelSide {
    line: Segments,
    /// Beside the latest datagram.
    control: Control,
    /// Replies that the kernel was asked to stamp.
    stamped: u32,
}

impl KernelSide {
    /// Asks the kernel for stamps; `None` if it has none. Takes 200 ms.
    pub(super) fn start(socket: &UdpSocket, clock: Clock) -> Option<KernelSide> {
        stamps::ask(socket, false).ok()?;
        Some(KernelSide { line: Segments::new(clock), control: Control::none(), stamped: 0 })
    }

    /// Reads the wall clock again, if it is time.
    #[inline]
    pub(super) fn refresh(&mut self, now_ns: u64) {
        self.line.refresh(now_ns);
    }

    /// Reads it now. Returns how good the line was until then.
    pub(super) fn check(&mut self) -> WallLine {
        self.line.check()
    }

    /// The next datagram and its sender.
    pub(super) fn receive(
        &mut self,
        socket: &UdpSocket,
        into: &mut [u8],
    ) -> io::Result<(usize, SocketAddr)> {
        self.control.clear();
        let room = Some(&mut self.control.0[..]);
        let mut slices = [IoSliceMut::new(into)];
        let received =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, room, MsgFlags::empty())?;
        let from = received.address.as_ref().and_then(address_of);
        Ok((received.bytes, from.ok_or(io::ErrorKind::InvalidData)?))
    }

    /// When the kernel had the latest datagram, ns on the echo's clock.
    pub(super) fn received_ns(&self) -> Option<u64> {
        let mut stamps = KernelStamps::default();
        stamps.answered(&self.control);
        stamps.received_ns.map(|wall_ns| self.line.wall().clock_ns(wall_ns))
    }

    /// Sends a reply that the kernel stamps. Returns when the driver got it, ns on the echo's
    /// clock; `None` if that stamp is not there when the call returns.
    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        bytes: &[u8],
        to: SocketAddr,
    ) -> io::Result<Option<u64>> {
        stamps::ask(socket, true)?;
        let sent = socket.send_to(bytes, to);
        stamps::ask(socket, false)?;
        sent?;
        let mut stamps = KernelStamps::default();
        stamps.sent(socket, self.stamped);
        self.stamped = self.stamped.wrapping_add(1);
        Ok(stamps.driver_ns.map(|wall_ns| self.line.wall().clock_ns(wall_ns)))
    }
}

fn address_of(from: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = from.as_sockaddr_in().map(|from| SocketAddr::V4(SocketAddrV4::from(*from)));
    v4.or_else(|| from.as_sockaddr_in6().map(|from| SocketAddr::V6(SocketAddrV6::from(*from))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_back_as_they_were_written_and_short_bodies_have_fewer() {
        let left = Some(ReplyLeft { sequence: 9, driver_ns: 5 });
        let all = EchoStamps {
            received: 3,
            received_ns: 20,
            sent_ns: 30,
            kernel_received_ns: Some(10),
            left,
        };
        let mut body = [0; KERNEL_STAMPED_BYTES - HEADER_BYTES];
        all.encode(&mut body);
        assert_eq!(EchoStamps::decode(&body), Some(all));
        let own = EchoStamps { kernel_received_ns: None, left: None, ..all };
        // An older echo's, which has zeros there, and a short one.
        own.encode(&mut body);
        assert_eq!(EchoStamps::decode(&body), Some(own));
        assert_eq!(EchoStamps::decode(&body[..24]), Some(own));
        let with_arrival = EchoStamps { left: None, ..all };
        all.encode(&mut body);
        assert_eq!(EchoStamps::decode(&body[..47]), Some(with_arrival));
        assert_eq!(EchoStamps::decode(&body[..23]), None);
    }

    #[test]
    fn only_a_request_with_a_body_can_ask_for_a_departure() {
        let mut request = [0; HEADER_BYTES + 8];
        assert!(!asks_for_departure(&request));
        ask_for_departure(&mut request);
        assert!(asks_for_departure(&request));
        ask_for_departure(&mut request[..HEADER_BYTES]);
        assert!(!asks_for_departure(&request[..HEADER_BYTES]));
    }
}
