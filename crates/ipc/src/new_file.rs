//! Makes a file that appears under its name only when it is complete.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{self, FallocateFlags, Mode, OFlags, RenameFlags};

use crate::IpcError;

/// A file under a temporary name; removed unless it is published.
pub(crate) struct TemporaryFile<'a> {
    pub(crate) file: File,
    path: PathBuf,
    target: &'a Path,
    published: bool,
}

/// Number of temporary names to try: a killed creator leaves one of them in use.
const TEMPORARY_NAMES_MAX: u32 = 64;

impl<'a> TemporaryFile<'a> {
    /// Makes an empty file next to `target`.
    pub(crate) fn create(target: &'a Path) -> Result<TemporaryFile<'a>, IpcError> {
        if target.symlink_metadata().is_ok() {
            return Err(IpcError::Exists(target.to_owned()));
        }
        let Some(name) = target.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            let source = io::ErrorKind::InvalidInput.into();
            return Err(IpcError::path("create", target, source));
        };
        let mut number = 0;
        loop {
            let name = format!(".{name}.{}-{number}.new", std::process::id());
            let path = target.with_file_name(name);
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(TemporaryFile { file: file.into(), path, target, published: false });
                }
                Err(rustix::io::Errno::EXIST) if number < TEMPORARY_NAMES_MAX => number += 1,
                Err(e) => return Err(IpcError::path("create", target, e.into())),
            }
        }
    }

    /// Gives it its final name; does not overwrite an existing file.
    pub(crate) fn publish(mut self) -> Result<(), IpcError> {
        let root = fs::CWD;
        match fs::renameat_with(root, &self.path, root, self.target, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.published = true;
                Ok(())
            }
            Err(rustix::io::Errno::EXIST) => Err(IpcError::Exists(self.target.to_owned())),
            Err(e) => Err(IpcError::path("give its name to", self.target, e.into())),
        }
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done; the name shows whose file it was.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Gives the file its length in allocated blocks.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, bytes),
        Err(e) => Err(e.into()),
    }
}

pub(crate) fn write_zeros(mut file: &File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(zeros.len() as u64);
        file.write_all(&zeros[..part as usize])?;
        left -= part;
    }
    // A file system that allocates late reports only now that it is full.
    file.sync_data()
}
