//! Tests of `scripts/again`, with a script in the place of cargo.

use std::path::Path;
use std::process::{Command, Output};

/// Two programs of tests, each with one failure. The first one's message looks like a list; the
/// second one's has what the program printed when it ran itself.
const TWO_FAILURES: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 2 tests
test book::a_fill ... FAILED
test book::other ... ok

failures:

---- book::a_fill stdout ----
expected:
    nothing_like_a_test

failures:
    book::a_fill

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out

running 1 test
test feed::a_gap ... FAILED

failures:

---- feed::a_gap stdout ----
exit status: 101

failures:
    feed::a_gap

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out

failures:
    feed::a_gap

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out

error: test failed, to rerun pass `-p b --test it`
error: 2 targets failed:
    `-p a --lib`
    `-p b --test it`
";

/// Runs the script over `log`. The stand-in for cargo writes its arguments and `printed`, and ends
/// with `status`.
fn again(log: &str, printed: &str, status: i32) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let log_path = folder.path().join("log");
    std::fs::write(&log_path, log).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(here.join("../../scripts/again"))
        .args([&log_path, &here.join("src/again/cargo")])
        .env("PRINTED", printed)
        .env("STATUS", status.to_string())
        .output()
        .unwrap()
}

#[test]
fn failures_by_name_are_tried_once_more_and_named() {
    let output = again(TWO_FAILURES, "test result: ok. 2 passed; 0 failed", 0);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("--exact book::a_fill feed::a_gap --test-threads=1"), "{text}");
    assert!(text.ends_with("== passed only when run again: book::a_fill feed::a_gap\n"), "{text}");
}

#[test]
fn a_second_failure_and_a_test_that_did_not_run_are_failures() {
    for (printed, status) in [
        ("test result: FAILED. 1 passed; 1 failed", 101),
        ("test result: ok. 1 passed; 0 failed", 0),
    ] {
        let output = again(TWO_FAILURES, printed, status);
        assert!(!output.status.success(), "{output:?}");
    }
}

#[test]
fn crashes_builds_and_many_failures_are_not_tried_again() {
    let crash = "\nCaused by:\n  process didn't exit successfully: `b` (signal: 6, SIGABRT)\n";
    let crashed = format!("{TWO_FAILURES}{crash}");
    let unbuilt = "error: could not compile `a` (lib)\n".to_owned();
    let many = TWO_FAILURES.replace("    feed::a_gap\n", "    b\n    c\n    d\n");
    for (log, why) in
        [(crashed, "not only tests"), (unbuilt, "not only tests"), (many, "4 tests failed")]
    {
        let output = again(&log, "test result: ok. 9 passed; 0 failed", 0);
        assert!(!output.status.success(), "{output:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(why), "{errors}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("cargo test"), "{output:?}");
    }
}
