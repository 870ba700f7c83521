//! How a client checks the certificate of an exchange.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The authorities and the name by which a client checks a certificate. It always checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trust {
    /// A PEM file of authorities, or of the exchange's own certificate; without it the system's
    /// authorities are trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The same as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
    /// The name that the certificate must be for; without it the host that was dialled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
