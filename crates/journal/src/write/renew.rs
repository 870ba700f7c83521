//! Makes durable what a recovery found, before it is built upon.
//!
//! What a writer that died had written may be in the page cache alone. And where a `fdatasync` had
//! failed, the kernel may hold pages that it has given up writing and counts as clean: another
//! `fdatasync` would say that all is well. So what the last record doesn't say was durable is
//! written again, byte for byte, and then synced.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::record::{RECORD_BYTES, RecordSlot, read};
use crate::file::segment::byte_of;
use crate::read::inputs::read_segment_header;
use crate::read::segment::Log;

/// Bytes that are written again at once.
const PART_BYTES: usize = 1 << 20;

/// Makes all inputs of a log before `next` durable. Nobody may be writing.
pub(crate) fn renew(directory: &Directory, log: Log, next: u64) -> Result<(), JournalError> {
    // A segment is durable before there is anything in the next one.
    let Some(first) = directory.segment_before(next)? else { return Ok(()) };
    let header = read_segment_header(directory, first, Some(log))?;
    let path = directory.segment(first);
    let failed = |source| JournalError::writing(&path, 0, source);
    let file = File::options().read(true).write(true).open(&path).map_err(failed)?;
    let mut last = [0; RECORD_BYTES];
    let durable = match file.read_exact_at(&mut last, byte_of(&header, next - 1)) {
        Ok(()) => match read(&last) {
            RecordSlot::Record { durable, .. } => durable.clamp(first, next),
            // Only a snapshot knows what stood there.
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
