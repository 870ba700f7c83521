//! Memory that this process uses.

use crate::root::Root;

/// Memory of this process that is there and not only promised, bytes: `Rss` of
/// `/proc/self/smaps_rollup` would say it to the page, but walks all of it; `VmRSS` of
/// `/proc/self/status` is off by at most some pages a core (Documentation/filesystems/proc.rst).
/// `None` where the system doesn't say.
pub fn resident_bytes(root: &Root) -> Option<u64> {
    bytes_of(&root.read("proc/self/status")?, "VmRSS:")
}

/// How much of it lies in transparent huge pages, bytes: `AnonHugePages` of
/// `/proc/self/smaps_rollup` (since Linux 4.14). To ask walks all of the process's pages. `None`
/// where the system doesn't say.
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
