//! Pages out another process's memory, so that it faults on the next use: a disturbance for tests
//! of page-fault detection.

use crate::maps;
use crate::root::Root;
use rustix::fd::AsRawFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;

/// Bytes taken from each region. A thread's busiest pages return at once.
const REGION_BYTES_MAX: usize = 256 << 10;
/// Maximum number of regions in one system call (`IOV_MAX`).
const REGIONS_MAX: usize = 1024;

/// Whether there is free swap; without it, private memory can't be paged out.
pub fn is_possible(root: &Root) -> bool {
    let free = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("SwapFree:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    root.read("proc/meminfo").and_then(|text| free(&text)).is_some_and(|kib| kib > 0)
}

/// Writes private memory of process `pid` to swap: the first 256 KiB of each region
/// (`process_madvise(2)` with `MADV_PAGEOUT`, since Linux 5.10).
///
/// # Errors
/// If the process has ended, or this process may not advise it (`CAP_SYS_NICE`).
pub fn page_out(root: &Root, pid: Pid) -> io::Result<()> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let maps = root.read(format!("proc/{}/maps", pid.as_raw_pid())).unwrap_or_default();
    let regions: Vec<libc::iovec> = maps.lines().filter_map(taken_part).take(REGIONS_MAX).collect();
    // SAFETY: the regions are addresses of another process; the kernel checks them and this process
    // never touches them. The advice changes where that memory is, not its contents.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_raw_fd(),
            regions.as_ptr(),
            regions.len(),
            libc::MADV_PAGEOUT,
            0,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The part of a line's region to page out.
fn taken_part(line: &str) -> Option<libc::iovec> {
    let region = maps::private_region(line)?;
    let iov_len = region.length.min(REGION_BYTES_MAX);
    Some(libc::iovec { iov_base: region.start as *mut libc::c_void, iov_len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meminfo(text: &str) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/meminfo"), text).unwrap();
        let root = Root::at(directory.path());
        (directory, root)
    }

    #[test]
    fn swap_with_room_is_needed() {
        let is = |text| is_possible(&meminfo(text).1);
        assert!(is("MemFree: 1 kB\nSwapFree:       1024 kB\n"));
        assert!(!is("SwapFree: 0 kB\n") && !is("SwapFree: much\n") && !is(""));
    }

    #[test]
    fn only_private_memory_is_taken() {
        let region = |line| taken_part(line).map(|one| (one.iov_base as usize, one.iov_len));
        let heap = "10000000-10400000 rw-p 00000000 00:00 0 [heap]";
        assert_eq!(region(heap), Some((0x1000_0000, REGION_BYTES_MAX)));
        assert_eq!(region("10000000-10001000 rw-p 00000000 00:00 0"), Some((0x1000_0000, 4096)));
        for line in [
            "10000000-10400000 r--p 00000000 00:00 0",
            "10000000-10400000 rw-s 00000000 00:01 7 /dev/shm/ring",
            "10000000-10400000 rw-p 00000000 fe:00 7 /lib/libc.so",
            "nonsense",
        ] {
            assert_eq!(region(line), None, "{line}");
        }
    }

    /// A shell that waits for input loses its memory and still continues.
    #[test]
    fn a_process_goes_on_with_its_memory() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let paged = page_out(&Root::system(), pid);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        if let Err(error) = paged {
            testing::skip!(Kernel, "this kernel takes no advice for another process: {error}");
        }
        assert!(page_out(&Root::system(), pid).is_err(), "the process is gone");
    }
}
