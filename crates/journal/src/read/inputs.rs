//! Reads a log from one input to its end, over all segments.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use engine::Input;

use crate::client_ids::Content;
use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::header::{FileKind, Header};
use crate::file::segment::{byte_of, end_of};
use crate::read::segment::{Log, Reader, read_header};

/// The inputs of a log with their sequences, which skip those of client ids and deliveries. Ends at
/// the first incomplete record, or with an error.
#[derive(Debug)]
pub struct Inputs {
    directory: Directory,
    log: Log,
    reader: Option<Reader<BufReader<File>>>,
    /// The first inputs of the later segments, ascending.
    later: VecDeque<u64>,
    next: u64,
    is_over: bool,
}

/// Bytes after the last complete record of a log that are not zeros: the remains of an interrupted
/// write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment.
    pub segment: PathBuf,
    /// The first input that is not in the log.
    pub sequence: u64,
    /// Number of these bytes.
    pub bytes: u64,
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail { segment, sequence, bytes } = self;
        let segment = segment.display();
        write!(
            f,
            "{segment} ends before input {sequence}: {bytes} bytes after it are an incomplete record, and are cut"
        )
    }
}

/// The end of a log.
#[derive(Debug)]
pub(crate) struct LogEnd {
    /// The first input that does not exist.
    pub next: u64,
    /// The segment with room for it, and the offset at which its final zeros begin.
    pub segment: Option<(Header, u64)>,
    /// The first inputs of later segments, which are empty.
    pub later: Vec<u64>,
    pub cut: Option<TornTail>,
}

impl Inputs {
    /// The inputs of the journal in the directory `path`, from the oldest one. During writing, the
    /// last ones may be missing.
    ///
    /// # Errors
    /// If there is no journal, or a file is not one of its own.
    pub fn open(path: &Path) -> Result<Inputs, JournalError> {
        let directory = Directory::new(path);
        let first = directory.segments()?.first().copied();
        let first = first.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
        let log = read_segment_header(&directory, first, None)?;
        Inputs::from(&directory, Log { number: log.log, identity: log.identity }, first)
    }

    pub(crate) fn from(directory: &Directory, log: Log, from: u64) -> Result<Inputs, JournalError> {
        let segments = directory.segments()?;
        let before = segments.partition_point(|first| *first <= from);
        let mut inputs = Inputs {
            directory: directory.clone(),
            log,
            reader: None,
            later: segments[before..].iter().copied().collect(),
            next: from,
            is_over: false,
        };
        if let Some(first) = before.checked_sub(1).map(|index| segments[index]) {
            let reader = Reader::open(&directory.segment(first), Some(log), from)?;
            inputs.hold_name(&reader, first)?;
            // A segment that ends before `from` is not needed.
            if from <= end_of(reader.header()) {
                inputs.reader = Some(reader);
            }
        }
        Ok(inputs)
    }

    /// The sequence of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The next record; after an error, don't call it again.
    pub(crate) fn next_content(&mut self) -> Result<Option<(u64, Content)>, JournalError> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(content) = reader.next_content()? {
                    let sequence = self.next;
                    self.next += 1;
                    return Ok(Some((sequence, content)));
                }
                if !reader.is_read() {
                    return Ok(None);
                }
            }
            let Some(first) = self.later.front().copied() else { return Ok(None) };
            if first != self.next {
                return Err(self.missing());
            }
            let reader = Reader::open(&self.directory.segment(first), Some(self.log), first)?;
            self.hold_name(&reader, first)?;
            self.reader = Some(reader);
            self.later.pop_front();
        }
    }

    fn missing(&self) -> JournalError {
        JournalError::Missing { path: self.directory.path().to_owned(), sequence: self.next }
    }

    fn hold_name(&self, reader: &Reader<BufReader<File>>, first: u64) -> Result<(), JournalError> {
        hold_name(&self.directory.segment(first), reader.header(), first)
    }

    /// Judges the bytes after the last input, which must have been read. No writer may be active.
    pub(crate) fn end(self) -> Result<LogEnd, JournalError> {
        let mut end = LogEnd { next: self.next, segment: None, later: Vec::new(), cut: None };
        if let Some(reader) = self.reader {
            let header = *reader.header();
            let dirty_end = reader.judge()?;
            if end.next < end_of(&header) {
                let begin = byte_of(&header, end.next);
                let bytes = dirty_end - begin;
                let segment = self.directory.segment(header.sequence);
                let cut = TornTail { segment, sequence: end.next, bytes };
                end.cut = (bytes > 0).then_some(cut);
                end.segment = Some((header, dirty_end));
            }
        }
        for first in self.later {
            // It was prepared and not used; otherwise something before it is missing.
            let path = self.directory.segment(first);
            let reader = Reader::open(&path, Some(self.log), first)?;
            let begin = byte_of(reader.header(), first);
            match reader.judge() {
                Ok(dirty_end) if dirty_end == begin => end.later.push(first),
                _ => {
                    let path = self.directory.path().to_owned();
                    return Err(JournalError::Missing { path, sequence: end.next });
                }
            }
        }
        Ok(end)
    }
}

impl Iterator for Inputs {
    type Item = Result<(u64, Input), JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        loop {
            let next = match self.next_content() {
                Ok(Some((
                    _,
                    Content::ClientId(_) | Content::Delivery(_) | Content::CancelOnDisconnect(_),
                ))) => continue,
                Ok(Some((sequence, Content::Input(input)))) => return Some(Ok((sequence, input))),
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            };
            self.is_over = true;
            return next;
        }
    }
}

/// The header of the segment that begins with `first`.
pub(crate) fn read_segment_header(
    directory: &Directory,
    first: u64,
    log: Option<Log>,
) -> Result<Header, JournalError> {
    let path = directory.segment(first);
    let file = File::open(&path);
    let mut file = file.map_err(|source| JournalError::system("open", &path, source))?;
    let header = read_header(&mut file, &path, FileKind::Segment, log)?;
    hold_name(&path, &header, first).map(|()| header)
}

/// Checks that the header matches the file's name.
pub(crate) fn hold_name(path: &Path, header: &Header, named: u64) -> Result<(), JournalError> {
    if header.sequence == named {
        return Ok(());
    }
    let why = "its name and its header have different inputs";
    Err(JournalError::Foreign { path: path.to_owned(), why })
}
