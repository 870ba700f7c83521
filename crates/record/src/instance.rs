//! The cloud instance that a machine is, in the fingerprint. Noted, never judged: the same kind of
//! machine in another zone is not another machine.

use serde::{Deserialize, Serialize};

/// As cloud-init wrote it down; nothing asks the network. `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// For example `c7i.large`.
    pub instance_type: Option<String>,
    /// For example `eu-central-1a`, which is another zone in another account.
    pub zone: Option<String>,
    /// For example `euc1-az2`, the same in every account.
    pub zone_id: Option<String>,
    /// The placement group's name.
    pub placement_group: Option<String>,
}
