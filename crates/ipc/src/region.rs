//! Memory of a fixed size that threads or processes share: a file on a path (preferably on tmpfs)
//! or a memfd.
//!
//! | bytes | header, in the machine's byte order |
//! |---|---|
//! | 0..8 | `TICKPIPC` |
//! | 8..12 | version of the format, [`VERSION`] |
//! | 12..16 | kind of structure, [`RegionKind`] |
//! | 16..24 | length of the whole file |
//! | 24..88 | geometry: eight words defined by the structure |
//! | 88..120 | zero |
//! | 120..128 | FNV-1a of bytes 0..120 |
//! | 128.. | the structure; begins on a pair of cache lines |
//!
//! A region becomes visible under its path only when it is complete: it is made under a temporary
//! name and renamed, and never overwrites a file. Its blocks are allocated before it is mapped
//! (`fallocate`; without it, by writing), so that a full disk is an error here and not a SIGBUS
//! later.
//!
//! **Not protected.** A process that may write the file may truncate it, and the next access is a
//! SIGBUS. Or it may write into it, which the structures survive, but with wrong or missing
//! messages. Files have mode 0600. A memfd is sealed against shrinking and growing
//! (`F_SEAL_SHRINK`, `F_SEAL_GROW`, fcntl(2)). On file systems that copy on write (btrfs, ZFS),
//! writing to an allocated block may need room again. Tmpfs and memfds count towards a memory
//! control group's limit; beyond it the process is killed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{self, FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use crate::IpcError;
use crate::claim::{self, Claim};
use crate::header::{decode, encode};
use crate::mapping::{Access, Mapping};
use crate::new_file::{TemporaryFile, allocate};

pub use crate::header::{GEOMETRY_WORDS, HEADER_BYTES, REGION_BYTES_MAX, RegionKind, VERSION};

/// The memory behind a new region.
#[derive(Clone, Copy, Debug)]
pub enum RegionBacking<'a> {
    /// A file, which any process can open by its path. It stays when its creator ends.
    File(&'a Path),
    /// A memfd, for threads and for processes that get its descriptor. It disappears with its last
    /// descriptor.
    Memory,
}

/// A mapped region.
#[derive(Debug)]
pub struct Region {
    name: String,
    file: OwnedFd,
    mapping: Mapping,
    geometry: [u64; GEOMETRY_WORDS],
}

impl Region {
    /// Creates, allocates and maps a region with a body of `body_bytes` zeros. `prepare` may write
    /// into it before it is visible.
    ///
    /// # Errors
    /// An existing file, a full file system, a path without permission, or a body above
    /// [`REGION_BYTES_MAX`].
    pub fn create(
        place: RegionBacking<'_>,
        kind: RegionKind,
        geometry: [u64; GEOMETRY_WORDS],
        body_bytes: u64,
        prepare: impl FnOnce(&Region),
    ) -> Result<Region, IpcError> {
        let bytes = body_bytes.saturating_add(HEADER_BYTES as u64);
        if bytes > REGION_BYTES_MAX {
            let allowed = format!("at most {REGION_BYTES_MAX} bytes");
            return Err(IpcError::Shape { what: "the region", given: bytes, allowed });
        }
        match place {
            RegionBacking::Memory => {
                let region = Region::new_memory(geometry, bytes)?;
                region.fill(kind, prepare);
                Ok(region)
            }
            RegionBacking::File(path) => {
                let temporary = TemporaryFile::create(path)?;
                let file =
                    temporary.file.try_clone().map_err(|e| IpcError::path("open", path, e))?;
                let name = path.display().to_string();
                let region = Region::allocate_and_map(name, file.into(), geometry, bytes)?;
                region.fill(kind, prepare);
                temporary.publish()?;
                Ok(region)
            }
        }
    }

    fn new_memory(geometry: [u64; GEOMETRY_WORDS], bytes: u64) -> Result<Region, IpcError> {
        let name = "a memfd".to_owned();
        let failed = |doing| {
            move |source: rustix::io::Errno| IpcError::System {
                doing,
                region: "a memfd".to_owned(),
                source: source.into(),
                hint: "give a path on a tmpfs instead",
            }
        };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = fs::memfd_create("tickpath", flags).map_err(failed("create"))?;
        let region = Region::allocate_and_map(name, file, geometry, bytes)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fs::fcntl_add_seals(&region.file, seals).map_err(failed("seal"))?;
        Ok(region)
    }

    fn allocate_and_map(
        name: String,
        file: OwnedFd,
        geometry: [u64; GEOMETRY_WORDS],
        bytes: u64,
    ) -> Result<Region, IpcError> {
        let no_room = |source| IpcError::NoRoom { region: name.clone(), bytes, source };
        let file = File::from(file);
        allocate(&file, bytes).map_err(no_room)?;
        let mapping = Mapping::new(file.as_fd(), bytes as usize, Access::Write);
        let mapping = mapping.map_err(|e| map(&name, e))?;
        Ok(Region { name, file: file.into(), mapping, geometry })
    }

    fn fill(&self, kind: RegionKind, prepare: impl FnOnce(&Region)) {
        let header = encode(kind, &self.geometry, self.mapping.words().len() as u64 * 8);
        for (word, bytes) in self.mapping.words().iter().zip(header.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Relaxed);
        }
        prepare(self);
    }

    /// Opens and maps the region of `kind` at `path`.
    ///
    /// # Errors
    /// If it is not a complete region of this version and kind; the error says why.
    pub fn open(path: &Path, kind: RegionKind) -> Result<Region, IpcError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = fs::open(path, flags, Mode::empty());
        let file = file.map_err(|e| IpcError::path("open", path, e.into()))?;
        Region::open_file(path.display().to_string(), file, kind, Access::Write)
    }

    /// As [`Region::open`], but read-only: the caller must not store to its words. Needs no write
    /// permission; with it, holes of a sparse copy are filled first.
    pub(crate) fn open_to_read(path: &Path, kind: RegionKind) -> Result<Region, IpcError> {
        let open =
            |access| fs::open(path, access | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
        let file = match open(OFlags::RDWR) {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => open(OFlags::RDONLY),
            file => file,
        };
        let file = file.map_err(|e| IpcError::path("open", path, e.into()))?;
        Region::open_file(path.display().to_string(), file, kind, Access::Read)
    }

    /// Opens and maps a region of `kind` from an inherited or received descriptor.
    ///
    /// # Errors
    /// As [`Region::open`].
    pub fn from_fd(file: OwnedFd, kind: RegionKind) -> Result<Region, IpcError> {
        Region::open_file("a memfd".to_owned(), file, kind, Access::Write)
    }

    fn open_file(
        name: String,
        file: OwnedFd,
        kind: RegionKind,
        access: Access,
    ) -> Result<Region, IpcError> {
        let file = File::from(file);
        let failed = |doing| {
            let region = name.clone();
            let hint = "look whether the file system is well";
            move |source| IpcError::System { doing, region, source, hint }
        };
        let metadata = file.metadata().map_err(failed("look at"))?;
        let foreign = |why| IpcError::Foreign { region: name.clone(), why };
        if !metadata.is_file() {
            return Err(foreign("it is no regular file"));
        }
        // Read it without mapping: a file that is truncated now would be a SIGBUS.
        let mut header = [0; HEADER_BYTES];
        if metadata.len() < HEADER_BYTES as u64 {
            return Err(foreign("it is shorter than a header"));
        }
        file.read_exact_at(&mut header, 0).map_err(failed("read"))?;
        let geometry = decode(&name, &header, metadata.len(), kind)?;
        // A sparse copy has holes, and a hole on a full disk is a SIGBUS.
        let bytes = metadata.len();
        match fs::fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(Errno::BADF) if access == Access::Read => {}
            Err(e) => return Err(IpcError::NoRoom { region: name, bytes, source: e.into() }),
        }
        let mapping = Mapping::new(file.as_fd(), bytes as usize, access);
        let mapping = mapping.map_err(|e| map(&name, e))?;
        Ok(Region { name, file: file.into(), mapping, geometry })
    }

    /// The path or a description, for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The structure's shape, as its creator wrote it. Untrusted: check it.
    pub fn geometry(&self) -> &[u64; GEOMETRY_WORDS] {
        &self.geometry
    }

    /// Bytes after the header.
    pub fn body_bytes(&self) -> usize {
        self.mapping.words().len() * 8 - HEADER_BYTES
    }

    /// The body as words. Other processes may write them at any time.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        &self.mapping.words()[HEADER_BYTES / 8..]
    }

    /// The body as half words, for a [`Bell`](crate::bell::Bell). Use each position in one size
    /// only.
    pub(crate) fn half_words(&self) -> &[AtomicU32] {
        &self.mapping.half_words()[HEADER_BYTES / 4..]
    }

    /// The body as bytes, for messages that are not words; see [`Mapping`](crate::mapping::Mapping)
    /// for the rules.
    #[inline(always)]
    pub(crate) fn body(&self) -> *mut u8 {
        // SAFETY: the mapping is at least a header long.
        unsafe { self.mapping.start().add(HEADER_BYTES) }
    }

    /// Asks for huge pages (`MADV_HUGEPAGE`). On tmpfs they need a mount with `huge=advise` or
    /// more, for a memfd a suitable `/sys/kernel/mm/transparent_hugepage/shmem_enabled`. Because
    /// the memory is already allocated, they come only when khugepaged gets to it.
    ///
    /// # Errors
    /// On a kernel without transparent huge pages.
    pub fn advise_huge_pages(&self) -> Result<(), IpcError> {
        let failed = |source: io::Error| IpcError::System {
            doing: "ask for huge pages for",
            region: self.name.clone(),
            source,
            hint: "go on without: the kernel has none, or only by mount option",
        };
        self.mapping.advise_huge_pages().map_err(failed)
    }

    /// The descriptor, to pass to another process ([`Region::from_fd`]).
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Takes the role with the given byte; `role` names it in errors. Each structure defines its
    /// bytes.
    ///
    /// # Errors
    /// If a living process has it, or if the file can't be locked.
    pub fn claim(&self, byte: u64, role: &'static str) -> Result<Claim, IpcError> {
        match self.try_claim(byte)? {
            Some(claim) => Ok(claim),
            None => Err(IpcError::Claimed { region: self.name.clone(), role }),
        }
    }

    /// As [`Region::claim`]; `None` if a living process has the role.
    ///
    /// # Errors
    /// If the file can't be locked.
    pub fn try_claim(&self, byte: u64) -> Result<Option<Claim>, IpcError> {
        Claim::take(self.fd(), byte).map_err(|e| self.not_locked(e))
    }

    /// Whether a living process has the role: a system call.
    ///
    /// # Errors
    /// If the lock can't be read.
    pub fn is_claimed(&self, byte: u64) -> Result<bool, IpcError> {
        claim::is_held(self.fd(), byte).map_err(|e| self.not_locked(e))
    }

    fn not_locked(&self, source: io::Error) -> IpcError {
        IpcError::System {
            doing: "lock a byte of",
            region: self.name.clone(),
            source,
            hint: "it needs /proc, and a file system with locks (tmpfs has them)",
        }
    }
}

fn map(name: &str, source: io::Error) -> IpcError {
    let hint = "check `ulimit -v` and /proc/sys/vm/max_map_count";
    IpcError::System { doing: "map", region: name.to_owned(), source, hint }
}

#[cfg(test)]
#[path = "region_tests.rs"]
mod tests;
