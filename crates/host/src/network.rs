//! Two network namespaces joined by a veth pair, so that a run goes through more of the kernel than
//! the loopback device. They have no names. The kernel removes them when their creator and the last
//! process in them have ended, so there is nothing to clean up.

use crate::star::Star;
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Name of the network device in each namespace.
pub const DEVICE: &str = "tick0";
/// Name of the network devices of the cable to the other zone.
pub const ZONE_DEVICE: &str = "zone0";
/// Addresses for documentation (RFC 5737), which no real network uses.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
/// The same, of the cable to the other zone.
const ZONE_ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
const PREFIX_BITS: u8 = 24;
/// A station that is on no cable: every receiver drops frames that are sent there.
const NOBODY: &str = "02:00:00:00:00:00";
/// The calling thread's network namespace.
const OWN: &str = "/proc/thread-self/ns/net";

/// Why the networks can't be made.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A system call failed, mostly for lack of permission.
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
    /// `ip` is missing or failed.
    #[error(
        "`{command}` failed: {why}; it takes iproute2 and a kernel with veth devices, and in a container the capability NET_ADMIN"
    )]
    Ip {
        /// The command line.
        command: String,
        /// Its output.
        why: String,
    },
}

/// Two networks with one device each, joined by a virtual cable. The exchange's may have a second
/// cable, to a third network.
pub struct Networks {
    ends: [Network; 2],
    zone: Option<Network>,
    members: Option<Star>,
}

impl Networks {
    /// Makes both. Runs `ip` (iproute2) a few times.
    ///
    /// # Errors
    /// Without the permission, without `ip`, or without veth devices.
    pub fn create() -> Result<Networks, NetworkError> {
        let [first, second] = ADDRESSES;
        let ends = [Network::create(first)?, Network::create(second)?];
        join([&ends[0], &ends[1]], DEVICE, ADDRESSES)?;
        for end in &ends {
            end.ip(&["link", "set", "lo", "up"])?;
            end.ip(&["route", "add", "224.0.0.0/4", "dev", DEVICE])?;
        }
        Ok(Networks { ends, zone: None, members: None })
    }

    /// Adds the network of another zone, which only the exchange's can reach, over a cable of its
    /// own: [`ZONE_DEVICE`] at both ends. Runs `ip` a few times.
    ///
    /// # Errors
    /// As [`Networks::create`].
    pub fn with_zone(self) -> Result<Networks, NetworkError> {
        let zone = Network::create(ZONE_ADDRESSES[1])?;
        join([self.exchange(), &zone], ZONE_DEVICE, ZONE_ADDRESSES)?;
        zone.ip(&["link", "set", "lo", "up"])?;
        Ok(Networks { zone: Some(zone), ..self })
    }

    /// Adds a network for each of `count` members of a cluster, on a bridge in the exchange's
    /// network. Runs `ip` a few times.
    ///
    /// # Errors
    /// As [`Networks::create`].
    pub fn with_members(self, count: usize) -> Result<Networks, NetworkError> {
        let members = Some(Star::around(self.exchange().again()?, count)?);
        Ok(Networks { members, ..self })
    }

    /// Cuts the cable, or mends it. Packets to the other end are then lost without a sign, as in a
    /// network that has failed somewhere between: devices, routes and connections stay as they are.
    /// Runs `ip` twice, so one direction is cut some milliseconds before the other.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn set_cut(&self, is_cut: bool) -> Result<(), NetworkError> {
        let [first, second] = &self.ends;
        for (end, other) in [(first, second), (second, first)] {
            let other = other.address.to_string();
            match is_cut {
                true => end.ip(&[
                    "neigh",
                    "replace",
                    &other,
                    "lladdr",
                    NOBODY,
                    "dev",
                    DEVICE,
                    "nud",
                    "permanent",
                ])?,
                false => end.ip(&["neigh", "del", &other, "dev", DEVICE])?,
            }
        }
        Ok(())
    }

    /// The exchange's network.
    pub fn exchange(&self) -> &Network {
        &self.ends[0]
    }

    /// The trader's network.
    pub fn trader(&self) -> &Network {
        &self.ends[1]
    }

    /// The other zone's network, if it was added.
    pub fn zone(&self) -> Option<&Network> {
        self.zone.as_ref()
    }

    /// The members' networks, if they were added.
    pub fn members(&self) -> Option<&Star> {
        self.members.as_ref()
    }
}

/// Lays a cable between two networks. Both ends get devices of that name, with these addresses.
fn join(ends: [&Network; 2], device: &str, addresses: [Ipv4Addr; 2]) -> Result<(), NetworkError> {
    let other = ends[1].path();
    let cable = ["link", "add", device, "type", "veth", "peer", "name", device, "netns", &other];
    ends[0].ip(&cable)?;
    for (end, address) in ends.into_iter().zip(addresses) {
        let address = format!("{address}/{PREFIX_BITS}");
        end.ip(&["address", "add", &address, "dev", device])?;
        end.ip(&["link", "set", device, "up"])?;
    }
    Ok(())
}

/// A network namespace.
pub struct Network {
    namespace: OwnedFd,
    address: Ipv4Addr,
}

impl Network {
    /// Makes a namespace without a device.
    pub(crate) fn create(address: Ipv4Addr) -> Result<Network, NetworkError> {
        let in_namespace = || -> io::Result<OwnedFd> {
            // SAFETY: this function started the thread, which ends with it. The thread shares
            // everything except its network, and no descriptor table changes.
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

    /// The same network once more.
    fn again(&self) -> Result<Network, NetworkError> {
        let failed = |source| NetworkError::Kernel { what: "duplicate a descriptor", source };
        let namespace = self.namespace.try_clone().map_err(failed)?;
        Ok(Network { namespace, address: self.address })
    }

    /// Address of its device, or of its first one.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Runs `work` in this network. Sockets opened and processes started by it stay in this
    /// network. Only the calling thread moves there, and it comes back.
    ///
    /// # Errors
    /// If the thread can't enter the network, or can't return; then it must open no further
    /// sockets.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, NetworkError> {
        let failed = |what| move |source: io::Error| NetworkError::Kernel { what, source };
        let home: OwnedFd = File::open(OWN).map_err(failed("read this thread's network"))?.into();
        enter(&self.namespace).map_err(failed("enter a network namespace"))?;
        let mut way_back = WayBack { home: Some(home) };
        let result = work();
        way_back.go().map_err(failed("leave a network namespace"))?;
        Ok(result)
    }

    /// Its namespace, by a path that other programs can open while this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd())
    }

    pub(crate) fn ip(&self, arguments: &[&str]) -> Result<(), NetworkError> {
        let mut ip = Command::new("ip");
        ip.args(arguments).stdin(Stdio::null());
        self.run(&mut ip, &arguments.join(" "))
    }

    /// Runs one command of `ip` for each line.
    pub(crate) fn ip_batch(&self, lines: &str) -> Result<(), NetworkError> {
        let kernel = |source| NetworkError::Kernel { what: "pass commands to `ip`", source };
        let (from, mut to) = std::io::pipe().map_err(kernel)?;
        let mut ip = Command::new("ip");
        ip.args(["-batch", "-"]).stdin(Stdio::from(OwnedFd::from(from)));
        std::thread::scope(|scope| {
            // `ip` reads while it runs.
            scope.spawn(move || to.write_all(lines.as_bytes()));
            self.run(&mut ip, "-batch -")
        })
    }

    fn run(&self, ip: &mut Command, arguments: &str) -> Result<(), NetworkError> {
        let failed =
            |why: String| Err(NetworkError::Ip { command: format!("ip {arguments}"), why });
        match self.within(|| ip.output())? {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => failed(error.to_string()),
        }
    }
}

/// Brings the thread back on drop, so that a panic in `work` does not leave it in the network.
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
        // Only a panic leads here, and its error can't be reported.
        let _ = self.go();
    }
}

/// Moves the calling thread into the network with that [path](Network::path), for good.
///
/// # Errors
/// If there is none, or the thread can't enter it.
pub fn enter_at(path: &Path) -> Result<(), NetworkError> {
    let entered = File::open(path).and_then(|file| enter(&file.into()));
    entered.map_err(|source| NetworkError::Kernel { what: "enter a network namespace", source })
}

fn enter(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
