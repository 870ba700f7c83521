//! The writer of a queue.

use std::path::Path;

use crate::queue::ahead::{BlockMaker, NextBlocks};
use crate::queue::bell::{self, QueueBell};
use crate::queue::block::{BLOCK_OVERHEAD_BYTES, Block, BlockContent, FIRST};
use crate::queue::directory::{BLOCK_NUMBER_MAX, Directory, WriterLock};
use crate::queue::error::QueueError;
use crate::queue::record::{HEAD_BYTES, RecordKind, span};

/// Smallest block, bytes.
pub const BLOCK_BYTES_MIN: usize = 4 << 12;
/// Largest block, bytes.
pub const BLOCK_BYTES_MAX: usize = 1 << 34;
/// Longest record of any queue, bytes. Small blocks set a lower limit, because a record is never
/// split.
pub const RECORD_BYTES_MAX: usize = 1 << 20;

/// Files of blocks are whole pages.
const PAGE_BYTES: usize = 1 << 12;

/// Options of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a block's file, [`BLOCK_BYTES_MIN`] to [`BLOCK_BYTES_MAX`], rounded up to whole
    /// pages of 4 KiB. Existing blocks keep their size.
    pub block_bytes: usize,
    /// Blocks to keep, including the one in use: from 1. Older ones are removed when the next one
    /// is prepared, so with the prepared ones there may be more.
    pub keep_blocks: usize,
    /// Whether each record's check covers its bytes, so that a torn or changed block is detected.
    /// At 256 B it costs writer and reader some 15 ns each.
    pub checked: bool,
    /// The thread that makes the next block before it is needed.
    pub ahead: BlockMaker,
    /// Whether readers may sleep ([`Wait::Futex`](crate::wait::Wait)): each append then costs a
    /// full fence.
    pub may_sleep: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            block_bytes: 256 << 20,
            keep_blocks: 4,
            checked: true,
            ahead: BlockMaker::Thread,
            may_sleep: false,
        }
    }
}

impl Options {
    fn in_range(mut self) -> Result<Options, QueueError> {
        let range = |name, given, least, most| {
            if (least..=most).contains(&given) {
                return Ok(());
            }
            Err(QueueError::Option { name, given, least, most })
        };
        range("block_bytes", self.block_bytes, BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)?;
        range("keep_blocks", self.keep_blocks, 1, BLOCK_NUMBER_MAX as usize)?;
        self.block_bytes = self.block_bytes.next_multiple_of(PAGE_BYTES);
        Ok(self)
    }

    /// Longest record for blocks of this size.
    fn record_bytes_max(self) -> usize {
        RECORD_BYTES_MAX.min(self.block_bytes - BLOCK_OVERHEAD_BYTES - HEAD_BYTES)
    }
}

/// The writer of a queue; a second one is rejected while it lives. Prepared blocks stay when it
/// ends, for the next writer: a reader may have them mapped.
pub struct Writer {
    /// Dropped before the lock, so that its thread has ended when the lock is released.
    next: NextBlocks,
    block: Block,
    position: usize,
    sequence: u64,
    checked: bool,
    bell: Option<QueueBell>,
    record_bytes_max: usize,
    wiped_bytes: usize,
    _lock: WriterLock,
}

impl Writer {
    /// Makes the queue in the directory `path`, or continues an existing one after its last
    /// complete record.
    ///
    /// # Errors
    /// Options out of range; another writer; a block missing, damaged, foreign or of another
    /// version; a full file system; a system error.
    pub fn open(path: &Path, options: Options) -> Result<Writer, QueueError> {
        let options = options.in_range()?;
        let directory = Directory::new(path);
        directory.create()?;
        let lock = directory.lock()?;
        directory.remove_unfinished()?;
        let blocks = directory.blocks()?;
        let WritePosition { block, position, sequence, wiped_bytes } = match blocks.last() {
            None => WritePosition::of_new(&directory, options)?,
            Some(_) => WritePosition::find(&directory, &blocks)?,
        };
        let oldest = blocks.first().copied().unwrap_or(0);
        let bell = bell(&directory, options.may_sleep)?;
        let next = next_blocks(directory, options, oldest)?;
        let mut writer = Writer {
            next,
            block,
            position,
            sequence,
            checked: options.checked,
            bell,
            record_bytes_max: options.record_bytes_max(),
            wiped_bytes,
            _lock: lock,
        };
        writer.next.ask(writer.block.number() + 1);
        Ok(writer)
    }

    /// Appends a record and returns its sequence. Makes no system call, unless the block is full
    /// and the next one isn't ready.
    ///
    /// # Errors
    /// If the record is too long, or there is no room for the next block. Nothing is written then,
    /// and the caller may try again.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, QueueError> {
        if span(bytes.len()) > self.block.end() - self.position {
            self.make_room(bytes.len())?;
        }
        let sequence = self.sequence;
        self.block.put(self.position, sequence, bytes, self.checked);
        self.position += span(bytes.len());
        self.sequence += 1;
        if let Some(bell) = &self.bell {
            bell.bell().ring();
        }
        Ok(sequence)
    }

    /// Appends records, each visible at once, and returns their number.
    ///
    /// # Errors
    /// As [`Writer::append`]. Earlier records stay appended; [`Writer::next_sequence`] tells how
    /// many.
    pub fn append_batch<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<usize, QueueError> {
        let first = self.sequence;
        for bytes in records {
            self.append(bytes)?;
        }
        Ok((self.sequence - first) as usize)
    }

    /// Makes one more block for later: for an owner with [`BlockMaker::Caller`] that has time.
    /// False if enough are ready, or if a thread does it.
    ///
    /// # Errors
    /// As [`Writer::open`]; the appended records are not affected.
    pub fn prepare_next(&mut self) -> Result<bool, QueueError> {
        self.next.prepare(self.block.number() + 1)
    }

    /// The sequence of the next record; a queue's sequences start at 0.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Longest record, bytes.
    pub fn record_bytes_max(&self) -> usize {
        self.record_bytes_max
    }

    /// How often the next block was not ready in time, so that an append waited for it.
    pub fn blocks_late(&self) -> u64 {
        self.next.late()
    }

    /// Bytes of an incomplete record of the previous writer, which were zeroed on opening.
    pub fn wiped_bytes(&self) -> usize {
        self.wiped_bytes
    }

    #[cold]
    fn make_room(&mut self, length: usize) -> Result<(), QueueError> {
        if length > self.record_bytes_max {
            return Err(QueueError::RecordTooLong { length, most: self.record_bytes_max });
        }
        // Blocks prepared by an earlier writer may be too small.
        while span(length) > self.block.end() - self.position {
            self.go_on()?;
        }
        Ok(())
    }

    /// Ends this block and starts the next one. A reader that sees the end finds the next block.
    fn go_on(&mut self) -> Result<(), QueueError> {
        let number = self.block.number() + 1;
        if number > BLOCK_NUMBER_MAX {
            return Err(QueueError::LastBlock(BLOCK_NUMBER_MAX));
        }
        let next = self.next.take(number)?.expect("what is not there is made");
        self.block.mark(self.position, RecordKind::End, self.sequence);
        let ended = std::mem::replace(&mut self.block, next);
        self.block.mark(0, RecordKind::Start, self.sequence);
        self.position = FIRST;
        self.next.give_back(ended);
        self.next.ask(number + 1);
        Ok(())
    }
}

fn next_blocks(
    directory: Directory,
    options: Options,
    mut oldest: u64,
) -> Result<NextBlocks, QueueError> {
    let path = directory.path().to_owned();
    let fetch = move |number, in_use: u64| {
        while oldest + options.keep_blocks as u64 <= in_use {
            directory.remove(&directory.block(oldest))?;
            oldest += 1;
        }
        // Prepared by an earlier writer, or missing.
        let path = directory.block(number);
        let Some(mut block) = Block::open(&path, number)? else {
            return Block::create(&path, number, options.block_bytes, None).map(Some);
        };
        match block.wipe(0, 0, 0) {
            Ok(_) => Ok(Some(block)),
            Err(far) => Err(block.damaged(far, "it is not started, but not empty")),
        }
    };
    NextBlocks::new(options.ahead, Box::new(fetch)).map_err(|source| QueueError::System {
        doing: "start a thread for",
        path,
        source,
    })
}

/// The bell for sleeping readers. Without it, removes its file, so that no reader waits for it.
fn bell(directory: &Directory, may_sleep: bool) -> Result<Option<QueueBell>, QueueError> {
    if may_sleep {
        return Ok(Some(QueueBell::open_or_create(directory.path())?));
    }
    directory.remove(&directory.path().join(bell::FILE))?;
    Ok(None)
}

/// The position at which a writer continues.
struct WritePosition {
    block: Block,
    position: usize,
    sequence: u64,
    wiped_bytes: usize,
}

impl WritePosition {
    fn of_new(directory: &Directory, options: Options) -> Result<WritePosition, QueueError> {
        let block = Block::create(&directory.block(0), 0, options.block_bytes, Some(0))?;
        Ok(WritePosition { block, position: FIRST, sequence: 0, wiped_bytes: 0 })
    }

    /// Walks the last started block to the end of its last complete record.
    fn find(directory: &Directory, blocks: &[u64]) -> Result<WritePosition, QueueError> {
        if let Some(missing) = directory.hole(blocks) {
            return Err(QueueError::MissingBlock(directory.block(missing)));
        }
        let missing = |number| QueueError::MissingBlock(directory.block(number));
        for number in blocks.iter().rev().copied() {
            let block = Block::open(&directory.block(number), number)?;
            let block = block.ok_or_else(|| missing(number))?;
            if block.is_started() {
                return WritePosition::walk(block);
            }
        }
        // Only the next blocks exist, which were prepared.
        Err(missing(blocks[0].saturating_sub(1)))
    }

    fn walk(mut block: Block) -> Result<WritePosition, QueueError> {
        let (mut position, mut sequence) = (0, 0);
        loop {
            match block.at(position, sequence) {
                Ok(BlockContent::Start(first)) => (position, sequence) = (FIRST, first),
                Ok(BlockContent::Record(bytes)) => {
                    position += span(bytes.len());
                    sequence += 1;
                }
                Ok(BlockContent::Nothing) => {
                    let wiped = block.wipe(position, sequence, RECORD_BYTES_MAX);
                    let lost = "nothing is before it, so a part of the block was lost";
                    let wiped_bytes = wiped.map_err(|far| block.damaged(far, lost))?;
                    return Ok(WritePosition { block, position, sequence, wiped_bytes });
                }
                // The previous writer ended it and did not start the next one, which `append` does.
                // There is no room left in this block.
                Ok(BlockContent::End) => {
                    return Ok(WritePosition {
                        position: block.end(),
                        block,
                        sequence,
                        wiped_bytes: 0,
                    });
                }
                Err(what) => return Err(block.damaged(position, what)),
            }
        }
    }
}
