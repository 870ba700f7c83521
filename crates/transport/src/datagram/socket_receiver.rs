//! The kernel's socket that datagrams come to.

use crate::datagram::receive_stamps::ReceiveStamps;
use crate::datagram::received::Datagram;
use crate::datagram::{DatagramError, ReceiveOptions, ask_for_stamps, drops, receiving};
use clock::Clock;
use clock::wall::Wall;
use nix::errno::Errno;
use nix::sys::socket::sockopt::RxqOvfl;
use nix::sys::socket::{MsgFlags, recvmsg, setsockopt};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A socket that datagrams come to. Never blocks; nothing is allocated on the way of a datagram.
pub(crate) struct SocketReceiver {
    socket: UdpSocket,
    clock: Clock,
    pub(crate) stamps: ReceiveStamps,
    receive_buffer_bytes: usize,
    /// As the control messages said last.
    pub(crate) dropped: u32,
    cut: u64,
}

impl SocketReceiver {
    /// Receives what is sent to `address`, or, with a group, to the group at that port. With kernel
    /// stamps it takes about 200 ms, because it reads the wall clock twice.
    ///
    /// # Errors
    /// See [`DatagramError`]. A kernel without receive stamps is not an error:
    /// [`SocketReceiver::kernel_stamps`] tells.
    pub fn bind(
        address: SocketAddr,
        options: &ReceiveOptions,
        clock: Clock,
    ) -> Result<SocketReceiver, DatagramError> {
        let (socket, receive_buffer_bytes) =
            receiving(address, options.multicast, options.receive_buffer_bytes)?;
        // Without the count of drops they show as gaps in the feed all the same.
        let _ = setsockopt(&socket, RxqOvfl, &1);
        let stamps = options.kernel_stamps && ask_for_stamps(&socket);
        Ok(SocketReceiver {
            socket,
            clock,
            stamps: ReceiveStamps::new(stamps, clock),
            receive_buffer_bytes,
            dropped: 0,
            cut: 0,
        })
    }

    /// The next datagram, if one is there, into `into`.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> Datagram {
        self.stamps.control.clear();
        let mut slices = [IoSliceMut::new(into)];
        let received = recvmsg::<()>(
            self.socket.as_raw_fd(),
            &mut slices,
            Some(&mut self.stamps.control.0),
            MsgFlags::empty(),
        );
        let read_ns = self.clock.now_ns();
        match received {
            Ok(received) => {
                self.cut += u64::from(received.flags.contains(MsgFlags::MSG_TRUNC));
                Datagram::Bytes { n: received.bytes, read_ns }
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Datagram::Empty,
            Err(errno) => Datagram::Failed(errno.into()),
        }
    }

    /// When the kernel received the latest datagram, ns on the [`Clock`]; 0: not stamped. Off the
    /// path: it decodes the control messages only now.
    pub fn kernel_ns(&mut self) -> u64 {
        let (kernel_ns, dropped) = self.stamps.decode();
        self.dropped = dropped.unwrap_or(self.dropped);
        kernel_ns
    }

    /// Where to send what shall come here.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receive buffer that the kernel gave, bytes, in its own count: twice what was asked for, if
    /// it gave that.
    pub fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    /// Source of the latest stamp: `software`, `hardware` (the card, as well; the kernel's is
    /// used), or empty.
    pub fn kernel_stamps(&self) -> &'static str {
        self.stamps.source()
    }

    /// Datagrams dropped so far because the receive buffer was full. Off the path: it asks the
    /// kernel, which otherwise reports only drops before the latest datagram.
    pub fn dropped(&self) -> u64 {
        let told = u64::from(self.dropped);
        drops::of(&self.socket).map_or(told, |asked| asked.max(told))
    }

    /// Datagrams that were longer than the buffer they were read into.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Reads the wall clock again, some microseconds: off the path, about once a second.
    pub fn refresh_wall(&mut self) {
        self.stamps.refresh_wall();
    }

    /// The wall clock that converts the kernel's stamps to our clock; `None` where there are none.
    pub fn wall(&self) -> Option<&Wall> {
        self.stamps.wall()
    }
}

/// For a thread that sleeps until something comes.
impl AsFd for SocketReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
