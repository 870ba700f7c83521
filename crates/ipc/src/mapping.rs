//! A shared mapping of a whole file, with all `unsafe` of its lifetime.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{self, Advice, MapFlags, ProtFlags};

/// Memory that other threads and processes also write; unmapped on drop.
///
/// Safe code sees it as atomic words. A user of the pointer must stay inside. It may write bytes
/// plainly only while the structure's protocol gives them to it alone, and read them plainly only
/// while the protocol lets nobody write them.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: shared access is by atomics, or by the protocol that users of the pointer follow.
unsafe impl Sync for Mapping {}

/// Access rights of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only loads.
    Read,
    /// Loads and stores.
    Write,
}

impl Mapping {
    /// Maps the first `bytes` of a file, which must have them, and loads all pages, so that there
    /// are no page faults later. Never store to a read-only mapping.
    pub(crate) fn new(file: BorrowedFd<'_>, bytes: usize, access: Access) -> io::Result<Mapping> {
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses changes nothing that exists.
        let start = unsafe { mm::mmap(ptr::null_mut(), bytes, protection, flags, file, 0) }?;
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mapping = Mapping { start, bytes };
        if access == Access::Read {
            return Ok(mapping);
        }
        // MAP_POPULATE only reads a shared page in. On a file system that notes the first write
        // (ext4, not tmpfs), that write would still fault. A kernel before 5.14 doesn't know the
        // advice, and faults. SAFETY: this advice changes how our own mapping is backed, not its
        // contents.
        let _ = unsafe { mm::madvise(start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite) };
        Ok(mapping)
    }

    /// The whole mapping as words, without a last partial word.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to a page, lives as long as `self`, is initialised (a
        // file's bytes), and every bit pattern is an AtomicU64.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / 8) }
    }

    /// The whole mapping as half words, for a futex. Use each position in one size only.
    pub(crate) fn half_words(&self) -> &[AtomicU32] {
        // SAFETY: as in `words`.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / 4) }
    }

    /// First address.
    #[inline(always)]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn advise_huge_pages(&self) -> io::Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: this advice changes how our own mapping is backed, not its contents.
        unsafe { mm::madvise(start, self.bytes, Advice::LinuxHugepage) }?;
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and no longer borrowed.
        let result = unsafe { mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(result.is_ok(), "munmap of our own mapping cannot fail: {result:?}");
    }
}
