//! Names of threads. They are read while a thread is alive, because an ended thread has none.

use crate::trace::records::Switch;
use std::collections::BTreeMap;
use std::fs;

/// Names by thread number.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<i32, String>);

impl Names {
    /// The names of all threads that exist now.
    pub(super) fn of_all_threads() -> Names {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let threads = processes
            .filter(|one| one.file_name().to_str().is_some_and(|name| name.parse::<i32>().is_ok()))
            .flat_map(|one| fs::read_dir(one.path().join("task")).into_iter().flatten().flatten());
        let named = |thread: fs::DirEntry| {
            let number = thread.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(thread.path().join("comm")).ok()?;
            Some((number, name.trim().to_owned()))
        };
        Names(threads.filter_map(named).collect())
    }

    /// Reads the name of a thread when it first runs on a core.
    pub(super) fn see(&mut self, switch: &Switch) {
        let Switch::On { process, thread, .. } = *switch else { return };
        if thread > 0 && !self.0.contains_key(&thread) {
            let path = format!("/proc/{process}/task/{thread}/comm");
            let name = fs::read_to_string(path).unwrap_or_default();
            self.0.insert(thread, name.trim().to_owned());
        }
    }

    /// The name of `thread`, or a word that says why it has none.
    pub fn of(&self, thread: i32) -> &str {
        match self.0.get(&thread).map(String::as_str) {
            Some("") => "(ended)",
            Some(name) => name,
            None => "another program (its name needs CAP_PERFMON)",
        }
    }
}
