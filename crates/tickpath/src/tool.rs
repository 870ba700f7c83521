//! This program, as records name it.

/// The name and version in records.
pub(crate) const TOOL: &str = concat!("tickpath ", env!("CARGO_PKG_VERSION"));

/// The command line that repeats this, for records.
pub(crate) fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
