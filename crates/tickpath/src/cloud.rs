//! `tickpath cloud`: finds `tickpath-cloud` on the PATH, as git finds its sub-commands.

use crate::cli::CloudArguments;
use anyhow::anyhow;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

const PROGRAM: &str = "tickpath-cloud";

/// Becomes that program, so that signals and exit status are its own.
///
/// # Errors
/// If it can't be started; otherwise this does not return.
pub(crate) fn cloud(arguments: &CloudArguments) -> anyhow::Result<u8> {
    let error = Command::new(PROGRAM).args(&arguments.arguments).exec();
    Err(if error.kind() == ErrorKind::NotFound {
        anyhow!(
            "{PROGRAM} is not on the PATH: install it with `pip install './cloud[hosts]'` in \
             tickpath's source directory"
        )
    } else {
        anyhow!("cannot start {PROGRAM}: {error}; check its permissions")
    })
}
