//! tuned as another program that sets the same values: what its active profile has, and who wins.

use std::collections::BTreeMap;

use host::Root;

use crate::boot::words_of;
use crate::drop_ins::{SYSCTL_FILE, slashed};
use crate::place::SettingPlace;
use crate::wish::Wish;

/// Where profiles lie, the most important first (tuned.conf(5)). Newer versions have `profiles`.
const DIRECTORIES: [&str; 4] =
    ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];
/// A profile may include others, which include others; this many in all.
const PROFILES_MAX: usize = 64;

/// An assignment in a profile.
struct Assignment {
    section: String,
    key: String,
    value: String,
    /// File and line.
    line: String,
}

/// The active profile.
#[derive(Default)]
struct TunedProfile {
    assignments: Vec<Assignment>,
    /// A section's plug-in, where it is not its name.
    types: BTreeMap<String, String>,
    /// Why a part of it is not known.
    unknown: Vec<String>,
    visited: Vec<String>,
}

/// Sentences about values that tuned's active profile sets otherwise, and who wins.
pub(crate) fn rivals(root: &Root, wishes: &[Wish], words: &[String]) -> Vec<String> {
    if wishes.is_empty() && words.is_empty() {
        return Vec::new();
    }
    let active = root.read("/etc/tuned/active_profile").unwrap_or_default();
    let mut tuned = TunedProfile::default();
    active.split_whitespace().for_each(|profile| tuned.include(root, profile));
    let mut said = std::mem::take(&mut tuned.unknown);
    said.extend(wishes.iter().filter_map(|wish| tuned.value(root, wish)));
    said.extend(words.iter().filter_map(|word| tuned.word(word)));
    said
}

impl TunedProfile {
    /// Reads a profile after those that it includes: a later assignment replaces an earlier one.
    fn include(&mut self, root: &Root, profile: &str) {
        if self.visited.iter().any(|one| one == profile) {
            return;
        }
        if self.visited.len() == PROFILES_MAX {
            let why = format!("tuned's profiles include more than {PROFILES_MAX} others");
            return self.unknown.push(why);
        }
        self.visited.push(profile.to_owned());
        let file = DIRECTORIES.iter().find_map(|directory| {
            let path = format!("{directory}/{profile}/tuned.conf");
            Some((root.read(&path)?, path))
        });
        let Some((text, path)) = file else {
            let why = format!("tuned's profile {profile} is not in /etc/tuned or /usr/lib/tuned");
            return self.unknown.push(format!("{why}, so what it sets is not known"));
        };
        let own = assignments(&text, &path);
        for one in own.iter().filter(|one| one.section == "main" && one.key == "include") {
            let names = one.value.split([',', ';', ' ']).map(str::trim);
            names.filter(|name| !name.is_empty()).for_each(|name| self.include(root, name));
        }
        for one in own {
            if one.key == "type" {
                self.types.insert(one.section.clone(), one.value.clone());
            }
            self.assignments.retain(|old| (&old.section, &old.key) != (&one.section, &one.key));
            self.assignments.push(one);
        }
    }

    /// The assignments of a plug-in.
    fn of<'a>(&'a self, plug_in: &'a str) -> impl DoubleEndedIterator<Item = &'a Assignment> {
        self.assignments.iter().filter(move |one| {
            self.types.get(&one.section).map_or(one.section.as_str(), String::as_str) == plug_in
        })
    }

    fn value(&self, root: &Root, wish: &Wish) -> Option<String> {
        let SettingPlace::Kernel(path) = &wish.place else { return None };
        let differs = |one: &&Assignment| !wish.want.is_met(&wish.place, &one.value);
        if let Some(key) = path.strip_prefix("/proc/sys/") {
            let Assignment { line, value, .. } =
                self.of("sysctl").rfind(|one| slashed(&one.key) == key).filter(differs)?;
            return Some(match reapplies(root) {
                true => format!(
                    "{line} sets {value:?} when tuned starts, which then applies /etc/sysctl.d again: {SYSCTL_FILE} \
                     wins"
                ),
                false => format!(
                    "{line} sets {value:?} when tuned starts, and reapply_sysctl is off, so it wins: change it there \
                     or stop tuned"
                ),
            });
        }
        let Assignment { line, value, .. } =
            self.of("sysfs").rfind(|one| one.key == *path).filter(differs)?;
        Some(format!(
            "{line} sets {value:?} each time tuned starts, so it wins: change it there or stop tuned"
        ))
    }

    /// A profile's words for the command line have keys that begin with `cmdline`.
    fn word(&self, wanted: &str) -> Option<String> {
        let wanted = words_of(wanted).pop()?;
        let mut lines = self.of("bootloader").filter(|one| one.key.starts_with("cmdline"));
        lines.find_map(|Assignment { line, value, .. }| {
            let value = value.trim_start_matches(['+', '-', ' ']);
            let words = words_of(value.trim_matches('"'));
            let same = words.into_iter().find(|word| word.key() == wanted.key())?;
            (same.text != wanted.text).then(|| {
                format!(
                    "{line} has {:?} for the command line, and tuned writes it to $tuned_params each time it starts: \
                     change it there or stop tuned",
                    same.text
                )
            })
        })
    }
}

/// Whether tuned applies the files of sysctl.d after its own values, which is the default.
fn reapplies(root: &Root) -> bool {
    let text = root.read("/etc/tuned/tuned-main.conf").unwrap_or_default();
    let mut set = text.lines().filter_map(|line| line.split_once('='));
    let value = set.rfind(|(key, _)| key.trim() == "reapply_sysctl");
    !value.is_some_and(|(_, value)| {
        let value = value.trim().to_ascii_lowercase();
        ["0", "false", "no", "off", "n", "f"].contains(&value.as_str())
    })
}

/// Lines `key = value` in sections. Comments begin with `#` or `;`.
fn assignments(text: &str, path: &str) -> Vec<Assignment> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once('=') {
            found.push(Assignment {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
                line: format!("{path} line {}", number + 1),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wish::WantedValue;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(directory.path());
        (directory, root)
    }

    fn swappiness() -> Vec<Wish> {
        vec![Wish::kernel("/proc/sys/vm/swappiness", "1")]
    }

    const PARENT: (&str, &str) = (
        "usr/lib/tuned/throughput-performance/tuned.conf",
        "[sysctl]\nvm.swappiness=10\n# vm.swappiness = 3\n",
    );

    #[test]
    fn the_last_of_a_profile_and_its_parents_counts() {
        let active = ("etc/tuned/active_profile", "mine\n");
        let mine = "[main]\ninclude = throughput-performance\n";
        let (_keep, root) = tree(&[PARENT, active, ("etc/tuned/mine/tuned.conf", mine)]);
        let said = rivals(&root, &swappiness(), &[]);
        assert_eq!(
            said,
            [
                "/usr/lib/tuned/throughput-performance/tuned.conf line 2 sets \"10\" when tuned starts, which then \
              applies /etc/sysctl.d again: 99-zz-tickpath.conf wins"
            ]
        );
        let mine = format!("{mine}[sysctl]\nvm/swappiness = 1\n");
        let (_keep, root) = tree(&[PARENT, active, ("etc/tuned/mine/tuned.conf", &mine)]);
        assert_eq!(rivals(&root, &swappiness(), &[]), [""; 0]);
    }

    #[test]
    fn without_applying_again_and_below_sys_tuned_wins() {
        let profile =
            "[s]\ntype = sysctl\nvm.swappiness = 60\n[sysfs]\n/sys/block/sda/queue/x = 2\n";
        let (_keep, root) = tree(&[
            ("etc/tuned/active_profile", "x"),
            ("usr/lib/tuned/profiles/x/tuned.conf", profile),
            ("etc/tuned/tuned-main.conf", "daemon = 1\nreapply_sysctl = 0\n"),
        ]);
        let mut wishes = swappiness();
        let place = SettingPlace::Kernel("/sys/block/sda/queue/x".to_owned());
        wishes.push(Wish { place, want: WantedValue::AtMost(1) });
        let said = rivals(&root, &wishes, &[]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said.iter().all(|one| one.contains("so it wins")), "{said:?}");
    }

    #[test]
    fn words_of_the_command_line_are_named() {
        let profile = "[bootloader]\ncmdline_x=+nosmt isolcpus=managed_irq,5\n";
        let (_keep, root) =
            tree(&[("etc/tuned/active_profile", "x"), ("etc/tuned/x/tuned.conf", profile)]);
        let words = ["isolcpus=domain,2".to_owned(), "nosmt".to_owned(), "nohz_full=2".to_owned()];
        let said = rivals(&root, &[], &words);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("line 2 has \"isolcpus=managed_irq,5\""), "{said:?}");
    }

    /// An unreadable profile may set anything.
    #[test]
    fn a_profile_that_is_not_found_is_said() {
        let (_keep, root) = tree(&[("etc/tuned/active_profile", "a b")]);
        let said = rivals(&root, &swappiness(), &[]);
        assert!(said.len() == 2 && said[0].contains("profile a is not in"), "{said:?}");
        let (_keep, root) = tree(&[("etc/tuned/active_profile", "\n")]);
        assert_eq!(rivals(&root, &swappiness(), &[]), [""; 0]);
    }
}
