//! A reader of a queue, at its own place.

use std::path::Path;
use std::time::Duration;

use crate::queue::ahead::{Ahead, NextBlocks};
use crate::queue::bell::QueueBell;
use crate::queue::block::{Block, BlockContent, FIRST};
use crate::queue::directory::Directory;
use crate::queue::error::QueueError;
use crate::queue::record::span;
use crate::wait::Wait;

/// Where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the oldest record that is kept.
    Oldest,
    /// Behind the newest record there is now. To find it, the block it stands in is read; where the
    /// writer ends that meanwhile, the reader starts with the first record of the next.
    Newest,
    /// At the record of this sequence. If it isn't kept any more, the first read says what is
    /// missed; it may be that of the next record to be written.
    At(u64),
}

/// How often a place in the queue is looked for anew because the writer removed the block that was
/// found, before that is taken for an error.
const ATTEMPTS_MAX: u32 = 100;

/// A reader of a queue, at its own place. Any number of them read at the same time, and none is
/// known to the writer.
pub struct Reader {
    directory: Directory,
    next: NextBlocks,
    bell: Option<QueueBell>,
    block: Block,
    position: usize,
    sequence: u64,
    /// Behind this position the next block is asked for, once.
    ask_behind: usize,
}

impl Reader {
    /// Reads the queue in the directory `path`.
    ///
    /// # Errors
    /// No queue there; a start behind its end; a block missing, damaged, foreign or of another
    /// version; or a refusal of the system.
    pub fn open(path: &Path, start: Start, ahead: Ahead) -> Result<Reader, QueueError> {
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
                    // What was to be skipped was removed meanwhile.
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
        ahead: Ahead,
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

    /// Gives the next records, at most `max`, each with its sequence, to `each`, and says how many.
    /// The bytes are where the writer put them; nothing is copied. Makes no system call, unless a
    /// block is read to its end and the next one isn't ready.
    ///
    /// # Errors
    /// [`QueueError::FellBehind`], once, and the next read goes on at the oldest record; a block
    /// damaged or missing, at every read from then on; or a refusal of the system. What stands
    /// before is given first: an error means that nothing was.
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

    /// As [`Reader::read`], but waits for a first record as long as the patience lasts; 0 when none
    /// came. Where the writer, as it was when this reader was opened, rings for no sleepers
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

    /// Maps one more block, for later, if the writer has made it: for an owner who has time now
    /// and opened with [`Ahead::Caller`]. False if it isn't there, or enough are ready, or a
    /// thread does it.
    ///
    /// # Errors
    /// A block foreign or of another version; or a refusal of the system.
    pub fn prepare_next(&mut self) -> Result<bool, QueueError> {
        self.next.prepare(self.block.number() + 1)
    }

    /// The sequence of the record that is read next.
    pub fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// How often the next block was not mapped when it was needed, and a read waited for it.
    pub fn blocks_late(&self) -> u64 {
        self.next.late()
    }

    /// Goes over what is no record: a start, an end, or damage.
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
            // The writer makes the next block before it ends one: this one was removed since.
            let Some(oldest) = self.oldest_behind(number)? else { continue };
            if let Some(block) = Block::open_to_read(&self.directory.block(oldest), oldest)? {
                self.go_to(block);
                return Ok(());
            }
        }
        Err(QueueError::MissingBlock(self.directory.block(number)))
    }

    /// The oldest block, all before which were removed; `None` if that has changed meanwhile.
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

    /// Reads to the end of what is in this block.
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

/// The block that a reader starts in, one that the writer has come to; `None` if it was removed
/// while it was looked for.
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
