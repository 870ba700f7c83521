//! A fake kernel over a tree of files: it brackets choices, adds and removes controllers, makes the
//! files of a control group, and fails or stops where a test requires it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use host::Root;
use tune::place::SettingPlace;
use tune::system::{Machine, System};

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// The n-th write to a place fails with this error number.
    Reject(usize, i32),
    /// Everything from the n-th operation on has no effect, as if the process had been killed.
    Stop(usize),
    /// As `Stop`, and the next line of the journal is torn.
    Tear(usize),
}

pub struct Kernel {
    machine: Machine,
    fault: Fault,
    operations: usize,
    writes: Cell<usize>,
}

impl Kernel {
    pub fn new(root: &Root, fault: Fault) -> Kernel {
        Kernel { machine: Machine::new(root.clone()), fault, operations: 0, writes: Cell::new(0) }
    }

    /// Number of writes.
    pub fn writes(&self) -> usize {
        self.writes.get()
    }

    pub fn operations(&self) -> usize {
        self.operations
    }

    fn has_stopped(&mut self) -> bool {
        self.operations += 1;
        match self.fault {
            Fault::Stop(at) | Fault::Tear(at) => self.operations > at,
            Fault::Nothing | Fault::Reject(..) => false,
        }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.machine.root().path(path)
    }

    /// The kernel's reaction to a write to one of its files.
    fn kernel(&mut self, path: &str, value: &str) -> io::Result<()> {
        let now = fs::read_to_string(self.path(path))?;
        let text = if now.contains('[') {
            let words = now.replace(['[', ']'], "");
            if !words.split_whitespace().any(|word| word == value) {
                return Err(io::Error::from_raw_os_error(22));
            }
            let bracket = |word: &str| match word == value {
                true => format!("[{word}]"),
                false => word.to_owned(),
            };
            words.split_whitespace().map(bracket).collect::<Vec<_>>().join(" ")
        } else if path.ends_with("subtree_control") {
            let mut words: Vec<&str> = now.split_whitespace().collect();
            for change in value.split_whitespace() {
                match (change.strip_prefix('+'), change.strip_prefix('-')) {
                    (Some(name), _) => words.push(name),
                    (_, Some(name)) => words.retain(|word| *word != name),
                    _ => return Err(io::Error::from_raw_os_error(22)),
                }
            }
            words.join(" ")
        } else if path.ends_with("xps_cpus") || path.ends_with("rps_cpus") {
            // The kernel pads masks.
            format!("{:0>width$}", value, width = now.trim().len())
        } else if path.contains("tcp_rmem") || path.contains("tcp_wmem") {
            value.split_whitespace().collect::<Vec<_>>().join("\t")
        } else {
            value.to_owned()
        };
        fs::write(self.path(path), text + "\n")
    }
}

impl System for Kernel {
    fn read(&self, place: &SettingPlace) -> io::Result<Option<String>> {
        self.machine.read(place)
    }

    fn write(&mut self, place: &SettingPlace, value: Option<&str>) -> io::Result<()> {
        if self.has_stopped() {
            return Err(io::Error::other("killed"));
        }
        self.writes.set(self.writes.get() + 1);
        if let Fault::Reject(at, errno) = self.fault
            && self.writes.get() == at
        {
            return Err(io::Error::from_raw_os_error(errno));
        }
        match (place, value) {
            (SettingPlace::Kernel(path), Some(value)) => {
                self.kernel(path, &tune::wish::restorable(value))
            }
            (SettingPlace::Directory(path), value) if path.contains("cgroup") => {
                let directory = self.path(path);
                match value {
                    Some(_) => {
                        fs::create_dir(&directory)?;
                        fs::write(directory.join("cpuset.cpus"), "\n")?;
                        fs::write(directory.join("cpuset.cpus.partition"), "member\n")
                    }
                    None => fs::remove_dir_all(&directory),
                }
            }
            _ => self.machine.write(place, value),
        }
    }

    fn append(&mut self, file: &Path, line: &str) -> io::Result<()> {
        if self.has_stopped() {
            if let Fault::Tear(at) = self.fault
                && self.operations == at + 1
            {
                let half = &line.as_bytes()[..line.len() / 2];
                let mut whole = fs::read(file).unwrap_or_default();
                whole.extend_from_slice(half);
                fs::write(file, whole)?;
            }
            return Err(io::Error::other("killed"));
        }
        // Not synced: these tests stop a process, not a machine.
        let mut opened = fs::OpenOptions::new().create(true).append(true).open(file)?;
        opened.write_all(format!("{line}\n").as_bytes())
    }
}

/// Every file below a directory: its bytes and mode, or its target.
pub fn bytes(directory: &Path) -> BTreeMap<String, String> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(one) = open.pop() {
        for entry in fs::read_dir(&one).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
            let content = if path.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if path.is_dir() {
                open.push(path.clone());
                "a directory".to_owned()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            found.insert(name, format!("{mode:o} {content}"));
        }
    }
    found
}
