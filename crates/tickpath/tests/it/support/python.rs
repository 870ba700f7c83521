//! Python, for tests that need a package of it.

use std::process::Command;
use testing::Need;

/// Whether that Python has the package.
pub fn has_package(python: &str, package: &str) -> bool {
    let tried = Command::new(python).args(["-c", &format!("import {package}")]).output();
    tried.is_ok_and(|done| done.status.success())
}

/// The Python that the environment's `variable` names, or else `python3`; `None` after counting the
/// test as skipped, because it lacks the package.
pub fn python_with(need: Need, package: &str, variable: &str) -> Option<Command> {
    let python = std::env::var(variable).unwrap_or_else(|_| "python3".to_owned());
    if !has_package(&python, package) {
        let why =
            format!("{python} has no package {package}; {variable} names a Python that has it");
        testing::skipped(need, why);
        return None;
    }
    Some(Command::new(python))
}
