//! Why a stack below the kernel can't run here, and what to try.

use rustix::io::Errno;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// A port, a flow or a route that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BypassError {
    /// No interface has that name or address.
    #[error("no network interface has the {kind} {wanted}; `ip -4 address` lists them")]
    NoInterface {
        /// "name" or "address".
        kind: &'static str,
        /// As asked.
        wanted: String,
    },
    /// Its frames are longer than those of the shared memory.
    #[error(
        "the MTU of {interface} is {mtu} bytes, and this backend takes at most {max}: \
         run `ip link set dev {interface} mtu {max}`"
    )]
    Mtu {
        /// Name of the interface.
        interface: String,
        /// Its MTU, bytes.
        mtu: u32,
        /// The limit, bytes.
        max: u32,
    },
    /// More queues than a port has.
    #[error(
        "{interface} has {queues} receive queues, and a port takes at most {max}: \
         run `ethtool -L {interface} combined {max}`, or name one queue and steer the flows to it"
    )]
    Queues {
        /// Name of the interface.
        interface: String,
        /// Its receive queues.
        queues: u32,
        /// The limit.
        max: u32,
    },
    /// The chosen queue is not there.
    #[error(
        "{interface} has no receive queue {queue}: the last one is {last}; choose 0 to {last}, or \
         add queues with `ethtool -L {interface} combined N`"
    )]
    NoQueue {
        /// Name of the interface.
        interface: String,
        /// As asked.
        queue: u32,
        /// The number of the last one.
        last: u32,
    },
    /// A step of opening a port failed.
    #[error("AF_XDP on {interface}: cannot {step}: {source}; {}", advice(source))]
    Kernel {
        /// Name of the interface.
        interface: String,
        /// The failed action, such as "attach the XDP program".
        step: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A step of opening a port over DPDK failed.
    #[error(
        "DPDK on {interface}: cannot {step}: {source} (driver {driver}); check that the driver's \
         library is installed, that we are root, and `TICKPATH_DPDK_DRIVER`"
    )]
    Dpdk {
        /// Name of the interface.
        interface: String,
        /// The driver with its arguments.
        driver: String,
        /// The failed action, such as "start DPDK".
        step: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The feature `dpdk` is off.
    #[error(
        "this tickpath is built without DPDK: install libdpdk-dev and build it with `make dpdk`, \
         or use af_xdp"
    )]
    NoDpdk,
    /// A flow can't be taken.
    #[error(
        "cannot reserve {address} for a stack below the kernel: {source}; \
         use an address of this interface and a port that no other program has"
    )]
    Claim {
        /// As asked.
        address: SocketAddrV4,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel has no route.
    #[error("the kernel has no route to {to}: {source}; `ip route get {to}` shows the same")]
    NoRoute {
        /// The destination.
        to: Ipv4Addr,
        /// The system's reason.
        source: io::Error,
    },
    /// It leaves by another interface.
    #[error(
        "the route to {to} does not leave by {interface}, which this backend uses; \
         `ip route get {to}` shows by which it does: use that one's address"
    )]
    OtherInterface {
        /// The destination.
        to: Ipv4Addr,
        /// Name of the interface.
        interface: String,
    },
    /// Nobody answers ARP.
    #[error(
        "{address} on {interface} does not answer ARP; check that the host is up, \
         or set its hardware address with `ip neigh replace`"
    )]
    NoNeighbour {
        /// The next hop.
        address: Ipv4Addr,
        /// Name of the interface.
        interface: String,
    },
    /// The kernel's tables can't be read.
    #[error(
        "cannot read the kernel's {table} by netlink: {source}; check whether a sandbox forbids it"
    )]
    Netlink {
        /// The table.
        table: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Too many connections, or buffers of a size that TCP does not have.
    #[error("{name} is {value}, and must be {min} to {max}")]
    Limit {
        /// The limit's name.
        name: &'static str,
        /// As asked.
        value: usize,
        /// The least.
        min: usize,
        /// The most.
        max: usize,
    },
}

/// Advice about an error of the kernel.
fn advice(source: &io::Error) -> &'static str {
    match Errno::from_io_error(source) {
        Some(Errno::PERM | Errno::ACCESS) => {
            "it needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF: run as root, or use another backend"
        }
        Some(Errno::AFNOSUPPORT) => {
            "this kernel is built without AF_XDP (CONFIG_XDP_SOCKETS): use another backend"
        }
        Some(Errno::NOSYS) => "this kernel or its sandbox has no bpf(2): use another backend",
        Some(Errno::BUSY | Errno::EXIST) => {
            "another program has this queue or an XDP program is attached: `ip link` shows it, \
             `ip link set dev NAME xdp off` removes one that was left"
        }
        Some(Errno::OPNOTSUPP | Errno::INVAL) => {
            "the driver does not support it: `ethtool -i NAME` names the driver, \
             and docs/decisions/024-af-xdp-and-user-space-tcp.md says what it must have"
        }
        Some(Errno::NOMEM | Errno::NOBUFS) => {
            "a queue needs 16 MiB of locked memory: raise `ulimit -l` or the memory limit"
        }
        _ => "the kernel's log may say more: `dmesg`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errno: Errno) -> String {
        let source = io::Error::from(errno);
        BypassError::Kernel { interface: "eth1".to_owned(), step: "bind queue 0", source }
            .to_string()
    }

    /// Each reason has its own advice: rights, kernel, driver, somebody else.
    #[test]
    fn an_error_of_the_kernel_teaches() {
        let all = [Errno::PERM, Errno::AFNOSUPPORT, Errno::BUSY, Errno::OPNOTSUPP, Errno::NOMEM];
        let words = ["CAP_NET_RAW", "CONFIG_XDP_SOCKETS", "xdp off", "ethtool -i", "ulimit -l"];
        for (errno, word) in all.into_iter().zip(words) {
            let text = said(errno);
            assert!(text.contains("eth1: cannot bind queue 0"), "{text}");
            assert!(text.contains(word), "{text}");
        }
    }
}
