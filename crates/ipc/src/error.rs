//! What can go wrong with shared memory: what happened, why, and what to try.

use std::io;
use std::path::{Path, PathBuf};

use crate::region::RegionKind;

/// Why a structure in shared memory was not created, opened or claimed.
#[derive(Debug, thiserror::Error)]
pub enum IpcError {
    /// Something stands at the path already.
    #[error("{0} exists: open it, choose another path, or remove it when nobody uses it")]
    Exists(PathBuf),

    /// The file system has no room for the blocks.
    #[error(
        "no room for {bytes} bytes at {region}: {source}; free some, take a smaller shape, or choose \
         another file system (a tmpfs grows with `mount -o remount,size=…`)"
    )]
    NoRoom {
        /// Path, or what stands for it.
        region: String,
        /// What was asked for.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },

    /// A system call failed.
    #[error("cannot {doing} {region}: {source}; {hint}")]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// Path, or what stands for it.
        region: String,
        /// The system's reason.
        source: io::Error,
        /// What to try.
        hint: &'static str,
    },

    /// Not a file of ours.
    #[error("{region} is not tickpath's shared memory: {why}; look whether the path is right")]
    Foreign {
        /// Path, or what stands for it.
        region: String,
        /// What was found.
        why: &'static str,
    },

    /// A format of another time.
    #[error(
        "{region} has format {found}, this program knows format {known}: both ends must be of one \
         version (and byte order); remove the file and create it anew"
    )]
    Version {
        /// Path, or what stands for it.
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
        /// Path, or what stands for it.
        region: String,
        /// What does not fit.
        why: String,
    },

    /// The file is shorter or longer than its header says.
    #[error(
        "{region} has {found} bytes, its header says {stated}: it was truncated or copied in part; \
         remove it and create it anew"
    )]
    Length {
        /// Path, or what stands for it.
        region: String,
        /// Bytes in the file.
        found: u64,
        /// Bytes by the header.
        stated: u64,
    },

    /// Another structure.
    #[error("{region} holds a {found}, not a {wanted}: look whether the path is right")]
    Kind {
        /// Path, or what stands for it.
        region: String,
        /// What it holds.
        found: RegionKind,
        /// What was to be opened.
        wanted: RegionKind,
    },

    /// A shape outside its limits.
    #[error("{what} is {given}, which is out of range: take {allowed}")]
    Shape {
        /// Which part of the shape.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The range, in words.
        allowed: String,
    },

    /// Somebody else has the role.
    #[error(
        "{region} has its {role} already: end the other one first (a process that died has given \
         its role back), or create a structure of your own"
    )]
    Claimed {
        /// Path, or what stands for it.
        region: String,
        /// Which role is taken.
        role: &'static str,
    },
}

impl IpcError {
    /// A system call on a path that failed.
    pub(crate) fn path(doing: &'static str, path: &Path, source: io::Error) -> IpcError {
        let hint = "look whether the directory exists and may be written; /dev/shm is a tmpfs on \
                    most machines";
        IpcError::System { doing, region: path.display().to_string(), source, hint }
    }
}
