//! Tests on a disk that fills up: a tmpfs of a few pages, in a mount namespace of its own.

use std::path::Path;
use std::process::Command;

use crate::{Need, skipped};

const PLACE: &str = "TICKPATH_TEST_SMALL_DISK";

/// Printed by the child as soon as it runs on the small disk: without it the mount was refused.
const MARK: &str = "on the small disk";

/// Runs `check` with a directory that has room for `bytes`, or counts the test as skipped.
///
/// The test starts its own program again for `test`, its own name by
/// [`test_name!`](crate::test_name); in that child `check` runs.
///
/// # Panics
/// If the child fails; the message carries what it printed.
pub fn on(bytes: u64, test: &str, check: impl FnOnce(&Path)) {
    match std::env::var_os(PLACE) {
        Some(place) => {
            println!("{MARK}");
            check(Path::new(&place));
        }
        None => run_child(bytes, test),
    }
}

fn run_child(bytes: u64, test: &str) {
    let place = tempfile::tempdir().unwrap();
    let run = r#"mount -t tmpfs -o "size=$1" tmpfs "$2" && exec "$3" --exact "$4" --nocapture"#;
    let tried = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", run, "sh"])
        .arg(bytes.to_string())
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(PLACE, place.path())
        .output();
    let output = match tried {
        Ok(output) => output,
        Err(error) => return skipped(Need::Root, format_args!("unshare(1): {error}")),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !printed.contains(MARK) {
        return skipped(Need::Root, format_args!("a mount namespace was refused: {errors}"));
    }
    assert!(output.status.success(), "{}\n{printed}\n{errors}", output.status);
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
