//! The storage under a directory: file system, mount options, block device.

use crate::root::Root;
use std::path::{Path, PathBuf};

/// The storage under a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Mount point of the file system.
    pub mount_point: String,
    /// Its type: `ext4`, `tmpfs`, …
    pub file_system: String,
    /// Its block device, or whatever it is mounted from.
    pub device: String,
    /// Options of the mount and of the file system.
    pub mount_options: String,
    /// Whether the block device rotates; `None` without a device or if unknown.
    pub is_rotational: Option<bool>,
}

/// The storage of directory `path`, from `/proc/self/mountinfo`
/// (Documentation/filesystems/proc.rst, 3.5); `None` if that can't be read.
pub fn of(root: &Root, path: &Path) -> Option<Storage> {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mounts = root.read("proc/self/mountinfo")?;
    let mounts = mounts.lines().filter_map(mount);
    // If two mounts have one mount point, the later one is visible.
    let (number, storage) = mounts
        .filter(|(_, storage)| path.starts_with(&storage.mount_point))
        .max_by_key(|(_, storage)| PathBuf::from(&storage.mount_point).components().count())?;
    let device = format!("sys/dev/block/{number}");
    // A partition has no queue of its own.
    let is_rotational = ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| root.read_flag(format!("{device}/{file}")));
    Some(Storage { is_rotational, ..storage })
}

/// Parses `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, with
/// any number of optional fields before the dash, into the device's number and the storage.
fn mount(line: &str) -> Option<(String, Storage)> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let (number, _, mount_point, options) =
        (mount.next()?, mount.next()?, mount.next()?, mount.next()?);
    let mut file_system = file_system.splitn(3, ' ');
    let (kind, device, of_file_system) =
        (file_system.next()?, file_system.next()?, file_system.next().unwrap_or_default());
    let storage = Storage {
        mount_point: unescaped(mount_point),
        file_system: kind.to_owned(),
        device: unescaped(device),
        mount_options: format!("{options};{of_file_system}"),
        is_rotational: None,
    };
    Some((number.to_owned(), storage))
}

/// Replaces `\040`, `\011`, `\012` and `\134` by space, tab, newline and backslash.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 22 0:25 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=8k
31 22 254:16 / /with\\040space rw,noatime master:1 shared:3 - xfs /dev/vdb rw
line that is none";

    fn machine() -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        let proc = directory.path().join("proc/self");
        std::fs::create_dir_all(&proc).unwrap();
        std::fs::write(proc.join("mountinfo"), MOUNTS).unwrap();
        let queue = directory.path().join("sys/dev/block/254:16/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::write(queue.join("rotational"), "1\n").unwrap();
        let root = Root::at(directory.path());
        (directory, root)
    }

    #[test]
    fn the_innermost_mount_counts() {
        let (_directory, root) = machine();
        let of = |path: &str| of(&root, Path::new(path)).unwrap();
        assert_eq!(of("/no/where").device, "/dev/vda1");
        assert_eq!(of("/no/where").mount_options, "rw,relatime;rw,discard");
        assert_eq!(of("/dev/shm").file_system, "tmpfs");
        assert_eq!(of("/dev/shmem").file_system, "ext4");
        let other = of("/with space/and more");
        assert_eq!((other.file_system.as_str(), other.is_rotational), ("xfs", Some(true)));
    }

    #[test]
    fn this_machine_says_where_its_files_are() {
        let Some(storage) = of(&Root::system(), &std::env::temp_dir()) else {
            testing::skip!(Kernel, "no /proc/self/mountinfo here");
        };
        assert!(!storage.file_system.is_empty(), "{storage:?}");
    }

    #[test]
    fn a_machine_that_says_nothing_has_none() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(of(&Root::at(directory.path()), Path::new("/")), None);
    }
}
