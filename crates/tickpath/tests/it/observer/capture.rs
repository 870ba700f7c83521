//! The packets on the loopback device of one network namespace, as a packet socket sees them.
//!
//! A socket for IPv4 alone gets each packet once, on the receiving side. The stamp is the kernel's:
//! `netif_rx` takes it inside the sender's write call, before TCP gets the packet.

use host::network::Network;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, RxqOvfl, Timestamping};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, eth, socket_with};
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The kernel keeps packets for this many bytes until they are fetched, its own overhead included.
const RECEIVE_BUFFER_BYTES: usize = 128 << 20;
/// Packets that are kept, in bytes. More is an error.
const CAPTURED_BYTES_MAX: usize = 256 << 20;
/// The longest packet of a loopback device.
const PACKET_BYTES_MAX: usize = 1 << 16;
/// A capture that nobody ends is an error.
const LASTS_MAX: Duration = Duration::from_secs(120);
/// A packet that is on its way when a capture ends arrives within this time. Where others take the
/// cores, the kernel hands packets on later than their senders end.
const ARRIVES_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks. The observer sleeps instead of waiting for the socket, so that no packet has
/// to wake it.
const PAUSE: Duration = Duration::from_millis(10);

/// Whole packets from their IPv4 header on, and when the kernel had each, ns of `CLOCK_REALTIME`.
#[derive(Default)]
pub struct Captured {
    bytes: Vec<u8>,
    /// Stamp, and where the packet ends in `bytes`.
    packets: Vec<(u64, usize)>,
}

impl Captured {
    pub fn push(&mut self, stamp_ns: u64, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.packets.push((stamp_ns, self.bytes.len()));
    }

    pub fn packets(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.packets.iter().map(|(_, end)| *end));
        starts.zip(&self.packets).map(|(start, (stamp_ns, end))| {
            (*stamp_ns, self.bytes.get(start..*end).unwrap_or_default())
        })
    }
}

/// A capture that runs in a thread of its own.
pub struct Capture {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Result<Captured, String>>,
}

impl Capture {
    /// Captures everything in `network` from now on. `is_whole` says whether packets are still on
    /// their way.
    pub fn begin(network: &Network, is_whole: fn(&Captured) -> bool) -> Result<Capture, String> {
        let socket = network.within(socket).map_err(|error| error.to_string())??;
        let ends = Arc::new(AtomicBool::new(false));
        let seen = ends.clone();
        let thread = std::thread::spawn(move || collect(&socket, &seen, is_whole));
        Ok(Capture { ends, thread })
    }

    /// Everything captured, once it is whole or nothing more is to be expected; an error if a
    /// packet was lost, cut, or not stamped.
    pub fn end(self) -> Result<Captured, String> {
        self.ends.store(true, Ordering::Release);
        self.thread.join().map_err(|_| "the capturing thread panicked".to_owned())?
    }
}

fn socket() -> Result<OwnedFd, String> {
    let failed = |what| move |errno: Errno| format!("{what}: {errno}");
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, Some(eth::IP))
        .map_err(|errno| format!("a packet socket needs CAP_NET_RAW: {errno}"))?;
    if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER_BYTES).is_err() {
        setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER_BYTES).map_err(failed("SO_RCVBUF"))?;
    }
    setsockopt(&socket, RxqOvfl, &1).map_err(failed("SO_RXQ_OVFL"))?;
    // SO_TIMESTAMPNS would stamp a packet that has no stamp when it is fetched.
    let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE;
    setsockopt(&socket, Timestamping, &flags).map_err(failed("SO_TIMESTAMPING"))?;
    Ok(socket)
}

fn collect(
    socket: &OwnedFd,
    ends: &AtomicBool,
    is_whole: fn(&Captured) -> bool,
) -> Result<Captured, String> {
    let deadline = Instant::now() + LASTS_MAX;
    let mut ended_at = None;
    let mut captured = Captured::default();
    let mut packet = vec![0; PACKET_BYTES_MAX];
    loop {
        // Read first: what came before the end is fetched after it.
        if ends.load(Ordering::Acquire) {
            ended_at.get_or_insert_with(Instant::now);
        }
        while fetch(socket, &mut packet, &mut captured)? {
            if captured.bytes.len() > CAPTURED_BYTES_MAX {
                return Err(format!("more than {CAPTURED_BYTES_MAX} bytes: make the run shorter"));
            }
        }
        if let Some(at) = ended_at {
            if at.elapsed() > ARRIVES_WITHIN || is_whole(&captured) {
                return Ok(captured);
            }
        } else if Instant::now() > deadline {
            return Err(format!("nobody ended the capture within {LASTS_MAX:?}"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Fetches a packet; false if there is none.
fn fetch(socket: &OwnedFd, into: &mut [u8], captured: &mut Captured) -> Result<bool, String> {
    let mut control = cmsg_space!(Timestamps, u32);
    let mut slices = [IoSliceMut::new(into)];
    let fd = socket.as_raw_fd();
    let (length, stamp_ns) =
        match recvmsg::<()>(fd, &mut slices, Some(&mut control), MsgFlags::empty()) {
            Ok(message) => {
                if message.flags.intersects(MsgFlags::MSG_TRUNC | MsgFlags::MSG_CTRUNC) {
                    return Err(format!("a packet or its stamp was cut: {:?}", message.flags));
                }
                (message.bytes, stamp(message.cmsgs().map_err(|errno| errno.to_string())?)?)
            }
            Err(Errno::EAGAIN) => return Ok(false),
            Err(Errno::EINTR) => return Ok(true),
            Err(errno) => return Err(format!("cannot fetch a packet: {errno}")),
        };
    captured.push(stamp_ns, into.get(..length).unwrap_or_default());
    Ok(true)
}

/// The kernel's stamp. It reports drops with the next packet that found room.
fn stamp(messages: impl Iterator<Item = ControlMessageOwned>) -> Result<u64, String> {
    let mut stamp_ns = None;
    for message in messages {
        match message {
            ControlMessageOwned::RxqOvfl(dropped) if dropped > 0 => {
                return Err(format!("the kernel dropped {dropped} packets: void"));
            }
            ControlMessageOwned::ScmTimestampsns(stamps) => {
                stamp_ns = u64::try_from(Duration::from(stamps.system).as_nanos()).ok();
            }
            _ => {}
        }
    }
    stamp_ns.filter(|ns| *ns > 0).ok_or_else(|| "the kernel did not stamp a packet".to_owned())
}
