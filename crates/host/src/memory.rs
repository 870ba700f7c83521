//! Memory use of this process.

use crate::root::Root;

/// Resident memory of this process, bytes. `Rss` of `/proc/self/smaps_rollup` would be exact, but
/// walks all pages; `VmRSS` of `/proc/self/status` is off by at most some pages per core
/// (Documentation/filesystems/proc.rst). `None` if unknown.
pub fn resident_bytes(root: &Root) -> Option<u64> {
    bytes_of(&root.read("proc/self/status")?, "VmRSS:")
}

/// Part of it in transparent huge pages, bytes: `AnonHugePages` of `/proc/self/smaps_rollup` (since
/// Linux 4.14), which walks all pages. `None` if unknown.
pub fn huge_page_bytes(root: &Root) -> Option<u64> {
    bytes_of(&root.read("proc/self/smaps_rollup")?, "AnonHugePages:")
}

fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_figure_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path());
        assert_eq!(resident_bytes(&root), None);
        let proc = directory.path().join("proc/self");
        std::fs::create_dir_all(&proc).unwrap();
        for (text, bytes) in [("VmRSS:\t  12 kB\n", Some(12 << 10)), ("VmRSS: x", None), ("", None)]
        {
            std::fs::write(proc.join("status"), text).unwrap();
            assert_eq!(resident_bytes(&root), bytes, "{text:?}");
        }
        assert_eq!(huge_page_bytes(&root), None);
        let rollup = "00400000-7fff0000 ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nAnonHugePages:    2048 kB\n";
        std::fs::write(proc.join("smaps_rollup"), rollup).unwrap();
        assert_eq!(huge_page_bytes(&root), Some(2 << 20));
    }
}
