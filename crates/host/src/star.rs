//! Many network namespaces around a bridge: a small network on one host. They have no names, and
//! the kernel removes them when their creator and the last process in them have ended.

use crate::network::{DEVICE, Network, NetworkError};
use std::net::Ipv4Addr;

/// Limit on the leaves: ports of a bridge, of which the kernel allows 1 023, and addresses of a
/// network of 24 bits.
pub const LEAVES_MAX: usize = 200;

/// Leaves with one device each, and the hub with the bridge that joins them.
pub struct Star {
    /// It keeps the bridge.
    _hub: Network,
    leaves: Vec<Network>,
}

impl Star {
    /// Makes that many leaves, at most [`LEAVES_MAX`]. Runs `ip` (iproute2) once for each.
    ///
    /// # Errors
    /// As [`crate::network::Networks::create`].
    pub fn create(leaves: usize) -> Result<Star, NetworkError> {
        // For benchmarks (RFC 2544), so that no real network has them.
        let address = |number: usize| Ipv4Addr::new(198, 18, 0, number as u8 + 1);
        let hub = Network::create(address(LEAVES_MAX))?;
        let leaves: Vec<Network> = (0..leaves.min(LEAVES_MAX))
            .map(|number| Network::create(address(number)))
            .collect::<Result<_, _>>()?;
        let mut commands = "link add hub type bridge\nlink set hub up\n".to_owned();
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
        Ok(Star { _hub: hub, leaves })
    }

    /// The leaves.
    pub fn leaves(&self) -> &[Network] {
        &self.leaves
    }
}
