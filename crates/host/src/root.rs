//! The file system that facts are read from: `/`, or a directory that a test filled.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest file that is read, bytes; what is longer is cut. `/proc/cpuinfo` of 512 cores is 800 kB.
pub const FILE_BYTES_MAX: u64 = 4 << 20;

/// Where `/proc` and `/sys` are. All paths given to its methods are relative to it.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// This machine.
    pub fn system() -> Root {
        Root(PathBuf::from("/"))
    }

    /// A directory that holds a `proc` and a `sys` of its own.
    pub fn at(directory: impl Into<PathBuf>) -> Root {
        Root(directory.into())
    }

    /// A path below the root. A leading `/` is the root's.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A file's text without surrounding white space; `None` where it can't be read. Bytes that
    /// aren't UTF-8 are replaced, bytes beyond [`FILE_BYTES_MAX`] are left out.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut bytes = Vec::new();
        let file = fs::File::open(self.path(path)).ok()?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file's text; `None` where it can't be read or is empty.
    pub fn read_text(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).filter(|text| !text.is_empty())
    }

    /// A file that holds one value; `None` where it doesn't.
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

    /// The choice in a list such as `always [madvise] never`.
    pub fn read_choice(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.read(path)?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    }

    /// Names in a directory, sorted; `None` where it can't be listed.
    pub fn names(&self, path: impl AsRef<Path>) -> Option<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
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
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Whether something is there.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }
}
