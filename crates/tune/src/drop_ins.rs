//! Directories in which several programs leave files for one reader: the order in which it reads
//! them, and which of two values it keeps.

use host::Root;

use crate::persist::udev_parts;
use crate::place::Place;
use crate::wish::Wish;

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
        let Place::Kernel(path) = &wish.place else { continue };
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
        let sentence = match name.as_str() > ours {
            true => format!(
                "{line} sets {value:?} and is read after {ours}, so it wins: change it there"
            ),
            false => format!("{line} sets {value:?}; {ours} is read after it and wins"),
        };
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    said
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
fn slashed(name: &str) -> String {
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
