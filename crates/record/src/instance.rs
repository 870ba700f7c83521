//! The cloud instance in the fingerprint. Recorded but never judged: the same kind of machine in
//! another zone is no different machine.

use serde::{Deserialize, Serialize};

/// From cloud-init's files, without network access. `None` if they don't say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// For example `c7i.large`.
    pub instance_type: Option<String>,
    /// For example `eu-central-1a`; another account may use this name for another zone.
    pub zone: Option<String>,
    /// For example `euc1-az2`, the same in every account.
    pub zone_id: Option<String>,
    /// The placement group's name.
    pub placement_group: Option<String>,
}
