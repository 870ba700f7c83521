//! The places of settings.

use std::fmt;
use std::str::FromStr;

/// A place with one value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingPlace {
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

impl fmt::Display for SettingPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingPlace::Kernel(path) => write!(f, "kernel:{path}"),
            SettingPlace::Text(path) => write!(f, "file:{path}"),
            SettingPlace::Directory(path) => write!(f, "directory:{path}"),
            SettingPlace::Nic { nic, attribute } => write!(f, "nic:{nic}/{attribute}"),
            SettingPlace::Service(unit) => write!(f, "service:{unit}"),
            SettingPlace::DmaLatency => write!(f, "hold:/dev/cpu_dma_latency"),
        }
    }
}

impl FromStr for SettingPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<SettingPlace, String> {
        let unknown =
            || format!("{text:?} is no place: kernel:, file:, directory:, nic:, service:");
        let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
        Ok(match kind {
            "kernel" => SettingPlace::Kernel(rest.to_owned()),
            "file" => SettingPlace::Text(rest.to_owned()),
            "directory" => SettingPlace::Directory(rest.to_owned()),
            "nic" => {
                let (nic, attribute) = rest.split_once('/').ok_or_else(unknown)?;
                SettingPlace::Nic { nic: nic.to_owned(), attribute: attribute.to_owned() }
            }
            "service" => SettingPlace::Service(rest.to_owned()),
            "hold" => SettingPlace::DmaLatency,
            _ => return Err(unknown()),
        })
    }
}

impl SettingPlace {
    /// Whether its value is lost at reboot.
    pub fn is_live(&self) -> bool {
        matches!(
            self,
            SettingPlace::Kernel(_) | SettingPlace::Nic { .. } | SettingPlace::DmaLatency
        )
    }

    /// The number of the interrupt that a file below `/proc/irq` controls.
    pub fn interrupt(&self) -> Option<&str> {
        let SettingPlace::Kernel(path) = self else { return None };
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
            assert_eq!(text.parse::<SettingPlace>().unwrap().to_string(), text);
        }
        assert!(
            "x".parse::<SettingPlace>().is_err() && "nic:eth0".parse::<SettingPlace>().is_err()
        );
    }
}
