//! Skips the zeros after a log's last record without looking at each record: what the file system
//! does not store is zeros, and the rest is compared by blocks.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use rustix::io::Errno;

use crate::file::record::RECORD_BYTES;

/// Records that are compared with zeros at once.
const BLOCK_RECORDS: usize = 32;
const BLOCK_BYTES: usize = BLOCK_RECORDS * RECORD_BYTES;
const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Moves a source forward by whole records of zeros, `records_max` at most. Returns their number; 0
/// does not say that the next record has content.
pub(crate) fn skip(source: &mut impl BufRead, records_max: u64) -> io::Result<u64> {
    let buffer = match source.fill_buf() {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
        filled => filled?,
    };
    let records = zero_records(buffer).min(usize::try_from(records_max).unwrap_or(usize::MAX));
    source.consume(records * RECORD_BYTES);
    Ok(records as u64)
}

/// Number of whole records of zeros at the start of the bytes.
fn zero_records(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
    let whole = blocks.iter().take_while(|block| **block == ZEROS).count() * BLOCK_RECORDS;
    let (rest, _) = bytes[whole * RECORD_BYTES..].as_chunks::<RECORD_BYTES>();
    whole + rest.iter().take_while(|record| record[..] == ZEROS[..RECORD_BYTES]).count()
}

/// Moves a file forward by the whole records, `records_max` at most, that lie in a hole: bytes that
/// the file system does not store, because nobody has written them since they were allocated.
/// Returns their number; always 0 where the file system can't tell holes.
pub(crate) fn skip_hole(source: &mut BufReader<File>, records_max: u64) -> io::Result<u64> {
    let (from, ahead) = (source.stream_position()?, source.buffer().len() as u64);
    let length = source.get_ref().metadata()?.len();
    let data = match rustix::fs::seek(source.get_ref(), rustix::fs::SeekFrom::Data(from)) {
        Ok(data) => data,
        // Nothing is stored from here to the end of the file.
        Err(Errno::NXIO) => length.max(from),
        // This file system does not know; the place in the file is unchanged.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY) => return Ok(0),
        Err(errno) => return Err(errno.into()),
    };
    let records = ((data - from) / RECORD_BYTES as u64).min(records_max);
    if records == 0 {
        // The search moved the file alone: the buffer stays good.
        source.get_mut().seek(SeekFrom::Start(from + ahead))?;
    } else {
        source.seek(SeekFrom::Start(from + records * RECORD_BYTES as u64))?;
    }
    Ok(records)
}

#[cfg(test)]
#[path = "zeros_tests.rs"]
mod tests;
