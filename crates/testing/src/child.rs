//! Tests that start their own program again as a child, usually to kill it.

use std::process::Command;

use crate::{Need, skipped};

/// The running test program, asked to run one of its tests and nothing else. The child inherits
/// stdin, stdout and the environment, as every [`Command`] does.
///
/// `test` is the full name of a test, as `--list` prints it: `module::name`.
pub fn again(test: &str) -> Command {
    let mut command = Command::new(own_program());
    command.args(["--exact", test, "--nocapture"]);
    command
}

/// Whether this program can start itself; counts the test as skipped where it can't. A program for
/// another processor can't, unless the kernel knows the emulator.
pub fn is_possible() -> bool {
    let tried = Command::new(own_program()).arg("--list").output();
    // Under an emulator the call may succeed and the child fail.
    let possible = tried.as_ref().is_ok_and(|output| output.status.success());
    if !possible {
        skipped(Need::OwnProcess, format_args!("this program can't start itself: {tried:?}"));
    }
    possible
}

fn own_program() -> std::path::PathBuf {
    std::env::current_exe().expect("the path of the running program")
}

/// The full name of a test of the calling module, for [`again`].
#[macro_export]
macro_rules! test_name {
    ($name:ident) => {{
        // Refers to the function, so that renaming it breaks the build and not the test.
        let _: fn() = $name;
        // The harness leaves out the name of the crate.
        match module_path!().split_once("::") {
            Some((_crate, module)) => format!("{module}::{}", stringify!($name)),
            None => stringify!($name).to_owned(),
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_runs_one_test() {
        if std::env::var_os("TICKPATH_TEST_CHILD").is_some() {
            println!("the child ran");
            return;
        }
        if !is_possible() {
            return;
        }
        let name = crate::test_name!(a_child_runs_one_test);
        let done = again(&name).env("TICKPATH_TEST_CHILD", "1").output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && printed.contains("the child ran"), "{printed}");
        assert!(printed.contains("1 passed"), "{printed}");
    }
}
