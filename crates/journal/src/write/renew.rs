//! Makes recovered inputs durable before new ones follow.
//!
//! Inputs written by a dead writer may be only in the page cache. After a failed `fdatasync`, the
//! kernel may even hold pages that it gave up writing and counts as clean, so another `fdatasync`
//! would succeed. Therefore all inputs that the last record does not state as durable are written
//! again, byte for byte, and then synced.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::record::{RECORD_BYTES, RecordSlot, read};
use crate::file::segment::byte_of;
use crate::read::inputs::read_segment_header;
use crate::read::segment::Log;

/// Bytes per write.
const PART_BYTES: usize = 1 << 20;

/// Makes all inputs of a log before `next` durable. No other writer may be active.
pub(crate) fn renew(directory: &Directory, log: Log, next: u64) -> Result<(), JournalError> {
    // A segment is durable before the next one gets content.
    let Some(first) = directory.segment_before(next)? else { return Ok(()) };
    let header = read_segment_header(directory, first, Some(log))?;
    let path = directory.segment(first);
    let failed = |source| JournalError::writing(&path, 0, source);
    let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
    let mut last = [0; RECORD_BYTES];
    let durable = match file.read_exact_at(&mut last, byte_of(&header, next - 1)) {
        Ok(()) => match read(&last) {
            RecordSlot::Record { durable, .. } => durable.clamp(first, next),
            // Only a snapshot has these inputs.
            _ => next,
        },
        Err(_) => next,
    };
    let (mut at, end) = (byte_of(&header, durable), byte_of(&header, next));
    let mut part = vec![0; PART_BYTES.min((end - at) as usize)];
    while at < end {
        let part = &mut part[..PART_BYTES.min((end - at) as usize)];
        file.read_exact_at(part, at).map_err(failed)?;
        file.write_all_at(part, at).map_err(failed)?;
        at += part.len() as u64;
    }
    file.sync_all().map_err(|source| JournalError::NotDurable { path: path.clone(), source })
}
