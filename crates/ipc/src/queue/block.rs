//! One block of a queue, mapped: what stands at a position, and putting a record there.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::IpcError;
use crate::copy;
use crate::queue::error::QueueError;
use crate::queue::publish::{look, publish};
use crate::queue::record::{HEAD_BYTES, Head, RECORD_ALIGN, RecordKind, span};
use crate::region::{self, GEOMETRY_WORDS, HEADER_BYTES, Place, Region};

/// Where the first record begins, behind the start mark. Positions count from the region's body.
pub(crate) const FIRST: usize = RECORD_ALIGN;

/// Bytes of a block that no record can have: the region's header, the start and the end.
pub(crate) const BLOCK_OVERHEAD_BYTES: usize = HEADER_BYTES + 2 * RECORD_ALIGN;

// Positions are multiples of RECORD_ALIGN, so that each begins a cache line and a word.
const _: () = assert!(HEADER_BYTES.is_multiple_of(RECORD_ALIGN));
const _: () = assert!(HEAD_BYTES == 2 * size_of::<u64>());

/// What stands at a position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BlockContent<'a> {
    /// Nothing yet.
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
    /// The last position, which only an end mark may take.
    end: usize,
}

impl Block {
    /// Makes a block of zeros, and puts the start mark into it if that is known, before anybody
    /// sees it.
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
        let region = Region::create(Place::File(path), kind, geometry, body_bytes, start)?;
        let end = body_bytes as usize - RECORD_ALIGN;
        Ok(Block { number, path: path.to_owned(), region, end })
    }

    /// Opens a block to write to it; `None` if there is none.
    pub fn open(path: &Path, number: u64) -> Result<Option<Block>, QueueError> {
        Block::in_region(path, number, Region::open(path, region::RegionKind::QueueBlock))
    }

    /// Opens a block to read it; `None` if there is none. What writes must not be called.
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

    /// The last position, which only an end mark may take: a record ends here at the latest.
    #[inline]
    pub fn end(&self) -> usize {
        self.end
    }

    /// The error that says what is wrong at a position.
    pub fn damaged(&self, position: usize, what: &'static str) -> QueueError {
        QueueError::Damaged { block: self.path.clone(), byte: HEADER_BYTES + position, what }
    }

    /// Whether the writer has come to this block.
    pub fn is_started(&self) -> bool {
        look(self.word(0)).is_some()
    }

    /// The sequence of its first record, if the writer has come to it; unchecked.
    pub fn first_sequence(&self) -> Option<u64> {
        self.is_started().then(|| self.sequence(0))
    }

    /// What stands at a position, which is one that a record before ended at; `expected` is the
    /// sequence that is due there.
    #[inline]
    pub fn at(&self, position: usize, expected: u64) -> Result<BlockContent<'_>, &'static str> {
        let Some(word) = look(self.word(position)) else { return Ok(BlockContent::Nothing) };
        let head = Head::read(word).ok_or("no writer writes such a head")?;
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
        // SAFETY: published, and within the block, as was just seen.
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

    /// To be read after the word.
    #[inline]
    fn sequence(&self, position: usize) -> u64 {
        self.region.words()[position / 8 + 1].load(Relaxed)
    }

    /// The bytes of the record at a position.
    ///
    /// # Safety
    /// The record lies within the block, and [`look`] has seen its word: what is published is
    /// written no more. A process that does so all the same breaks what the crate's documents ask
    /// for.
    #[inline]
    unsafe fn published(&self, position: usize, length: usize) -> &[u8] {
        // SAFETY: within the body, by the caller's word.
        let start = unsafe { self.region.body().add(position + HEAD_BYTES) };
        // SAFETY: as above; mapped as long as `self`, and written no more.
        unsafe { std::slice::from_raw_parts(start, length) }
    }

    /// Puts a record at a position. It is seen when the last store of this, of its word, is.
    ///
    /// # Panics
    /// If it does not fit there.
    #[inline]
    pub fn put(&mut self, position: usize, sequence: u64, bytes: &[u8], checked: bool) {
        assert!(position <= self.end && span(bytes.len()) <= self.end - position);
        let head = Head::of_record(sequence, bytes, checked);
        // The rest of the record before its first line: a reader polls that line, and takes it from
        // the writer's cache each time. So it is written in one go, with the word last.
        let (first, rest) = bytes.split_at(bytes.len().min(RECORD_ALIGN - HEAD_BYTES));
        // SAFETY: within the block, as was asserted, and not published, so nobody else's.
        unsafe { self.copy_in(position + RECORD_ALIGN, rest) };
        // SAFETY: as above.
        unsafe { self.copy_in(position + HEAD_BYTES, first) };
        self.publish(position, sequence, head);
    }

    /// Puts a start or an end at a position.
    pub fn mark(&mut self, position: usize, kind: RecordKind, sequence: u64) {
        self.publish(position, sequence, Head::of_mark(kind, sequence));
    }

    #[inline]
    fn publish(&mut self, position: usize, sequence: u64, head: Head) {
        let words = self.region.words();
        publish(&words[position / 8], &words[position / 8 + 1], sequence, head.word());
    }

    /// # Safety
    /// The bytes lie within the block, and are of no published record.
    #[inline]
    unsafe fn copy_in(&mut self, place: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // SAFETY: within the body, by the caller's word.
        let target = unsafe { self.region.body().add(place) };
        // SAFETY: as above, where a record begins or HEAD_BYTES on; `bytes` is no part of this
        // block, which is borrowed exclusively.
        unsafe { copy::by_lines(bytes, target) };
    }

    /// Makes zero what is behind `position`, where no record is published and that of `sequence`
    /// is due: a writer that was killed leaves a part of one record or mark there. Says how many
    /// bytes were not zero, or where there is what no kill leaves.
    pub fn wipe(
        &mut self,
        position: usize,
        sequence: u64,
        record_bytes_max: usize,
    ) -> Result<usize, usize> {
        let words = self.region.words();
        let not_zero = || (position / 8..words.len()).filter(|i| words[*i].load(Relaxed) != 0);
        // In a full block the next thing is its end mark, of which a kill leaves a part as well.
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

    /// Whether a whole record stands at a position that comes after the one of `sequence`.
    fn has_later_record(&self, position: usize, sequence: u64) -> bool {
        let found = self.sequence(position);
        found > sequence
            && matches!(self.at(position, found), Ok(BlockContent::Record(_) | BlockContent::End))
    }
}
