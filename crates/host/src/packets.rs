//! Packets that the network devices of a namespace dropped.

use crate::root::Root;

/// Numbers of a device before its errors and drops, in /proc/net/dev: bytes, packets.
const BEFORE_ERRORS: usize = 2;
/// Distance from the numbers of received packets to those of sent ones.
const SENT: usize = 8;

/// Packets that all devices of the calling thread's network namespace dropped or could not take,
/// both ways, since the namespace was made; `None` if the kernel does not say.
pub fn dropped(root: &Root) -> Option<u64> {
    let text = root.read("/proc/thread-self/net/dev")?;
    // Two lines of heads.
    text.lines().skip(2).map(of_device).try_fold(0, |sum: u64, device| sum.checked_add(device?))
}

/// Errors and drops of a device.
fn of_device(line: &str) -> Option<u64> {
    let (_, numbers) = line.split_once(':')?;
    let numbers: Vec<u64> =
        numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let both = |at: usize| Some(numbers.get(at)?.saturating_add(*numbers.get(at + 1)?));
    both(BEFORE_ERRORS)?.checked_add(both(SENT + BEFORE_ERRORS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1111111   22222    0    0    0     0          0         0  1111111   22222    0    0    0     0       0          0
 tick0: 3333333   44444    1    2    9     9          9         9  5555555   66666    4    8    9     9       9          9
";

    #[test]
    fn errors_and_drops_of_both_ways_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proc/thread-self/net");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("dev"), TEXT).unwrap();
        assert_eq!(dropped(&Root::at(folder.path())), Some(15));
        std::fs::write(path.join("dev"), TEXT.replace("55555", "5555x")).unwrap();
        assert_eq!(dropped(&Root::at(folder.path())), None);
        assert!(dropped(&Root::system()).is_some());
    }
}
