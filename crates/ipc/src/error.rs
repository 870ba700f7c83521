//! Errors of shared memory, each with its cause and advice.

use std::io;
use std::path::{Path, PathBuf};

use crate::region::RegionKind;

/// Why a structure in shared memory can't be created, opened or claimed.
#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    /// A file exists at the path.
    #[error("{0} exists: open it, choose another path, or remove it if it is unused")]
    Exists(PathBuf),

    /// The file system is full.
    #[error(
        "no room for {bytes} bytes at {region}: {source}; free some, take a smaller shape, or choose \
         another file system (a tmpfs grows with `mount -o remount,size=…`)"
    )]
    NoRoom {
        /// Its path, or a description.
        region: String,
        /// The requested size.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },

    /// A system call failed.
    #[error("cannot {doing} {region}: {source}; {hint}")]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// Its path, or a description.
        region: String,
        /// The system's reason.
        source: io::Error,
        /// Advice.
        hint: &'static str,
    },

    /// The file is not one of ours.
    #[error("{region} is not tickpath's shared memory: {why}; look whether the path is right")]
    Foreign {
        /// Its path, or a description.
        region: String,
        /// The difference.
        why: &'static str,
    },

    /// The file has a format of another version.
    #[error(
        "{region} has format {found}, this program knows format {known}: both ends must be of one \
         version (and byte order); remove the file and create it anew"
    )]
    Version {
        /// Its path, or a description.
        region: String,
        /// Format in the file.
        found: u32,
        /// Format of this program.
        known: u32,
    },

    /// The header is damaged.
    #[error(
        "the header of {region} is damaged: {why}; the file was not written by us alone, or its \
         disk failed: remove it and create it anew"
    )]
    Damaged {
        /// Its path, or a description.
        region: String,
        /// The fault.
        why: String,
    },

    /// The file is shorter or longer than its header says.
    #[error(
        "{region} has {found} bytes, its header says {stated}: it was truncated or copied in part; \
         remove it and create it anew"
    )]
    Length {
        /// Its path, or a description.
        region: String,
        /// Bytes in the file.
        found: u64,
        /// Bytes according to the header.
        stated: u64,
    },

    /// The file holds another structure.
    #[error("{region} holds a {found}, not a {wanted}: look whether the path is right")]
    Kind {
        /// Its path, or a description.
        region: String,
        /// The structure in the file.
        found: RegionKind,
        /// The expected structure.
        wanted: RegionKind,
    },

    /// A shape outside its limits.
    #[error("{what} is {given}, which is out of range: take {allowed}")]
    Shape {
        /// The parameter.
        what: &'static str,
        /// Its value.
        given: u64,
        /// The range.
        allowed: String,
    },

    /// Another holder has the role.
    #[error(
        "{region} has its {role} already: end the other one first (a process that died has given \
         its role back), or create a structure of your own"
    )]
    Claimed {
        /// Its path, or a description.
        region: String,
        /// The role.
        role: &'static str,
    },
}

impl IpcError {
    /// The error of a failed system call on a path.
    pub(crate) fn path(doing: &'static str, path: &Path, source: io::Error) -> IpcError {
        let hint = "look whether the directory exists and may be written; /dev/shm is a tmpfs on \
                    most machines";
        IpcError::System { doing, region: path.display().to_string(), source, hint }
    }
}
