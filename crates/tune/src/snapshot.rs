//! The files of an inspection as JSON, and a directory restored from it, so that one machine can
//! make a plan for another.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use host::Root;
use host::root::SourceText;
use record::tune::PathContent;

/// The files that were read through a root that records them.
pub fn taken(root: &Root) -> BTreeMap<String, PathContent> {
    let as_read = |noted| match noted {
        SourceText::Text(text) => PathContent::Text(text),
        SourceText::Directory => PathContent::Directory,
        SourceText::Link(target) => PathContent::Link(target),
    };
    root.notes().into_iter().map(|(path, noted)| (path, as_read(noted))).collect()
}

/// A directory with the files; removed on drop.
#[derive(Debug)]
pub struct Snapshot(PathBuf);

impl Snapshot {
    /// Writes the files to a directory for temporary files.
    ///
    /// # Errors
    /// If it can't be written, or a path leads out of it.
    pub fn restore(files: &BTreeMap<String, PathContent>) -> io::Result<Snapshot> {
        let name = format!("tickpath-inspection-{}-{:p}", std::process::id(), files);
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory)?;
        let snapshot = Snapshot(directory);
        for (path, read) in files {
            let is_plain =
                Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if !is_plain {
                let why = format!("{path:?} is not a path of a machine");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            snapshot.write(Path::new(path), read)?;
        }
        Ok(snapshot)
    }

    fn write(&self, path: &Path, read: &PathContent) -> io::Result<()> {
        // A link on the way would lead elsewhere: put its contents into a directory instead.
        let mut directory = self.0.clone();
        for part in path.parent().unwrap_or(Path::new("")).components() {
            directory.push(part);
            if directory.is_symlink() || directory.is_file() {
                fs::remove_file(&directory)?;
            }
            if !directory.exists() {
                fs::create_dir(&directory)?;
            }
        }
        let path = self.0.join(path);
        match read {
            PathContent::Text(text) => fs::write(path, text),
            PathContent::Directory => fs::create_dir_all(path),
            PathContent::Link(target) if !path.exists() => symlink(target, path),
            PathContent::Link(_) => Ok(()),
        }
    }

    /// The machine's root.
    pub fn root(&self) -> Root {
        Root::at(&self.0)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
