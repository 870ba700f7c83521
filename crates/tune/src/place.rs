//! The places of settings.

use std::fmt;
use std::str::FromStr;

/// A place with one value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A file of the kernel below `/proc` or `/sys`: one write sets it, and the kernel may change
    /// its form.
    Kernel(String),
    /// A file on disk, replaced as a whole. Its absence is a value too.
    Text(String),
    /// A directory: `there` or absent.
    Directory(String),
    /// An attribute of a network interface that only `ethtool` can set.
    Nic {
        /// The interface.
        nic: String,
        /// The attribute, by `ethtool`'s name: `rx-usecs`, `combined`, `gro`.
        attribute: String,
    },
    /// A systemd unit: `active enabled`, `inactive disabled`.
    Service(String),
    /// `/dev/cpu_dma_latency`, us, which holds while a process holds it open.
    DmaLatency,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Kernel(path) => write!(f, "kernel:{path}"),
            Place::Text(path) => write!(f, "file:{path}"),
            Place::Directory(path) => write!(f, "directory:{path}"),
            Place::Nic { nic, attribute } => write!(f, "nic:{nic}/{attribute}"),
            Place::Service(unit) => write!(f, "service:{unit}"),
            Place::DmaLatency => write!(f, "hold:/dev/cpu_dma_latency"),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let unknown =
            || format!("{text:?} is no place: kernel:, file:, directory:, nic:, service:");
        let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
        Ok(match kind {
            "kernel" => Place::Kernel(rest.to_owned()),
            "file" => Place::Text(rest.to_owned()),
            "directory" => Place::Directory(rest.to_owned()),
            "nic" => {
                let (nic, attribute) = rest.split_once('/').ok_or_else(unknown)?;
                Place::Nic { nic: nic.to_owned(), attribute: attribute.to_owned() }
            }
            "service" => Place::Service(rest.to_owned()),
            "hold" => Place::DmaLatency,
            _ => return Err(unknown()),
        })
    }
}

impl Place {
    /// Whether its value is lost at reboot.
    pub fn is_live(&self) -> bool {
        matches!(self, Place::Kernel(_) | Place::Nic { .. } | Place::DmaLatency)
    }

    /// The number of the interrupt that a file below `/proc/irq` controls.
    pub fn interrupt(&self) -> Option<&str> {
        let Place::Kernel(path) = self else { return None };
        path.strip_prefix("/proc/irq/")?.split('/').next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read_again_is_the_same() {
        for text in [
            "kernel:/proc/sys/vm/swappiness",
            "file:/etc/default/grub",
            "directory:/etc/sysctl.d",
            "nic:ens5/rx-usecs",
            "service:irqbalance.service",
            "hold:/dev/cpu_dma_latency",
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        assert!("x".parse::<Place>().is_err() && "nic:eth0".parse::<Place>().is_err());
    }
}
