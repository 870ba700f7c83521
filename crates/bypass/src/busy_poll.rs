//! Preferred busy polling: the thread that spins makes the driver look for packets, and the card's
//! interrupts wait (Documentation/networking/napi.rst and af_xdp.rst of Linux, from 5.11 on).

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Time that a call may look for packets, us. A socket of AF_XDP looks once a call, and 0 is never.
const BUSY_POLL_US: libc::c_int = 20;
/// Packets that one look may take: as many as an interrupt's.
const BUDGET: libc::c_int = 64;
/// The options in their order, each with its value.
const OPTIONS: [(libc::c_int, libc::c_int); 3] = [
    (libc::SO_PREFER_BUSY_POLL, 1),
    (libc::SO_BUSY_POLL, BUSY_POLL_US),
    (libc::SO_BUSY_POLL_BUDGET, BUDGET),
];

/// Whether a socket polls its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BusyPoll {
    /// It was not asked for.
    Off,
    /// Each receive call polls.
    On,
    /// The kernel rejects it, for this reason. Interrupts bring the packets.
    Rejected(String),
}

impl BusyPoll {
    /// Asks for it.
    pub(crate) fn ask(socket: BorrowedFd<'_>) -> BusyPoll {
        let set = |(option, value)| set(socket, option, value);
        match OPTIONS.into_iter().try_for_each(set) {
            Ok(()) => BusyPoll::On,
            Err(why) => {
                // Nothing polls with half of them. A socket that has none of them rejects this too.
                let _ = set((libc::SO_BUSY_POLL, 0));
                BusyPoll::Rejected(why.to_string())
            }
        }
    }
}

impl fmt::Display for BusyPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BusyPoll::Off => f.write_str("no busy poll"),
            BusyPoll::On => f.write_str("preferred busy poll"),
            BusyPoll::Rejected(why) => write!(f, "no preferred busy poll ({why})"),
        }
    }
}

fn set(socket: BorrowedFd<'_>, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let bytes = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until the call returns.
    let failed = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, bytes)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::frames::Frames;
    use crate::port::{Port, PortOptions, ZeroCopy};
    use crate::protocol::Protocol;
    use crate::routes::Interface;
    use host::network::{DEVICE, Networks};
    use std::net::{SocketAddrV4, UdpSocket};
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// `None`: this kernel does not have the option.
    fn get(socket: BorrowedFd<'_>, option: libc::c_int) -> Option<libc::c_int> {
        let mut value: libc::c_int = -1;
        let mut bytes = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the kernel writes at most `bytes` bytes into `value`, and their number into
        // `bytes`.
        let failed = unsafe {
            let value = (&raw mut value).cast();
            libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, &raw mut bytes)
        };
        (failed == 0).then_some(value)
    }

    /// The kernel has the options, and a port that polls receives. A veth stands for a card.
    #[test]
    fn a_port_on_a_card_polls_and_one_on_a_veth_does_not() {
        let networks = match Networks::create() {
            Ok(networks) => networks,
            Err(why) => testing::skip!(Root, "{why}"),
        };
        let options = PortOptions { queue: None, zero_copy: ZeroCopy::No };
        let open = |is_veth| {
            let open = || {
                let interface = Interface { is_veth, ..Interface::named(DEVICE).unwrap() };
                Port::open(&interface, options)
            };
            networks.exchange().within(open).unwrap()
        };
        // No kernel says the budget.
        let values = |port: &Port| {
            let socket = port.first().as_fd();
            [libc::SO_PREFER_BUSY_POLL, libc::SO_BUSY_POLL].map(|option| get(socket, option))
        };
        let port = match open(true) {
            Ok(port) => port,
            Err(why) => testing::skip!(Kernel, "{why}"),
        };
        assert!(values(&port).iter().all(|value| value.unwrap_or(0) == 0), "{port}");
        assert!(!port.to_string().contains("poll"), "{port}");
        drop(port);
        let mut port = open(false).unwrap();
        if port.to_string().contains("no preferred busy poll") {
            testing::skip!(Kernel, "{port}");
        }
        assert_eq!(values(&port), [Some(1), Some(BUSY_POLL_US)]);
        assert!(port.to_string().ends_with("copy mode, preferred busy poll"), "{port}");
        let any = SocketAddrV4::new(networks.exchange().address(), 0);
        let claim = || port.claim(Protocol::Udp, any).unwrap();
        let to = networks.exchange().within(claim).unwrap();
        let bind = || UdpSocket::bind((networks.trader().address(), 0)).unwrap();
        let socket = networks.trader().within(bind).unwrap();
        let deadline = clock::Deadline::after(Duration::from_secs(20));
        for number in 0..100_u8 {
            socket.send_to(&[number; 100], to).unwrap();
            let mut last = None;
            while !port.receive(|frame| last = frame.last().copied()) {
                assert!(!deadline.left().is_zero(), "{number} did not come");
            }
            assert_eq!(last, Some(number));
        }
    }

    #[test]
    fn a_kernel_that_rejects_it_says_why() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let said = BusyPoll::ask(file.as_fd()).to_string();
        assert!(said.starts_with("no preferred busy poll (") && said.contains("ocket"), "{said}");
    }
}
