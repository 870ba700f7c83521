//! Names of threads, and whether they belong to this run. They are read while a thread is alive,
//! because an ended thread has none. Memory stays bounded over any time: threads come and go, but
//! their names are few.

use crate::trace::records::Switch;
use std::collections::BTreeMap;
use std::fs;

/// Limit on the distinct names; all further ones are one.
const NAMES_MAX: usize = 4_096;
/// Limit on the threads whose names are known at one time.
const THREADS_MAX: usize = 16_384;

/// Number of a name in [`Names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(u32);

impl Name {
    /// Only the measured thread is visible, or the thread was not seen when it began to run.
    pub const UNKNOWN: Name = Name(0);
    const OTHERS: Name = Name(1);
}

/// Names by number, and the numbers of the threads' names.
#[derive(Clone, Debug)]
pub struct Names {
    /// Each with whether its threads belong to this run.
    names: Vec<(String, bool)>,
    numbers: BTreeMap<(String, bool), Name>,
    threads: BTreeMap<i32, Name>,
}

impl Default for Names {
    fn default() -> Names {
        let mut names =
            Names { names: Vec::new(), numbers: BTreeMap::new(), threads: BTreeMap::new() };
        names.number("another program (its name needs CAP_PERFMON)", false);
        names.number("(others)", false);
        names
    }
}

impl Names {
    /// The names of all threads that exist now.
    pub(super) fn of_all_threads() -> Names {
        let mut names = Names::default();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = number_of(&process) else { continue };
            let is_own = is_own(pid);
            for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten()
            {
                let name = fs::read_to_string(thread.path().join("comm"));
                if let (Some(number), Ok(name)) = (number_of(&thread), name) {
                    names.know(number, name.trim(), is_own);
                }
            }
        }
        names
    }

    /// Reads the name of a thread when it first runs on a core.
    pub(super) fn see(&mut self, switch: &Switch) {
        let Switch::On { process, thread, .. } = *switch else { return };
        if thread > 0 && !self.threads.contains_key(&thread) {
            let path = format!("/proc/{process}/task/{thread}/comm");
            let name = fs::read_to_string(path).unwrap_or_default();
            let name = name.trim();
            self.know(thread, if name.is_empty() { "(ended)" } else { name }, is_own(process));
        }
    }

    /// Stores the name of a thread.
    pub(super) fn know(&mut self, thread: i32, name: &str, is_own: bool) {
        if self.threads.len() >= THREADS_MAX {
            // Most of them have ended; the others are read again when they run again.
            self.threads.clear();
        }
        let number = self.number(name, is_own);
        self.threads.insert(thread, number);
    }

    fn number(&mut self, name: &str, is_own: bool) -> Name {
        let key = (name.to_owned(), is_own);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.names.len() >= NAMES_MAX {
            return Name::OTHERS;
        }
        let number = Name(self.names.len() as u32);
        self.names.push(key.clone());
        self.numbers.insert(key, number);
        number
    }

    /// The number of a thread's name.
    pub(super) fn of_thread(&self, thread: i32) -> Name {
        self.threads.get(&thread).copied().unwrap_or(Name::UNKNOWN)
    }

    /// The name, or a text that says why it is unknown.
    pub fn of(&self, name: Name) -> &str {
        &self.names[name.0 as usize].0
    }

    /// Whether the threads of that name belong to this run.
    pub fn is_own(&self, name: Name) -> bool {
        self.names[name.0 as usize].1
    }
}

fn number_of(entry: &fs::DirEntry) -> Option<i32> {
    entry.file_name().to_str()?.parse().ok()
}

/// Whether process `pid` is this one or descends from it. A name proves nothing: other programs
/// are called `tickpath` too. The way up ends at this process, which lives, so that a number that
/// the kernel gave to a second process does not mislead.
fn is_own(mut pid: i32) -> bool {
    let this = std::process::id().cast_signed();
    while pid > 1 && pid != this {
        pid = parent(pid).unwrap_or(0);
    }
    pid == this
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; state and parent follow it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_take_no_more_memory() {
        let mut names = Names::default();
        for thread in 1..100_000 {
            names.know(thread, &format!("worker-{thread}"), false);
        }
        assert!(names.threads.len() <= THREADS_MAX && names.names.len() == NAMES_MAX);
        assert_eq!(names.of(names.of_thread(99_999)), "(others)");
        names.know(7, "worker-1", false);
        assert_eq!(names.of(names.of_thread(7)), "worker-1");
        assert_eq!(names.of_thread(8), Name::UNKNOWN);
    }

    /// A pause by any program called `tickpath-…` was once reported as this run's own.
    #[test]
    fn own_is_what_this_process_started_whatever_its_name() {
        let start = || std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut child = start();
        let pid = child.id().cast_signed();
        let is_ours = is_own(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_ours && is_own(std::process::id().cast_signed()));
        assert!(!is_own(pid) && !is_own(1));
        let mut names = Names::default();
        names.know(7, "tickpath-other", false);
        names.know(8, "tickpath-other", true);
        assert!(!names.is_own(names.of_thread(7)) && names.is_own(names.of_thread(8)));
    }
}
