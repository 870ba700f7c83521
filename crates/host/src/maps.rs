//! A process' memory map, as `/proc/PID/maps` lists it (proc_pid_maps(5)).

/// A region of writable private memory without a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrivateRegion<'a> {
    /// First address.
    pub start: usize,
    /// Bytes.
    pub length: usize,
    /// Its name, such as `[heap]` or `[stack]`; empty if it has none.
    pub name: &'a str,
}

/// The region of one line; `None` for every other kind of memory and for malformed lines.
pub(crate) fn private_region(line: &str) -> Option<PrivateRegion<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    // Offset, device, inode; the inode is 0 without a file.
    let is_file = words.nth(2)? != "0";
    let name = words.next().unwrap_or_default();
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let length = end.checked_sub(start)?;
    (permissions == "rw-p" && !is_file).then_some(PrivateRegion { start, length, name })
}
