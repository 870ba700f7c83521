//! In its own process: with other tests it failed once, because one of them freed as much memory at
//! the same time.

use host::Root;
use host::memory::resident_bytes;

#[test]
fn memory_that_is_written_to_is_counted() {
    let Some(before) = resident_bytes(&Root::system()) else {
        testing::skip!(Kernel, "no VmRSS in /proc/self/status here");
    };
    let written = std::hint::black_box(vec![1u8; 64 << 20]);
    let after = resident_bytes(&Root::system()).unwrap();
    assert!(after >= before + (48 << 20), "{before} bytes, then {after}");
    drop(written);
}
