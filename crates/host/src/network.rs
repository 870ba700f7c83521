//! Two network namespaces joined by a veth pair: a machine's network in small, for a run that
//! shall go through more of the kernel than the loopback device. They have no names. The kernel
//! takes them away when the last process in them, and whoever made them, have ended, however they
//! ended: there is nothing to clean up.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// The network device in each, as `ip link` there shows it.
pub const DEVICE: &str = "tick0";
/// Addresses for documentation (RFC 5737), which no other network has.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const PREFIX_BITS: u8 = 24;
/// Where the calling thread's namespace is.
const OWN: &str = "/proc/thread-self/ns/net";

/// Why there are no two networks.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// Not allowed, mostly.
    #[error(
        "cannot {what}: {source}; network namespaces need CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root (in a container with both \
         capabilities), or measure on loopback (network = \"loopback\")"
    )]
    Kernel {
        /// The failed action, such as "open".
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// `ip` is not there, or did not do it.
    #[error(
        "`{command}` failed: {why}; it takes iproute2 and a kernel with veth devices, and in a container the capability NET_ADMIN"
    )]
    Ip {
        /// As it was called.
        command: String,
        /// What it said.
        why: String,
    },
}

/// Two networks of one device each, at the two ends of one cable.
pub struct Networks {
    ends: [Network; 2],
}

impl Networks {
    /// Makes them. Starts `ip` (iproute2) a few times.
    ///
    /// # Errors
    /// Without the right to, without `ip`, without veth devices.
    pub fn create() -> Result<Networks, NetworkError> {
        let [first, second] = ADDRESSES;
        let ends = [Network::create(first)?, Network::create(second)?];
        let other = format!("/proc/{}/fd/{}", std::process::id(), ends[1].namespace.as_raw_fd());
        let cable =
            ["link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", &other];
        ends[0].ip(&cable)?;
        for end in &ends {
            let address = format!("{}/{PREFIX_BITS}", end.address);
            end.ip(&["address", "add", &address, "dev", DEVICE])?;
            end.ip(&["link", "set", "lo", "up"])?;
            end.ip(&["link", "set", DEVICE, "up"])?;
            end.ip(&["route", "add", "224.0.0.0/4", "dev", DEVICE])?;
        }
        Ok(Networks { ends })
    }

    /// Where the exchange lives.
    pub fn exchange(&self) -> &Network {
        &self.ends[0]
    }

    /// Where the trader lives.
    pub fn trader(&self) -> &Network {
        &self.ends[1]
    }
}

/// A network namespace with one device.
pub struct Network {
    namespace: OwnedFd,
    address: Ipv4Addr,
}

impl Network {
    /// A namespace without a device.
    fn create(address: Ipv4Addr) -> Result<Network, NetworkError> {
        let in_namespace = || -> io::Result<OwnedFd> {
            // SAFETY: this thread is ours alone and ends with this function; it shares everything
            // but its network, and no descriptor table is touched.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            Ok(File::open(OWN)?.into())
        };
        let made = std::thread::scope(|scope| {
            let thread = scope.spawn(in_namespace);
            thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
        });
        let namespace = made
            .map_err(|source| NetworkError::Kernel { what: "make a network namespace", source })?;
        Ok(Network { namespace, address })
    }

    /// The address of its device.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Does something in this network: a socket that is opened meanwhile, a process that is
    /// started, belongs to it for ever. The calling thread alone is there, and comes back.
    ///
    /// # Errors
    /// The thread can't go there, or not come back; then it must open no further sockets.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, NetworkError> {
        let failed = |what| move |source: io::Error| NetworkError::Kernel { what, source };
        let home: OwnedFd = File::open(OWN).map_err(failed("read this thread's network"))?.into();
        enter(&self.namespace).map_err(failed("enter a network namespace"))?;
        let mut way_back = WayBack { home: Some(home) };
        let result = work();
        way_back.go().map_err(failed("leave a network namespace"))?;
        Ok(result)
    }

    fn ip(&self, arguments: &[&str]) -> Result<(), NetworkError> {
        let failed = |why: String| {
            Err(NetworkError::Ip { command: format!("ip {}", arguments.join(" ")), why })
        };
        let mut ip = Command::new("ip");
        ip.args(arguments).stdin(Stdio::null());
        match self.within(|| ip.output())? {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => failed(error.to_string()),
        }
    }
}

/// Also when what was done there panics.
struct WayBack {
    home: Option<OwnedFd>,
}

impl WayBack {
    fn go(&mut self) -> io::Result<()> {
        self.home.take().map_or(Ok(()), |home| enter(&home))
    }
}

impl Drop for WayBack {
    fn drop(&mut self) {
        // Only after a panic is there anything to do, and nobody who could be told.
        let _ = self.go();
    }
}

fn enter(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
