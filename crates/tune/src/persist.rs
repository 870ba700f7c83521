//! Files that restore settings at boot: our own in `sysctl.d`, udev's rules and systemd's units,
//! and words of the boot loader.

use std::path::Path;

use host::{Root, Topology};
use record::tune::Step;

use crate::boot::{self, BootFile, MARK};
use crate::drop_ins::{SYSCTL, SYSCTL_FILE, UDEV, UDEV_FILE};
use crate::goal::Goal;
use crate::place::SettingPlace;
use crate::system::System;
use crate::wish::Wish;

const UNITS: &str = "/etc/systemd/system";
const WANTS: &str = "/etc/systemd/system/multi-user.target.d";

/// The file that restores a place's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Sysctl,
    Udev,
    Unit,
    /// It persists without a file.
    Itself,
}

impl Carrier {
    pub(crate) fn of(place: &SettingPlace) -> Carrier {
        match place {
            SettingPlace::Kernel(path) if path.starts_with("/proc/sys/") => Carrier::Sysctl,
            SettingPlace::Kernel(path) if udev_parts(path).is_some() => Carrier::Udev,
            SettingPlace::Kernel(_) | SettingPlace::Nic { .. } | SettingPlace::DmaLatency => {
                Carrier::Unit
            }
            SettingPlace::Directory(path) if path.starts_with("/sys/") => Carrier::Unit,
            SettingPlace::Text(_) | SettingPlace::Directory(_) | SettingPlace::Service(_) => {
                Carrier::Itself
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Carrier::Sysctl => "sysctl.d",
            Carrier::Udev => "a udev rule",
            Carrier::Unit => "a systemd unit",
            Carrier::Itself => "itself",
        }
    }
}

/// The arguments of the unit's program: `tune apply --yes …`.
#[derive(Clone, Debug, Default)]
pub struct BootUnit {
    /// The path of the program, on this machine or a future one.
    pub program: String,
    /// The settings, if they were chosen by name.
    pub ids: Vec<String>,
}

/// The steps for these wishes, as far as the directories exist; then the boot loader's.
///
/// # Errors
/// Why a word can't be merged into the boot loader's files.
pub(crate) fn steps(
    system: &dyn System,
    root: &Root,
    goal: &Goal,
    wishes: &[Wish],
    words: &[String],
    start: &BootUnit,
) -> Result<Vec<Step>, String> {
    let of = |carrier: Carrier| -> Vec<&Wish> {
        wishes.iter().filter(|wish| Carrier::of(&wish.place) == carrier).collect()
    };
    let mut steps = Vec::new();
    let mut ours = |path: String, text: String| {
        let place = SettingPlace::Text(path);
        let before = system.read(&place).unwrap_or_default();
        if before.as_ref() != Some(&text) {
            steps.push(Step { place: place.to_string(), before, after: Some(text) });
        }
    };
    let sysctls = of(Carrier::Sysctl);
    if !sysctls.is_empty() && root.exists(SYSCTL[0]) {
        let lines: String = sysctls.iter().filter_map(|wish| sysctl_line(wish)).collect();
        ours(format!("{}/{SYSCTL_FILE}", SYSCTL[0]), format!("{MARK}\n{lines}"));
    }
    let rules = of(Carrier::Udev);
    if !rules.is_empty() && root.exists(UDEV[0]) {
        let lines: String = rules.iter().filter_map(|wish| udev_line(wish)).collect();
        ours(format!("{}/{UDEV_FILE}", UDEV[0]), format!("{MARK}\n{lines}"));
    }
    let has_unit = !of(Carrier::Unit).is_empty() && root.exists(UNITS);
    if has_unit {
        ours(format!("{UNITS}/tickpath-tune.service"), unit(goal, start));
        let text = format!("{MARK}\n[Unit]\nWants=tickpath-tune.service\n");
        ours(format!("{WANTS}/tickpath.conf"), text);
    }
    if has_unit && !root.exists(WANTS) {
        let place = SettingPlace::Directory(WANTS.to_owned()).to_string();
        steps.insert(0, Step { place, before: None, after: Some("there".to_owned()) });
    }
    if words.is_empty() {
        return Ok(steps);
    }
    let last = Topology::read(root).last_possible;
    for group in boot::groups(system, root) {
        for (BootFile { path, text }, after) in group.merged(words, last)? {
            let place = SettingPlace::Text(format!("/{path}")).to_string();
            steps.push(Step { place, before: text, after: Some(after) });
        }
    }
    Ok(steps)
}

/// In names with dots (mostly interfaces), dots are written as slashes (sysctl.d(5)).
fn sysctl_line(wish: &Wish) -> Option<String> {
    let SettingPlace::Kernel(path) = &wish.place else { return None };
    let name = path.strip_prefix("/proc/sys/")?;
    let name = if name.contains('.') { name.to_owned() } else { name.replace('/', ".") };
    // The dash: a missing sysctl is no error at boot.
    Some(format!("-{name} = {}\n", wish.want.written()))
}

/// Subsystem, device and attribute of a file of a disk or a network interface.
pub(crate) fn udev_parts(path: &str) -> Option<(&'static str, &str, &str)> {
    let of = |prefix: &str| path.strip_prefix(prefix)?.split_once('/');
    match (of("/sys/block/"), of("/sys/class/net/")) {
        (Some((device, attribute)), _) => Some(("block", device, attribute)),
        (_, Some((device, attribute))) => Some(("net", device, attribute)),
        _ => None,
    }
}

fn udev_line(wish: &Wish) -> Option<String> {
    let SettingPlace::Kernel(path) = &wish.place else { return None };
    let (subsystem, device, attribute) = udev_parts(path)?;
    let value = wish.want.written();
    Some(format!(
        "ACTION==\"add|change|move\", SUBSYSTEM==\"{subsystem}\", KERNEL==\"{device}\", \
         ATTR{{{attribute}}}=\"{value}\"\n"
    ))
}

/// Applies settings that only a program can write, with the topology at boot.
fn unit(goal: &Goal, start: &BootUnit) -> String {
    let mut line = format!("{} tune apply --yes --live-only", start.program);
    line += &format!(" --profile {}", goal.profile);
    line += &format!(" --cores {}", host::topology::format_core_list(&goal.cores));
    for nic in &goal.nics {
        line += &format!(" --nic {nic}");
    }
    for id in &start.ids {
        line += &format!(" --setting {id}");
    }
    format!(
        "{MARK}\n[Unit]\nDescription=tickpath tune: settings that are lost with a reboot\n\
         After=network.target systemd-sysctl.service\n\n[Service]\nType=oneshot\n\
         RemainAfterExit=yes\nKillMode=process\nExecStart={line}\n"
    )
}

/// Whether a program's path can be used in a unit.
pub fn is_program(path: &Path) -> bool {
    path.is_absolute() && !path.to_string_lossy().contains(char::is_whitespace)
}
