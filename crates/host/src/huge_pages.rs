//! Huge pages for existing memory: with pages of 4 KiB, each look-up in a large table misses the
//! TLB.
//!
//! The allocator can't do this reliably: glibc 2.36 with `glibc.malloc.hugetlb` compares the text
//! of `/sys/kernel/mm/transparent_hugepage/enabled` without a closing zero, so the result depends
//! on old stack contents. Half of our processes got huge pages; the other half had half the
//! throughput.

use crate::maps;
use crate::root::Root;
use std::ffi::c_void;
use std::io;

/// Bytes of a huge page if the system doesn't say: x86-64's, and aarch64's with pages of 4 KiB.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Moves all large private memory of this process to huge pages: marks present and future pages
/// (`MADV_HUGEPAGE`), and lets the kernel merge the present ones now (`MADV_COLLAPSE`, since Linux
/// 6.1). [`crate::memory::huge_page_bytes`] tells the result. Takes about a millisecond per 10 MB,
/// so never call it during a measurement.
///
/// Ignores errors of the kernel.
pub fn use_huge_pages(root: &Root) {
    let Some(maps) = root.read("proc/self/maps") else { return };
    for (start, end) in maps.lines().filter_map(large_region) {
        // On a kernel without support or without a free huge page, the pages stay as they are.
        let _ = advise(start, end - start, libc::MADV_HUGEPAGE);
        let (first, last) = (start.next_multiple_of(HUGE_PAGE_BYTES), end - end % HUGE_PAGE_BYTES);
        if first < last {
            let _ = advise(first, last - first, libc::MADV_COLLAPSE);
        }
    }
}

/// Begin and end of a region in `maps`, if it is ours and large enough for a huge page.
fn large_region(line: &str) -> Option<(usize, usize)> {
    let region = maps::private_region(line)?;
    // A stack grows, and is small.
    let is_ours = matches!(region.name, "" | "[heap]") || region.name.starts_with("[anon");
    (is_ours && region.length >= HUGE_PAGE_BYTES)
        .then_some((region.start, region.start + region.length))
}

/// Returns the kernel's error.
fn advise(start: usize, bytes: usize, advice: libc::c_int) -> io::Result<()> {
    // SAFETY: neither advice changes the memory's contents or permissions. If another thread has
    // unmapped the memory, the kernel returns an error; a new mapping there may be advised as well.
    let result = unsafe { libc::madvise(start as *mut c_void, bytes, advice) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::huge_page_bytes;

    #[test]
    fn regions_are_told_apart() {
        for (line, region) in [
            ("10000000-10400000 rw-p 00000000 00:00 0 ", Some((0x1000_0000, 0x1040_0000))),
            ("10000000-10400000 rw-p 00000000 00:00 0 [heap]", Some((0x1000_0000, 0x1040_0000))),
            ("10000000-10400000 rw-p 00000000 00:00 0 [stack]", None),
            ("10000000-10400000 r--p 00000000 00:00 0 ", None),
            ("10000000-10400000 rw-s 00000000 00:01 7 /dev/shm/ring", None),
            ("10000000-10400000 rw-p 00000000 fe:00 7 /lib/libc.so", None),
            ("10000000-10100000 rw-p 00000000 00:00 0 ", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(large_region(line), region, "{line}");
        }
    }

    /// The memory is written to only before, so the kernel must merge existing pages.
    #[test]
    fn memory_that_is_there_comes_into_huge_pages() {
        let root = Root::system();
        let modes = root.read("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        if modes.is_empty() || modes.contains("[never]") || huge_page_bytes(&root).is_none() {
            testing::skip!(Kernel, "no transparent huge pages here: {modes:?}");
        }
        let memory = std::hint::black_box(vec![7u8; 64 << 20]);
        // An emulator accepts the advice and ignores it.
        let first = (memory.as_ptr() as usize).next_multiple_of(HUGE_PAGE_BYTES);
        let before = huge_page_bytes(&root).unwrap();
        let advised = advise(first, HUGE_PAGE_BYTES, libc::MADV_COLLAPSE);
        if huge_page_bytes(&root).unwrap() < before + HUGE_PAGE_BYTES as u64 {
            testing::skip!(Kernel, "this kernel puts no huge page together: {advised:?}");
        }
        use_huge_pages(&root);
        let bytes = huge_page_bytes(&root).unwrap();
        assert!(memory.iter().all(|byte| *byte == 7));
        assert!(bytes >= 48 << 20, "{bytes} bytes of 64 MiB");
    }
}
