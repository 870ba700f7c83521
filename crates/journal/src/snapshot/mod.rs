//! The file of a snapshot: a header, the engine's pieces, client ids, and the engine's state hash.
//!
//! | bytes | |
//! |---|---|
//! | 0..128 | header, as a segment's |
//! | 128.. | `engine::SavedItem` pieces, then the records of `client_ids.rs`, 72 bytes each |
//! | then 8 | number of both |
//! | then 8 | the engine's state hash |
//! | then 4 | CRC-32C of everything between the header and this |
//!
//! It appears under its name once it is complete and durable, and so is the log up to it: a
//! snapshot is never ahead of its log.

pub mod snapshotter;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use engine::{DecodeError, Engine, SavedItem, StateHash};

use crate::client_ids::{CancelOnDisconnect, ClientIds, Content, OrderClientId};
use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::header::{FileKind, HEADER_BYTES, Header};
use crate::own_commands::OwnCommands;
use crate::read::inputs::hold_name;
use crate::read::segment::{Log, read_header};
use crc32c::{crc32c, crc32c_append};

/// Bytes after the pieces.
const TRAILER_BYTES: usize = 20;
/// Bytes per read or write.
const BUFFER_BYTES: usize = 1 << 20;

/// A written snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its file.
    pub path: PathBuf,
    /// The first input after it.
    pub sequence: u64,
    /// The engine's state hash.
    pub state_hash: u64,
}

/// Writes the state of an engine that has applied all inputs before `sequence`, and the client ids
/// of its orders.
pub(crate) fn write(
    directory: &Directory,
    log: Log,
    sequence: u64,
    state: (&Engine, &ClientIds),
) -> Result<Snapshot, JournalError> {
    // A client id belongs to the input after it, which this state does not have.
    let sequence = sequence - u64::from(state.1.awaits_input());
    sync_log(directory, sequence)?;
    let path = directory.snapshot(sequence);
    let Log { number, identity } = log;
    let header = Header { kind: FileKind::Snapshot, log: number, sequence, records: 0, identity };
    let mut state_hash = 0;
    directory.publish(&path, |file| {
        let written = write_pieces(file, &header, state);
        state_hash = written.map_err(|source| JournalError::writing(&path, 0, source))?;
        Ok(())
    })?;
    Ok(Snapshot { path, sequence, state_hash })
}

/// Makes the log durable, because it may have been read only from the page cache.
fn sync_log(directory: &Directory, sequence: u64) -> Result<(), JournalError> {
    // A segment is durable before the next one gets content.
    let Some(first) = directory.segment_before(sequence)? else { return Ok(()) };
    let path = directory.segment(first);
    let synced = File::open(&path).and_then(|file| file.sync_data());
    synced.map_err(|source| JournalError::NotDurable { path, source })
}

fn write_pieces(
    file: &mut File,
    header: &Header,
    (engine, client_ids): (&Engine, &ClientIds),
) -> std::io::Result<u64> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    out.write_all(&header.encode())?;
    let (mut pieces, mut check, mut hash) = (0_u64, crc32c(&[]), StateHash::new());
    let mut written = Ok(());
    engine.save(&mut |piece| {
        let bytes = piece.to_bytes();
        pieces += 1;
        check = crc32c_append(check, &bytes);
        hash.piece(&piece);
        if written.is_ok() {
            written = out.write_all(&bytes);
        }
    });
    written?;
    for bytes in client_ids.records() {
        pieces += 1;
        check = crc32c_append(check, &bytes);
        out.write_all(&bytes)?;
    }
    let hash = hash.finish();
    for word in [pieces, hash] {
        check = crc32c_append(check, &word.to_le_bytes());
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(&check.to_le_bytes())?;
    out.flush()?;
    Ok(hash)
}

/// The engine of a snapshot and the client ids of its orders. Checks the whole file first.
pub(crate) fn load(
    path: &Path,
    log: Option<Log>,
    sequence: u64,
) -> Result<(Engine, ClientIds), JournalError> {
    let VerifiedSnapshot { mut file, pieces, state_hash } = check(path, log, sequence)?;
    let failed = |source| JournalError::system("read", path, source);
    let invalid = |why: String| JournalError::Snapshot { path: path.to_owned(), why };
    file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(failed)?;
    let mut pieces = Pieces {
        source: BufReader::with_capacity(BUFFER_BYTES, file),
        left: pieces,
        client_ids: ClientIds::default(),
        stopped: None,
    };
    let engine = Engine::restore(&mut pieces);
    let Pieces { client_ids, stopped, .. } = pieces;
    match stopped {
        Some(PieceFault::Unread(source)) => return Err(failed(source)),
        Some(PieceFault::Unknown(error)) => return Err(invalid(error.to_string())),
        None => {}
    }
    let engine = engine.map_err(|error| invalid(error.to_string()))?;
    let found = engine.state_hash();
    if found != state_hash {
        let why = format!("its state hash is {state_hash:016x}, but its state has {found:016x}");
        return Err(invalid(why));
    }
    Ok((engine, client_ids))
}

/// A snapshot's file with the right checksums.
pub(crate) struct VerifiedSnapshot {
    file: File,
    pieces: u64,
    state_hash: u64,
}

/// Compares a snapshot's file with its checksums.
pub(crate) fn check(
    path: &Path,
    log: Option<Log>,
    sequence: u64,
) -> Result<VerifiedSnapshot, JournalError> {
    let failed = |source| JournalError::system("read", path, source);
    let damaged = |byte, what: &str| {
        let (path, what) = (path.to_owned(), what.to_owned());
        JournalError::Damaged { path, byte, sequence, what }
    };
    let file = File::open(path).map_err(|source| JournalError::system("open", path, source))?;
    let length = file.metadata().map_err(failed)?.len();
    let mut source = BufReader::with_capacity(BUFFER_BYTES, file);
    let header = read_header(&mut source, path, FileKind::Snapshot, log)?;
    hold_name(path, &header, sequence)?;
    let body = length.checked_sub((HEADER_BYTES + TRAILER_BYTES) as u64);
    let body = body.filter(|body| body.is_multiple_of(SavedItem::BYTES as u64));
    let body = body.ok_or_else(|| damaged(length, "it is incomplete"))?;
    let mut sum = crc32c(&[]);
    let mut piece = [0; SavedItem::BYTES];
    for _ in 0..body / SavedItem::BYTES as u64 {
        source.read_exact(&mut piece).map_err(failed)?;
        sum = crc32c_append(sum, &piece);
    }
    let mut trailer = [0; TRAILER_BYTES];
    source.read_exact(&mut trailer).map_err(failed)?;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| trailer[at + byte]));
    if crc32c_append(sum, &trailer[..16]).to_le_bytes() != trailer[16..] {
        return Err(damaged(length - 4, "its checksum does not match"));
    }
    let pieces = word(0);
    if pieces != body / SavedItem::BYTES as u64 {
        return Err(damaged(length - TRAILER_BYTES as u64, "its number of pieces is wrong"));
    }
    Ok(VerifiedSnapshot { file: source.into_inner(), pieces, state_hash: word(8) })
}

/// The engine's pieces of a snapshot; ends early at an unreadable one. Puts the client ids aside.
struct Pieces {
    source: BufReader<File>,
    left: u64,
    client_ids: ClientIds,
    stopped: Option<PieceFault>,
}

enum PieceFault {
    Unread(std::io::Error),
    Unknown(DecodeError),
}

impl Iterator for &mut Pieces {
    type Item = SavedItem;

    fn next(&mut self) -> Option<SavedItem> {
        while self.left > 0 {
            self.left -= 1;
            match self.read() {
                Ok(Piece::Engine(item)) => return Some(item),
                Ok(Piece::ClientId(one)) => self.client_ids.insert(one),
                Ok(Piece::CancelOnDisconnect(one)) => self.client_ids.set(one),
                Ok(Piece::OwnCommands(all)) => self.client_ids.set_own_commands(all),
                Err(stopped) => (self.left, self.stopped) = (0, Some(stopped)),
            }
        }
        None
    }
}

enum Piece {
    Engine(SavedItem),
    ClientId(OrderClientId),
    CancelOnDisconnect(CancelOnDisconnect),
    OwnCommands(OwnCommands),
}

impl Pieces {
    fn read(&mut self) -> Result<Piece, PieceFault> {
        let mut bytes = [0; SavedItem::BYTES];
        self.source.read_exact(&mut bytes).map_err(PieceFault::Unread)?;
        if let Some(all) = OwnCommands::from_record(&bytes) {
            return all.map(Piece::OwnCommands).map_err(PieceFault::Unknown);
        }
        match Content::from_bytes(&bytes) {
            Ok(Content::ClientId(one)) => Ok(Piece::ClientId(one)),
            Ok(Content::CancelOnDisconnect(one)) => Ok(Piece::CancelOnDisconnect(one)),
            _ => SavedItem::from_bytes(&bytes).map(Piece::Engine).map_err(PieceFault::Unknown),
        }
    }
}
