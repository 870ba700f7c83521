//! A reader of a queue.

use std::path::Path;
use std::time::Duration;

use crate::queue::ahead::{BlockMaker, NextBlocks};
use crate::queue::bell::QueueBell;
use crate::queue::block::{Block, BlockContent, FIRST};
use crate::queue::directory::Directory;
use crate::queue::error::QueueError;
use crate::queue::record::span;
use crate::wait::Wait;

/// The position at which a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The oldest record that is kept.
    Oldest,
    /// After the newest present record. The reader reads its block to find it; if the writer ends
    /// that block in the meantime, the reader starts with the first record of the next one.
    Newest,
    /// The record with this sequence. If it is no longer kept, the first read reports the missed
    /// ones; it may be the next record to be written.
    At(u64),
}

/// How often to search again for a position because the writer removed the block, before that is an
/// error.
const ATTEMPTS_MAX: u32 = 100;

/// A reader of a queue. Any number of them can read at the same time; the writer does not know
/// them.
pub struct Reader {
    directory: Directory,
    next: NextBlocks,
    bell: Option<QueueBell>,
    block: Block,
    position: usize,
    sequence: u64,
    /// After this position, the next block is requested, once.
    ask_behind: usize,
}

impl Reader {
    /// Reads the queue in the directory `path`.
    ///
    /// # Errors
    /// No queue there; a start after its end; a block missing, damaged, foreign or of another
    /// version; a system error.
    pub fn open(path: &Path, start: Start, ahead: BlockMaker) -> Result<Reader, QueueError> {
        let directory = Directory::new(path);
        for _ in 0..ATTEMPTS_MAX {
            let Some(block) = find(&directory, start)? else { continue };
            let mut reader = Reader::at_start_of(block, &directory, ahead)?;
            match start {
                Start::Oldest => return Ok(reader),
                Start::Newest => {
                    reader.skip_block()?;
                    return Ok(reader);
                }
                Start::At(sequence) if sequence < reader.sequence => {
                    reader.sequence = sequence;
                    return Ok(reader);
                }
                Start::At(sequence) => match reader.skip_to(sequence) {
                    Ok(()) => return Ok(reader),
                    // The records to skip were removed in the meantime.
                    Err(QueueError::FellBehind { .. }) => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Err(QueueError::NoQueue(path.to_owned()))
    }

    fn at_start_of(
        block: Block,
        directory: &Directory,
        ahead: BlockMaker,
    ) -> Result<Reader, QueueError> {
        let of_blocks = directory.clone();
        let fetch = move |number, _in_use| Block::open_to_read(&of_blocks.block(number), number);
        let next = NextBlocks::new(ahead, Box::new(fetch)).map_err(|source| {
            let path = directory.path().to_owned();
            QueueError::System { doing: "start a thread for", path, source }
        })?;
        let mut reader = Reader {
            directory: directory.clone(),
            next,
            bell: QueueBell::open(directory.path())?,
            ask_behind: block.end() / 2,
            block,
            position: 0,
            sequence: 0,
        };
        if let BlockContent::Start(first) = reader.found()? {
            reader.sequence = first;
        }
        Ok(reader)
    }

    /// Passes the next records, at most `max`, each with its sequence, to `each`, and returns their
    /// number. The bytes are not copied. Makes no system call, unless a block ends and the next one
    /// isn't ready.
    ///
    /// # Errors
    /// [`QueueError::FellBehind`], once, after which the next read continues at the oldest record;
    /// a damaged or missing block, at every further read; a system error. All records before the
    /// fault are passed first: an error means that none was.
    #[inline]
    pub fn read(
        &mut self,
        max: usize,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Result<usize, QueueError> {
        let mut records = 0;
        while records < max {
            match self.block.at(self.position, self.sequence) {
                Ok(BlockContent::Nothing) => break,
                Ok(BlockContent::Record(bytes)) => {
                    each(self.sequence, bytes);
                    self.position += span(bytes.len());
                    self.sequence += 1;
                    records += 1;
                }
                _ if records > 0 => break,
                _ => self.go_on()?,
            }
        }
        if self.position > self.ask_behind {
            self.ask_for_next();
        }
        Ok(records)
    }

    /// As [`Reader::read`], but waits for a first record until the patience ends; 0 if none came.
    /// If the writer had no bell when this reader was opened
    /// ([`Options::may_sleep`](crate::queue::Options)), [`Wait::Futex`] yields.
    ///
    /// # Errors
    /// As [`Reader::read`].
    #[inline]
    pub fn read_within(
        &mut self,
        wait: Wait,
        patience: Duration,
        max: usize,
        mut each: impl FnMut(u64, &[u8]),
    ) -> Result<usize, QueueError> {
        let bell = self.bell.take();
        let attempt = |_| match self.read(max, &mut each) {
            Ok(0) => None,
            done => Some(done),
        };
        let done = wait.until(patience, bell.as_ref().map(QueueBell::bell), attempt);
        self.bell = bell;
        done.unwrap_or(Ok(0))
    }

    /// Maps one more block for later, if the writer has made it: for an owner with
    /// [`BlockMaker::Caller`] that has time. False if it does not exist, if enough are ready, or if
    /// a thread does it.
    ///
    /// # Errors
    /// A foreign block, a block of another version; a system error.
    pub fn prepare_next(&mut self) -> Result<bool, QueueError> {
        self.next.prepare(self.block.number() + 1)
    }

    /// The sequence of the next record to read.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// How often the next block was not mapped in time, so that a read waited for it.
    pub fn blocks_late(&self) -> u64 {
        self.next.late()
    }

    /// Skips a start or an end, or reports damage.
    #[cold]
    fn go_on(&mut self) -> Result<(), QueueError> {
        match self.found()? {
            BlockContent::Start(first) => {
                let missed = self.sequence..first;
                self.position = FIRST;
                self.sequence = first;
                if missed.is_empty() { Ok(()) } else { Err(QueueError::FellBehind { missed }) }
            }
            BlockContent::End => self.go_to_next_block(),
            BlockContent::Nothing | BlockContent::Record(_) => Ok(()),
        }
    }

    fn found(&self) -> Result<BlockContent<'_>, QueueError> {
        let found = self.block.at(self.position, self.sequence);
        found.map_err(|what| self.block.damaged(self.position, what))
    }

    fn go_to_next_block(&mut self) -> Result<(), QueueError> {
        let number = self.block.number() + 1;
        for _ in 0..ATTEMPTS_MAX {
            if let Some(block) = self.next.take(number)? {
                self.go_to(block);
                return Ok(());
            }
            // The writer makes the next block before it ends one, so it was removed since.
            let Some(oldest) = self.oldest_behind(number)? else { continue };
            if let Some(block) = Block::open_to_read(&self.directory.block(oldest), oldest)? {
                self.go_to(block);
                return Ok(());
            }
        }
        Err(QueueError::MissingBlock(self.directory.block(number)))
    }

    /// The oldest block if all blocks before it were removed; `None` if that has changed.
    fn oldest_behind(&self, number: u64) -> Result<Option<u64>, QueueError> {
        let blocks = self.directory.blocks()?;
        if let Some(missing) = self.directory.hole(&blocks) {
            return Err(QueueError::MissingBlock(self.directory.block(missing)));
        }
        Ok(blocks.first().copied().filter(|oldest| *oldest > number))
    }

    fn go_to(&mut self, block: Block) {
        let ended = std::mem::replace(&mut self.block, block);
        self.next.give_back(ended);
        self.position = 0;
        self.ask_behind = self.block.end() / 2;
    }

    #[cold]
    fn ask_for_next(&mut self) {
        self.ask_behind = usize::MAX;
        self.next.ask(self.block.number() + 1);
    }

    fn skip_to(&mut self, sequence: u64) -> Result<(), QueueError> {
        while self.sequence < sequence {
            let left = usize::try_from(sequence - self.sequence).unwrap_or(usize::MAX);
            if self.read(left, |_, _| ())? == 0 {
                return Err(QueueError::NotYet { sequence, next: self.sequence });
            }
        }
        Ok(())
    }

    /// Reads to the end of the present records of this block.
    fn skip_block(&mut self) -> Result<(), QueueError> {
        loop {
            match self.found()? {
                BlockContent::Start(_) => self.position = FIRST,
                BlockContent::Record(bytes) => {
                    self.position += span(bytes.len());
                    self.sequence += 1;
                }
                BlockContent::Nothing | BlockContent::End => return Ok(()),
            }
        }
    }
}

/// The block in which a reader starts, which the writer has reached; `None` if it was removed
/// during the search.
fn find(directory: &Directory, start: Start) -> Result<Option<Block>, QueueError> {
    let mut blocks = directory.blocks()?;
    if blocks.is_empty() {
        return Err(QueueError::NoQueue(directory.path().to_owned()));
    }
    if let Some(missing) = directory.hole(&blocks) {
        return Err(QueueError::MissingBlock(directory.block(missing)));
    }
    if start == Start::Oldest {
        blocks.truncate(1);
    }
    let mut oldest = None;
    for number in blocks.into_iter().rev() {
        let Some(block) = Block::open_to_read(&directory.block(number), number)? else {
            return Ok(None);
        };
        match (block.first_sequence(), start) {
            (None, _) => {}
            (Some(first), Start::At(sequence)) if first > sequence => oldest = Some(block),
            _ => return Ok(Some(block)),
        }
    }
    Ok(oldest)
}
