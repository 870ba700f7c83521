//! The running test program again, with file systems of its own, which end with it.

use std::path::Path;
use std::process::Command;

use crate::{Need, child, skipped};

/// Printed once the file systems are there: without it the kernel rejected them.
const MARK: &str = "its mounts are there";

/// Starts the program again for `test`, in these namespaces, after the line of shell `mount`, which
/// gets the empty directory `place` as `$1` and `word` as `$2`. The child finds `place` in
/// `variable`. Returns whether it ran; a child whose namespaces or mounts are rejected, or that
/// can't be started at all, counts as a skipped test.
///
/// # Panics
/// If the child fails; the message has what it printed.
pub(crate) fn with(
    namespaces: &[&str],
    mount: &str,
    (place, word): (&Path, &str),
    (test, variable): (&str, &str),
) -> bool {
    if !child::is_possible() {
        return false;
    }
    let again = child::again(test);
    let run = format!("{mount} && echo '{MARK}' && shift 2 && exec \"$@\"");
    let tried = Command::new("unshare")
        .args(namespaces)
        .args(["sh", "-c", &run, "sh"])
        .arg(place)
        .arg(word)
        .arg(again.get_program())
        .args(again.get_args())
        .env(variable, place)
        .output();
    let output = match tried {
        Ok(output) => output,
        Err(error) => {
            skipped(Need::Root, format_args!("unshare(1): {error}"));
            return false;
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !printed.contains(MARK) {
        skipped(Need::Root, format_args!("its mounts were refused: {errors}"));
        return false;
    }
    assert!(output.status.success(), "{}\n{printed}\n{errors}", output.status);
    true
}
