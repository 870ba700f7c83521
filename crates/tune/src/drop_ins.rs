//! Directories in which several programs leave files for one reader: the order in which it reads
//! them, and which of two values it keeps.

use host::Root;

use crate::persist::udev_parts;
use crate::place::SettingPlace;
use crate::wish::{WantedValue, Wish};

/// Directories of systemd-sysctl, the most important first (sysctl.d(5)).
pub(crate) const SYSCTL: [&str; 4] =
    ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"];
/// Directories of udev's rules (udev(7)).
pub(crate) const UDEV: [&str; 4] = [
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
];
/// Directories of modprobe, the most important first (modprobe.d(5)).
const MODPROBE: [&str; 4] =
    ["/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d"];
/// The file that pam_limits reads before those of its directory (limits.conf(5)).
const LIMITS_FILE: &str = "/etc/security/limits.conf";
pub(crate) const LIMITS: &str = "/etc/security/limits.d";
/// Our files. The later one wins, and `99-sysctl.conf` is a distribution's `/etc/sysctl.conf`.
pub(crate) const SYSCTL_FILE: &str = "99-zz-tickpath.conf";
pub(crate) const UDEV_FILE: &str = "99-zz-tickpath.rules";

/// Files in the order of reading: by name, whatever the directory; a name counts once.
fn in_order(root: &Root, directories: &[&str], extension: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for directory in directories {
        for name in root.names(directory).unwrap_or_default() {
            if name.ends_with(extension) && !files.iter().any(|(there, _)| *there == name) {
                files.push((name.clone(), format!("{directory}/{name}")));
            }
        }
    }
    files.sort();
    files
}

/// A value in a file that others write.
struct Rival {
    name: String,
    line: String,
    value: String,
}

/// Sentences about other files that set the same to another value, and who wins at boot.
pub(crate) fn rivals(root: &Root, wishes: &[Wish]) -> Vec<String> {
    let mut said = Vec::new();
    for wish in wishes {
        if let (SettingPlace::Text(path), WantedValue::Is(text)) = (&wish.place, &wish.want) {
            said.extend(limits(root, path, text));
            said.extend(module_parameters(root, path, text));
        }
        let SettingPlace::Kernel(path) = &wish.place else { continue };
        let (ours, found) = match (path.strip_prefix("/proc/sys/"), udev_parts(path)) {
            (Some(key), _) => (SYSCTL_FILE, sysctls(root, key)),
            (None, Some((_, _, attribute))) => (UDEV_FILE, rules(root, attribute)),
            _ => continue,
        };
        let mut others = found.into_iter().filter(|one| one.name != ours);
        let Some(last) =
            others.next_back().filter(|one| !wish.want.is_met(&wish.place, &one.value))
        else {
            continue;
        };
        let Rival { name, line, value } = last;
        let sentence = who_wins(&line, &value, name.as_str() > ours, ours);
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    said
}

fn who_wins(line: &str, value: &str, is_later: bool, ours: &str) -> String {
    match is_later {
        true => {
            format!("{line} sets {value:?} and is read after {ours}, so it wins: change it there")
        }
        false => format!("{line} sets {value:?}; {ours} is read after it and wins"),
    }
}

/// Limits of others for the item that our file at `path` sets. The line that is read last
/// counts for a domain. A user's or a group's own line wins over `*` wherever it stands.
fn limits(root: &Root, path: &str, text: &str) -> Vec<String> {
    let Some(ours) = path.strip_prefix(LIMITS).and_then(|name| name.strip_prefix('/')) else {
        return Vec::new();
    };
    let own: Vec<[&str; 4]> = text.lines().filter_map(limit).collect();
    let mut files = vec![(String::new(), LIMITS_FILE.to_owned())];
    files.extend(in_order(root, &[LIMITS], ".conf"));
    let mut said = Vec::new();
    for (name, file) in files.into_iter().filter(|(name, _)| name != ours) {
        let text = root.read(&file).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            let Some([domain, _, item, value]) = limit(line) else { continue };
            let Some([.., wanted]) = own.iter().find(|[_, _, own, _]| *own == item) else {
                continue;
            };
            let line = format!("{file} line {}", number + 1);
            if is_as_much(value, wanted) {
                continue;
            }
            if own.iter().any(|[own, ..]| *own == domain) {
                said.push(who_wins(&line, value, name.as_str() > ours, ours));
            } else {
                said.push(format!(
                    "{line} sets {value:?} for {domain}, which wins over `*` wherever it stands: change it there"
                ));
            }
        }
    }
    said
}

/// Domain, type, item and value of a line (limits.conf(5)).
fn limit(line: &str) -> Option<[&str; 4]> {
    let mut words = line.split('#').next()?.split_whitespace();
    let four = [words.next()?, words.next()?, words.next()?, words.next()?];
    words.next().is_none().then_some(four)
}

fn is_as_much(value: &str, wanted: &str) -> bool {
    let number = |value: &str| match value {
        "unlimited" | "infinity" | "-1" => Some(u64::MAX),
        value => value.parse().ok(),
    };
    number(value).zip(number(wanted)).is_some_and(|(value, wanted)| value >= wanted)
}

/// Parameters of others for the module that our file at `path` sets. modprobe gives all of them to
/// the kernel, which keeps the last.
fn module_parameters(root: &Root, path: &str, text: &str) -> Vec<String> {
    let Some(ours) = path.strip_prefix(MODPROBE[0]).and_then(|name| name.strip_prefix('/')) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    for (module, name, wanted) in text.lines().flat_map(parameters) {
        let of_line = |line: &str| {
            let last =
                parameters(line).into_iter().rfind(|one| (&one.0, &one.1) == (&module, &name))?;
            Some(last.2)
        };
        let others = found(root, &MODPROBE, ".conf", of_line);
        let last = others.into_iter().rfind(|one| one.name != ours);
        if let Some(Rival { name, line, value }) = last.filter(|last| last.value != wanted) {
            said.push(who_wins(&line, &value, name.as_str() > ours, ours));
        }
    }
    said
}

/// Module, name and value of each parameter of a line `options …`. Dashes are underscores.
fn parameters(line: &str) -> Vec<(String, String, String)> {
    let mut words = line.split_whitespace();
    let (Some("options"), Some(module)) = (words.next(), words.next()) else { return Vec::new() };
    let plain = |name: &str| name.replace('-', "_");
    let one = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((plain(module), plain(name), value.to_owned()))
    };
    words.filter_map(one).collect()
}

/// Assignments of a sysctl by its exact name. Patterns never win over an exact name.
fn sysctls(root: &Root, key: &str) -> Vec<Rival> {
    let of_line = |line: &str| {
        let line = line.trim();
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))?;
        (slashed(name.trim().trim_start_matches('-')) == key).then(|| value.trim().to_owned())
    };
    found(root, &SYSCTL, ".conf", of_line)
}

/// The separator that comes first decides: in `net/ipv4/conf/eth0.1/x`, dots are dots
/// (sysctl.d(5)).
pub(crate) fn slashed(name: &str) -> String {
    match name.find(['.', '/']).map(|at| name.as_bytes()[at]) {
        Some(b'.') => name
            .chars()
            .map(|one| match one {
                '.' => '/',
                '/' => '.',
                other => other,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

/// Rules that assign an attribute, of any device: whether they match ours is udev's to say.
fn rules(root: &Root, attribute: &str) -> Vec<Rival> {
    let of_line = |line: &str| {
        let rest = line.trim().strip_prefix('#').map_or(line, |_| "");
        let (_, rest) = rest.split_once(&format!("ATTR{{{attribute}}}="))?;
        let (value, _) = rest.strip_prefix('"')?.split_once('"')?;
        Some(value.to_owned())
    };
    found(root, &UDEV, ".rules", of_line)
}

fn found(
    root: &Root,
    directories: &[&str],
    extension: &str,
    of_line: impl Fn(&str) -> Option<String>,
) -> Vec<Rival> {
    let mut rivals = Vec::new();
    for (name, path) in in_order(root, directories, extension) {
        for (number, line) in root.read(&path).unwrap_or_default().lines().enumerate() {
            if let Some(value) = of_line(line) {
                let line = format!("{path} line {}", number + 1);
                rivals.push(Rival { name: name.clone(), line, value });
            }
        }
    }
    rivals
}

#[cfg(test)]
#[path = "drop_ins_tests.rs"]
mod tests;
