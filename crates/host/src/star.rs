//! Many network namespaces around a bridge: a small network on one host. They have no names, and
//! the kernel removes them when their creator and the last process in them have ended.

use crate::network::{DEVICE, Network, NetworkError};
use std::net::Ipv4Addr;

/// Limit on the leaves: ports of a bridge, of which the kernel allows 1 023, and addresses of a
/// network of 24 bits.
pub const LEAVES_MAX: usize = 200;

/// The hub's address on its bridge.
pub const HUB: Ipv4Addr = address(LEAVES_MAX);

/// One of a network for benchmarks (RFC 2544), which no real network has.
const fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, number as u8 + 1)
}

/// Leaves with one device each, and the hub with the bridge that joins them. The hub is one of the
/// stations.
pub struct Star {
    hub: Network,
    leaves: Vec<Network>,
}

impl Star {
    /// Makes that many leaves, at most [`LEAVES_MAX`]. Runs `ip` (iproute2) once for each.
    ///
    /// # Errors
    /// As [`crate::network::Networks::create`].
    pub fn create(leaves: usize) -> Result<Star, NetworkError> {
        Star::around(Network::create(HUB)?, leaves)
    }

    /// Makes them around a network that is there.
    pub(crate) fn around(hub: Network, leaves: usize) -> Result<Star, NetworkError> {
        let leaves: Vec<Network> = (0..leaves.min(LEAVES_MAX))
            .map(|number| Network::create(address(number)))
            .collect::<Result<_, _>>()?;
        let mut commands = format!(
            "link set lo up\nlink add hub type bridge\naddress add {HUB}/24 dev hub\n\
             link set hub up\n"
        );
        for (number, leaf) in leaves.iter().enumerate() {
            let namespace = leaf.path();
            commands.push_str(&format!(
                "link add port{number} type veth peer name {DEVICE} netns {namespace}\n\
                 link set port{number} master hub up\n"
            ));
        }
        hub.ip_batch(&commands)?;
        for leaf in &leaves {
            leaf.ip_batch(&format!(
                "address add {}/24 dev {DEVICE}\nlink set lo up\nlink set {DEVICE} up\n",
                leaf.address()
            ))?;
        }
        // A port takes frames of XDP programs, as one of a switch does.
        for number in 0..leaves.len() {
            let set = || crate::ethtool::set(&format!("port{number}"), "gro", 1);
            let failed = |source| NetworkError::Kernel { what: "set GRO of a veth", source };
            hub.within(set)?.map_err(failed)?;
        }
        Ok(Star { hub, leaves })
    }

    /// The hub.
    pub fn hub(&self) -> &Network {
        &self.hub
    }

    /// Cuts one leaf off from all others, or joins it again. Its port leaves the bridge meanwhile,
    /// so frames to it and from it are lost without a sign, as in a switch that has failed: its
    /// device and its addresses stay as they are.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn set_cut(&self, leaf: usize, is_cut: bool) -> Result<(), NetworkError> {
        let port = format!("port{leaf}");
        match is_cut {
            true => self.hub.ip(&["link", "set", "dev", &port, "nomaster"]),
            false => self.hub.ip(&["link", "set", "dev", &port, "master", "hub"]),
        }
    }

    /// The leaves.
    pub fn leaves(&self) -> &[Network] {
        &self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Whether a datagram arrives; a lost one takes a moment.
    fn passes(from: &UdpSocket, to: &UdpSocket, patience: Duration) -> bool {
        let mut into = [0; 8];
        to.set_read_timeout(Some(patience)).unwrap();
        from.send_to(b"beat", to.local_addr().unwrap()).unwrap();
        loop {
            match to.recv(&mut into) {
                Ok(n) => break n == 4,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        }
    }

    #[test]
    fn a_leaf_is_cut_off_from_the_hub_and_the_others_until_it_is_joined_again() {
        let star = match Star::create(3) {
            Ok(star) => star,
            Err(error) => return testing::skipped(testing::Need::Root, error),
        };
        let socket = |network: &Network, address| {
            network.within(|| UdpSocket::bind((address, 0))).unwrap().unwrap()
        };
        let hub = socket(star.hub(), HUB);
        let leaves: Vec<UdpSocket> =
            star.leaves().iter().map(|leaf| socket(leaf, leaf.address())).collect();
        let [far, near] = [Duration::from_secs(5), Duration::from_millis(100)];
        for is_cut in [false, true, false] {
            star.set_cut(0, is_cut).unwrap();
            let patience = if is_cut { near } else { far };
            assert_eq!(passes(&leaves[0], &leaves[1], patience), !is_cut);
            assert_eq!(passes(&leaves[1], &leaves[0], patience), !is_cut);
            assert_eq!(passes(&hub, &leaves[0], patience), !is_cut);
            assert!(passes(&leaves[1], &leaves[2], far) && passes(&hub, &leaves[2], far));
        }
    }
}
