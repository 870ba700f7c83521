//! Tests on a disk that fills up: a tmpfs of a few pages, in a mount namespace of its own.

use std::path::Path;

use crate::mounts;

const PLACE: &str = "TICKPATH_TEST_SMALL_DISK";

/// Runs `check` with a directory that has room for `bytes`, or counts the test as skipped.
///
/// The test starts its own program again for `test`, its own name by
/// [`test_name!`](crate::test_name); in that child `check` runs.
///
/// # Panics
/// If the child fails; the message carries what it printed.
pub fn on(bytes: u64, test: &str, check: impl FnOnce(&Path)) {
    if let Some(place) = std::env::var_os(PLACE) {
        return check(Path::new(&place));
    }
    let place = tempfile::tempdir().unwrap();
    let mount = r#"mount -t tmpfs -o "size=$2" tmpfs "$1""#;
    let namespaces = ["--user", "--map-root-user", "--mount"];
    mounts::with(&namespaces, mount, (place.path(), &bytes.to_string()), (test, PLACE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_is_full_soon() {
        on(64 << 10, &crate::test_name!(a_small_disk_is_full_soon), |place| {
            let error = std::fs::write(place.join("file"), vec![1; 128 << 10]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        });
    }
}
