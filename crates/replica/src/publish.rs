//! Files that appear whole.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Makes a file that appears under its name, whole, once it is durable. Returns it, open at its end
/// for reading and writing. Overwrites an existing file, and the remains of another attempt.
///
/// # Errors
/// The system's.
pub fn publish(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<File> {
    let unfinished = directory.join(format!("{name}.new"));
    let mut file =
        File::options().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&unfinished, directory.join(name))?;
    File::open(directory)?.sync_all()?;
    Ok(file)
}
