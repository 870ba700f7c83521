//! A received datagram that is sent on in the frame that it came in.
//!
//! The copies to other receivers are written from it, too. So the content is not copied out of
//! shared memory, and the last copy costs its headers only.

use crate::any::RealDevice;
use crate::broadcast::{Content, ReceiverHeaders};
use crate::datagrams::Datagrams;
use crate::frame::{self, Checksums, UDP_HEADERS_BYTES};
use crate::queue::ReceivedFrame;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// A datagram in its frame, as long as it may be sent on.
pub struct DatagramFrame<'a, 'b> {
    received: &'a mut ReceivedFrame<'b>,
    from: SocketAddrV4,
    content_bytes: usize,
    no_room: u64,
}

impl Datagrams<RealDevice> {
    /// Passes the next datagram to `take`, in the frame that it came in; false if there is none
    /// now, or the device is not AF_XDP. The frames that `take` sent leave with
    /// [`Datagrams::flush`] at the latest.
    #[inline]
    pub fn forward(&mut self, take: impl FnOnce(&mut DatagramFrame<'_, '_>)) -> bool {
        let (address, checksums) = self.own();
        let mut take = Some(take);
        loop {
            let mut found = None;
            let is_there = self.device().forward(|received| {
                let Some((from, content_bytes)) = place(received.bytes(), address, checksums)
                else {
                    return;
                };
                let mut forwarded = DatagramFrame { received, from, content_bytes, no_room: 0 };
                take.take().into_iter().for_each(|take| take(&mut forwarded));
                found = Some(forwarded.no_room);
            });
            match (is_there, found) {
                (false, _) => return false,
                (true, Some(no_room)) => {
                    self.add_no_room(no_room);
                    return true;
                }
                (true, None) => self.reject(),
            }
        }
    }
}

/// The sender of a datagram for `address`, and the length of its content. That stands right behind
/// headers without options, or the datagram is none that can be sent on in place.
#[inline]
fn place(bytes: &[u8], address: Ipv4Addr, checksums: Checksums) -> Option<(SocketAddrV4, usize)> {
    let packet = frame::packet(bytes).ok()?;
    let (source, _, content) = frame::datagram(packet, checksums).ok()?;
    let start = content.as_ptr() as usize - bytes.as_ptr() as usize;
    let is_plain = start == UDP_HEADERS_BYTES && packet.destination == address;
    is_plain.then(|| (SocketAddrV4::new(packet.source, source), content.len()))
}

impl DatagramFrame<'_, '_> {
    /// The sender.
    pub fn from(&self) -> SocketAddrV4 {
        self.from
    }

    /// The content, which may be changed before it is sent on.
    #[inline]
    pub fn content(&mut self) -> &mut [u8] {
        &mut self.received.bytes()[UDP_HEADERS_BYTES..UDP_HEADERS_BYTES + self.content_bytes]
    }

    /// The content's part of a checksum: sum it up once for all copies, after the last change.
    #[inline]
    pub fn sum(&mut self) -> u16 {
        Content::new(self.content()).sum()
    }

    /// Queues a copy for a receiver. `sum` is that of [`DatagramFrame::sum`].
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; or if the interface is gone.
    #[inline]
    pub fn send_copy(&mut self, to: &ReceiverHeaders, sum: u16) -> io::Result<()> {
        let bytes = UDP_HEADERS_BYTES + self.content_bytes;
        self.queue(|received| {
            received.copy(bytes, |frame, original| {
                frame[UDP_HEADERS_BYTES..].copy_from_slice(&original[UDP_HEADERS_BYTES..bytes]);
                to.write_headers(frame, sum);
            })
        })
    }

    /// Queues the frame itself for a receiver, which must be the last one.
    ///
    /// # Errors
    /// As [`DatagramFrame::send_copy`].
    #[inline]
    pub fn send(&mut self, to: &ReceiverHeaders, sum: u16) -> io::Result<()> {
        let bytes = UDP_HEADERS_BYTES + self.content_bytes;
        self.queue(|received| received.send(bytes, |frame| to.write_headers(frame, sum)))
    }

    /// Writes a frame, if need be once more after those that wait have made room.
    #[inline]
    fn queue(&mut self, mut write: impl FnMut(&mut ReceivedFrame<'_>) -> bool) -> io::Result<()> {
        for _ in 0..2 {
            if write(self.received) {
                return Ok(());
            }
            self.received.flush()?;
        }
        self.no_room += 1;
        Err(io::ErrorKind::WouldBlock.into())
    }
}
