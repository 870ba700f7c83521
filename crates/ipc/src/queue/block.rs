//! One mapped block of a queue: reads and writes records at positions.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::IpcError;
use crate::copy;
use crate::queue::error::QueueError;
use crate::queue::publish::{look, publish};
use crate::queue::record::{HEAD_BYTES, Head, RECORD_ALIGN, RecordKind, span};
use crate::region::{self, GEOMETRY_WORDS, HEADER_BYTES, Region, RegionBacking};

/// The first record's position, after the start mark. Positions count from the region's body.
pub(crate) const FIRST: usize = RECORD_ALIGN;

/// Bytes of a block that records can't use: the region's header, the start and the end.
pub(crate) const BLOCK_OVERHEAD_BYTES: usize = HEADER_BYTES + 2 * RECORD_ALIGN;

// Positions are multiples of RECORD_ALIGN, so each begins a cache line and a word.
const _: () = assert!(HEADER_BYTES.is_multiple_of(RECORD_ALIGN));
const _: () = assert!(HEAD_BYTES == 2 * size_of::<u64>());

/// The content at a position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BlockContent<'a> {
    /// Nothing is published.
    Nothing,
    /// The start mark, with the sequence of the block's first record.
    Start(u64),
    Record(&'a [u8]),
    End,
}

#[derive(Debug)]
pub(crate) struct Block {
    number: u64,
    path: PathBuf,
    region: Region,
    /// The last position, reserved for an end mark.
    end: usize,
}

impl Block {
    /// Makes a zeroed block, with the start mark if its sequence is known, before it becomes
    /// visible.
    pub fn create(
        path: &Path,
        number: u64,
        block_bytes: usize,
        first_sequence: Option<u64>,
    ) -> Result<Block, QueueError> {
        let mut geometry = [0; GEOMETRY_WORDS];
        geometry[0] = number;
        let body_bytes = (block_bytes - HEADER_BYTES) as u64;
        let start = |region: &Region| {
            if let Some(sequence) = first_sequence {
                let words = region.words();
                publish(
                    &words[0],
                    &words[1],
                    sequence,
                    Head::of_mark(RecordKind::Start, sequence).word(),
                );
            }
        };
        let kind = region::RegionKind::QueueBlock;
        let region = Region::create(RegionBacking::File(path), kind, geometry, body_bytes, start)?;
        let end = body_bytes as usize - RECORD_ALIGN;
        Ok(Block { number, path: path.to_owned(), region, end })
    }

    /// Opens a block for writing; `None` if it does not exist.
    pub fn open(path: &Path, number: u64) -> Result<Option<Block>, QueueError> {
        Block::in_region(path, number, Region::open(path, region::RegionKind::QueueBlock))
    }

    /// Opens a block for reading; `None` if it does not exist. The writing methods must not be
    /// called.
    pub fn open_to_read(path: &Path, number: u64) -> Result<Option<Block>, QueueError> {
        Block::in_region(path, number, Region::open_to_read(path, region::RegionKind::QueueBlock))
    }

    fn in_region(
        path: &Path,
        number: u64,
        region: Result<Region, IpcError>,
    ) -> Result<Option<Block>, QueueError> {
        let region = match region {
            Err(IpcError::System { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            region => region?,
        };
        let damaged = |what| QueueError::Damaged { block: path.to_owned(), byte: 0, what };
        if region.geometry()[0] != number {
            return Err(damaged("its header has the number of another block: it was renamed"));
        }
        let body_bytes = region.body_bytes();
        if body_bytes < 3 * RECORD_ALIGN || !body_bytes.is_multiple_of(RECORD_ALIGN) {
            return Err(damaged("no block has this length"));
        }
        let end = body_bytes - RECORD_ALIGN;
        Ok(Some(Block { number, path: path.to_owned(), region, end }))
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The last position, reserved for an end mark: every record ends before it.
    #[inline]
    pub fn end(&self) -> usize {
        self.end
    }

    /// An error about a position.
    pub fn damaged(&self, position: usize, what: &'static str) -> QueueError {
        QueueError::Damaged { block: self.path.clone(), byte: HEADER_BYTES + position, what }
    }

    /// Whether the writer has reached this block.
    pub fn is_started(&self) -> bool {
        look(self.word(0)).is_some()
    }

    /// The sequence of its first record, if the writer has reached it; unchecked.
    pub fn first_sequence(&self) -> Option<u64> {
        self.is_started().then(|| self.sequence(0))
    }

    /// The content at a position where an earlier record ended; `expected` is its sequence.
    #[inline]
    pub fn at(&self, position: usize, expected: u64) -> Result<BlockContent<'_>, &'static str> {
        let Some(word) = look(self.word(position)) else { return Ok(BlockContent::Nothing) };
        let head = Head::read(word).ok_or("its head is invalid")?;
        let sequence = self.sequence(position);
        if (head.kind() == RecordKind::Start) != (position == 0) {
            return Err("a block's start is not where it must be");
        }
        if head.kind() != RecordKind::Record {
            if !head.fits(sequence, &[]) {
                return Err("the check of a mark does not fit");
            }
            return match head.kind() {
                RecordKind::Start => Ok(BlockContent::Start(sequence)),
                _ if sequence == expected => Ok(BlockContent::End),
                _ => Err("the block ends at a sequence that is not the next one"),
            };
        }
        if sequence != expected {
            return Err("a record's sequence is not the next one");
        }
        if span(head.length()) > self.end - position {
            return Err("a record leads out of the block");
        }
        // SAFETY: published, and checked to be within the block.
        let bytes = unsafe { self.published(position, head.length()) };
        if head.fits(sequence, bytes) {
            Ok(BlockContent::Record(bytes))
        } else {
            Err("the check of a record does not fit")
        }
    }

    #[inline]
    fn word(&self, position: usize) -> &AtomicU64 {
        &self.region.words()[position / 8]
    }

    /// Read it after the word.
    #[inline]
    fn sequence(&self, position: usize) -> u64 {
        self.region.words()[position / 8 + 1].load(Relaxed)
    }

    /// The bytes of the record at a position.
    ///
    /// # Safety
    /// The record must lie within the block, and [`look`] must have seen its word, because
    /// published bytes are never written again. A process that writes them breaks the crate's
    /// documented rules.
    #[inline]
    unsafe fn published(&self, position: usize, length: usize) -> &[u8] {
        // SAFETY: within the body, as the caller guarantees.
        let start = unsafe { self.region.body().add(position + HEAD_BYTES) };
        // SAFETY: as above; mapped as long as `self`, and never written again.
        unsafe { std::slice::from_raw_parts(start, length) }
    }

    /// Writes a record at a position. Its word is stored last and publishes it.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn put(&mut self, position: usize, sequence: u64, bytes: &[u8], checked: bool) {
        assert!(position <= self.end && span(bytes.len()) <= self.end - position);
        let head = Head::of_record(sequence, bytes, checked);
        // Write the rest of the record before its first line. A reader polls that line and takes it
        // from the writer's cache each time, so it is written in one go, with the word last.
        let (first, rest) = bytes.split_at(bytes.len().min(RECORD_ALIGN - HEAD_BYTES));
        // SAFETY: within the block, as asserted, and unpublished, so no other thread uses it.
        unsafe { self.copy_in(position + RECORD_ALIGN, rest) };
        // SAFETY: as above.
        unsafe { self.copy_in(position + HEAD_BYTES, first) };
        self.publish(position, sequence, head);
    }

    /// Writes a start or an end mark at a position.
    pub fn mark(&mut self, position: usize, kind: RecordKind, sequence: u64) {
        self.publish(position, sequence, Head::of_mark(kind, sequence));
    }

    #[inline]
    fn publish(&mut self, position: usize, sequence: u64, head: Head) {
        let words = self.region.words();
        publish(&words[position / 8], &words[position / 8 + 1], sequence, head.word());
    }

    /// # Safety
    /// The bytes must lie within the block, and must not belong to a published record.
    #[inline]
    unsafe fn copy_in(&mut self, place: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // SAFETY: within the body, as the caller guarantees.
        let target = unsafe { self.region.body().add(place) };
        // SAFETY: as above, at a record's begin or HEAD_BYTES after it; `bytes` is not in this
        // block, which is borrowed exclusively.
        unsafe { copy::by_lines(bytes, target) };
    }

    /// Zeroes the bytes after `position`, where a killed writer may have left a part of one record
    /// or mark. The record of `sequence` is due at `position`. Returns the number of bytes that
    /// were not zero, or the position of content that no kill can leave.
    pub fn wipe(
        &mut self,
        position: usize,
        sequence: u64,
        record_bytes_max: usize,
    ) -> Result<usize, usize> {
        let words = self.region.words();
        let not_zero = || (position / 8..words.len()).filter(|i| words[*i].load(Relaxed) != 0);
        // In a full block the end mark is next, and a kill may leave a part of it too.
        let reach = (position + span(record_bytes_max)).min(self.end).max(position + RECORD_ALIGN);
        if let Some(far) = not_zero().map(|index| index * 8).find(|far| *far >= reach) {
            return Err(far);
        }
        let mut lines = (position..reach).step_by(RECORD_ALIGN);
        if let Some(later) = lines.find(|line| self.has_later_record(*line, sequence)) {
            return Err(later);
        }
        Ok(not_zero().map(|index| words[index].store(0, Relaxed)).count() * 8)
    }

    /// Whether a whole record after that of `sequence` is at a position.
    fn has_later_record(&self, position: usize, sequence: u64) -> bool {
        let found = self.sequence(position);
        found > sequence
            && matches!(self.at(position, found), Ok(BlockContent::Record(_) | BlockContent::End))
    }
}
