//! The register of accounts beside the journal, as its primary ships it. It grows by whole lines,
//! each durable before the first record that needs it.

use crate::frame::{Frame, REGISTER_BYTES_MAX};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file beside the journal.
pub const NAME: &str = "register";

/// Reads a register that grows.
#[derive(Debug)]
pub struct RegisterReader {
    file: File,
    /// Bytes that were shipped on this connection, always whole lines; `None`: none yet.
    shipped: Option<u64>,
}

impl RegisterReader {
    /// The register in `directory`.
    ///
    /// # Errors
    /// The system's.
    pub fn open(directory: &Path) -> io::Result<RegisterReader> {
        Ok(RegisterReader { file: File::open(directory.join(NAME))?, shipped: None })
    }

    /// Appends frames with the lines that are new since the last call, at the first call all of
    /// them. A register that has become shorter is shipped from its start.
    ///
    /// # Errors
    /// The system's.
    pub fn ship(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if self.shipped == Some(length) {
            return Ok(());
        }
        let from = self.shipped.filter(|shipped| *shipped < length).unwrap_or(0);
        let mut bytes = vec![0; (length - from) as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        if whole == 0 && self.shipped.is_some() {
            return Ok(());
        }
        let mut offset = from;
        let mut rest = &bytes[..whole];
        loop {
            let (part, later) = rest.split_at(rest.len().min(REGISTER_BYTES_MAX));
            Frame::Register { offset, is_whole: later.is_empty(), bytes: part }.encode(out);
            offset += part.len() as u64;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        self.shipped = Some(offset);
        Ok(())
    }
}
