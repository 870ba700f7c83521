//! The file system with the machine's facts: `/`, or a directory of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Content of one path that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceText {
    /// A file's text.
    Text(String),
    /// A directory.
    Directory,
    /// A link and its target.
    Link(String),
}

/// The parent of `/proc` and `/sys`. All paths given to its methods are relative to it.
#[derive(Clone, Debug)]
pub struct Root {
    directory: PathBuf,
    notes: Option<Arc<Mutex<BTreeMap<String, SourceText>>>>,
}

impl Root {
    /// This machine.
    pub fn system() -> Root {
        Root::at("/")
    }

    /// A directory with its own `proc` and `sys`.
    pub fn at(directory: impl Into<PathBuf>) -> Root {
        Root { directory: directory.into(), notes: None }
    }

    /// Whether it is the real root of this machine.
    pub fn is_system(&self) -> bool {
        self.directory == Path::new("/")
    }

    /// A path below the root; a leading `/` means the root.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The same root, which notes everything read through it.
    pub fn noting(&self) -> Root {
        Root { directory: self.directory.clone(), notes: Some(Arc::default()) }
    }

    /// Contents read through it and its clones, by path; empty unless it notes.
    pub fn notes(&self) -> BTreeMap<String, SourceText> {
        let Some(notes) = &self.notes else { return BTreeMap::new() };
        notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the content of a path. A text replaces a note that the path exists.
    pub fn note(&self, path: impl AsRef<Path>, what: impl FnOnce() -> SourceText) {
        let Some(notes) = &self.notes else { return };
        let path = path.as_ref();
        let path = path.strip_prefix("/").unwrap_or(path).to_string_lossy().into_owned();
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        match what() {
            SourceText::Directory => {
                notes.entry(path).or_insert(SourceText::Directory);
            }
            SourceText::Text(text) if text.is_empty() => {
                notes.entry(path).or_insert(SourceText::Text(text));
            }
            other => {
                notes.insert(path, other);
            }
        }
    }

    /// A file's whole text without surrounding white space; `None` if it can't be read. Replaces
    /// invalid UTF-8. Never a part: `/proc/interrupts` of 256 cores is 4.4 MB, and the lines that a
    /// limit would cut are the network interface's.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(&path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        self.note(path, || SourceText::Text(text.clone().into_owned()));
        Some(text.trim().to_owned())
    }

    /// A file's text; `None` if it can't be read or is empty.
    pub fn read_text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).filter(|text| !text.is_empty())
    }

    /// A file's single value; `None` if it has none.
    pub fn read_value<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// A file that holds `0` or `1`.
    pub fn read_flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        match self.read(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The selected word of a list such as `always [madvise] never`.
    pub fn read_choice(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read(path)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// Names in a directory, sorted; `None` if it can't be listed.
    pub fn names(&self, path: impl AsRef<Path>) -> Option<Vec<String>> {
        let path = path.as_ref();
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        self.note(path, || SourceText::Directory);
        if self.notes.is_some() {
            for name in &names {
                let _ = self.exists(path.join(name));
            }
        }
        Some(names)
    }

    /// Numbers `n` of the entries called `{prefix}{n}` in a directory, sorted.
    pub fn numbered(&self, path: impl AsRef<Path>, prefix: &str) -> Option<Vec<usize>> {
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<usize> = self.names(path)?.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Some(numbers)
    }

    /// The last name in a symbolic link's target.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.path(&path)).ok()?;
        self.note(path, || SourceText::Link(target.to_string_lossy().into_owned()));
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Whether the path exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        let full = self.path(&path);
        let is_there = full.exists();
        if is_there {
            let is_directory = full.is_dir();
            let thing = || {
                if is_directory { SourceText::Directory } else { SourceText::Text(String::new()) }
            };
            self.note(path, thing);
        }
        is_there
    }
}
