//! In its own process, because locked memory stays locked for every other test in it.

use host::Root;
use host::thread::lock_memory;

#[test]
fn memory_is_locked_or_rejected_with_advice() {
    match lock_memory() {
        Ok(()) => {
            let status = Root::system().read("proc/self/status").unwrap();
            let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
            assert!(!locked.trim().starts_with("0 "), "{locked}");
        }
        Err(error) => assert!(error.to_string().contains("ulimit -l"), "{error}"),
    }
}
