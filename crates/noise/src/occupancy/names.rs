//! Names of threads. They are read while a thread is alive, because an ended thread has none.
//! Memory stays bounded over any time: threads come and go, but their names are few.

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
    names: Vec<String>,
    numbers: BTreeMap<String, Name>,
    threads: BTreeMap<i32, Name>,
}

impl Default for Names {
    fn default() -> Names {
        let mut names =
            Names { names: Vec::new(), numbers: BTreeMap::new(), threads: BTreeMap::new() };
        names.number("another program (its name needs CAP_PERFMON)");
        names.number("(others)");
        names
    }
}

impl Names {
    /// The names of all threads that exist now.
    pub(super) fn of_all_threads() -> Names {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let threads = processes
            .filter(|one| one.file_name().to_str().is_some_and(|name| name.parse::<i32>().is_ok()))
            .flat_map(|one| fs::read_dir(one.path().join("task")).into_iter().flatten().flatten());
        let mut names = Names::default();
        for thread in threads {
            let Some(number) = thread.file_name().to_str().and_then(|text| text.parse().ok())
            else {
                continue;
            };
            if let Ok(name) = fs::read_to_string(thread.path().join("comm")) {
                names.know(number, name.trim());
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
            self.know(thread, if name.is_empty() { "(ended)" } else { name });
        }
    }

    /// Stores the name of a thread.
    pub(super) fn know(&mut self, thread: i32, name: &str) {
        if self.threads.len() >= THREADS_MAX {
            // Most of them have ended; the others are read again when they run again.
            self.threads.clear();
        }
        let number = self.number(name);
        self.threads.insert(thread, number);
    }

    fn number(&mut self, name: &str) -> Name {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= NAMES_MAX {
            return Name::OTHERS;
        }
        let number = Name(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The number of a thread's name.
    pub(super) fn of_thread(&self, thread: i32) -> Name {
        self.threads.get(&thread).copied().unwrap_or(Name::UNKNOWN)
    }

    /// The name, or a text that says why it is unknown.
    pub fn of(&self, name: Name) -> &str {
        &self.names[name.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_take_no_more_memory() {
        let mut names = Names::default();
        for thread in 1..100_000 {
            names.know(thread, &format!("worker-{thread}"));
        }
        assert!(names.threads.len() <= THREADS_MAX && names.names.len() == NAMES_MAX);
        assert_eq!(names.of(names.of_thread(99_999)), "(others)");
        names.know(7, "worker-1");
        assert_eq!(names.of(names.of_thread(7)), "worker-1");
        assert_eq!(names.of_thread(8), Name::UNKNOWN);
    }
}
