//! A store in one file that survives the end of the process at any byte.
//!
//! The file is [`MAGIC`] and records: length of the payload and its CRC-32C, 4 bytes each, little
//! endian; then the payload: a kind, a number of 8 bytes, and for a sent message its bytes. Only
//! the last record can be cut by the end of the process, and opening removes it. The file is not
//! synced: the page cache survives the process, not the loss of power.

use super::Store;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, rename};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that has grown beyond this is written anew with its newer messages, half as many bytes.
/// It is read when it is opened, and for a ResendRequest: some milliseconds for this limit, in
/// which its thread does nothing else.
pub const FILE_BYTES_MAX: u64 = 4 << 20;

const MAGIC: &[u8; 16] = b"tickpath fix 1\0\n";
const HEAD_BYTES: usize = 8;
/// Kind and number.
const PAYLOAD_BYTES_MIN: usize = 9;
/// A sent message is at most a received one, and what a header adds.
const PAYLOAD_BYTES_MAX: usize = 2 * crate::frame::MESSAGE_BYTES_MAX;

/// A sent message and its number.
const SENT: u8 = 1;
/// The next number from the peer.
const NEXT_IN: u8 = 2;
/// The next number to send, at the start of a file that was written anew.
const NEXT_OUT: u8 = 3;

/// See the module.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    file: File,
    /// Bytes of the file.
    end: u64,
    bytes_max: u64,
    next_out: u64,
    next_in: u64,
    /// Where the bytes of each kept message are, and how many.
    kept: BTreeMap<u64, (u64, usize)>,
    record: Vec<u8>,
}

impl FileStore {
    /// Opens the store in that file, or begins one. The file is locked meanwhile.
    ///
    /// # Errors
    /// If the file can't be read or written, is no store, or another process has it.
    pub fn open(path: &Path) -> io::Result<FileStore> {
        FileStore::with_limit(path, FILE_BYTES_MAX)
    }

    /// As [`open`](FileStore::open), with another limit than [`FILE_BYTES_MAX`].
    ///
    /// # Errors
    /// As [`open`](FileStore::open).
    pub fn with_limit(path: &Path, bytes_max: u64) -> io::Result<FileStore> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file, path)?;
        let mut store = FileStore {
            path: path.to_owned(),
            file,
            end: 0,
            bytes_max,
            next_out: 1,
            next_in: 1,
            kept: BTreeMap::new(),
            record: Vec::new(),
        };
        store.recover()?;
        Ok(store)
    }

    fn recover(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            let why = format!(
                "{} is no message store of this version: name another folder",
                self.path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        if bytes.len() < MAGIC.len() {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(MAGIC)?;
            self.end = MAGIC.len() as u64;
            return Ok(());
        }
        let mut at = MAGIC.len();
        while let Some(payload) = payload_at(&bytes, at) {
            self.take(payload, (at + HEAD_BYTES) as u64);
            at += HEAD_BYTES + payload.len();
        }
        self.end = at as u64;
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }

    fn take(&mut self, payload: &[u8], at: u64) {
        let (kind, number, message) = parts(payload);
        match kind {
            SENT => {
                self.next_out = number + 1;
                if !message.is_empty() {
                    let start = at + PAYLOAD_BYTES_MIN as u64;
                    self.kept.insert(number, (start, message.len()));
                }
            }
            NEXT_IN => self.next_in = number,
            NEXT_OUT => self.next_out = number,
            _ => {}
        }
    }

    fn append(&mut self, kind: u8, number: u64, message: &[u8]) -> io::Result<u64> {
        self.record.clear();
        put_record(&mut self.record, kind, number, message);
        if let Err(error) = self.file.write_all(&self.record) {
            // Half a record would hide the ones after it.
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            return Err(error);
        }
        let start = self.end + (HEAD_BYTES + PAYLOAD_BYTES_MIN) as u64;
        self.end += self.record.len() as u64;
        Ok(start)
    }

    /// Writes a file with both numbers and the newer messages, and puts it in place of this one. In
    /// one piece, because its thread may have others to serve: messages lie one behind the other,
    /// with the peer's numbers in between.
    fn write_anew(&mut self, bytes_kept_max: u64) -> io::Result<()> {
        let from_min = self.end.saturating_sub(bytes_kept_max);
        let begin = |start: u64| start - (HEAD_BYTES + PAYLOAD_BYTES_MIN) as u64;
        let mut places = self.kept.iter().map(|(seq, (start, _))| (*seq, begin(*start)));
        let newer = places.find(|(_, begin)| *begin >= from_min);
        let (first, from) = newer.unwrap_or((u64::MAX, self.end));
        let mut bytes = MAGIC.to_vec();
        bytes.resize(MAGIC.len() + (self.end - from) as usize, 0);
        self.file.read_exact_at(&mut bytes[MAGIC.len()..], from)?;
        put_record(&mut bytes, NEXT_IN, self.next_in, &[]);
        put_record(&mut bytes, NEXT_OUT, self.next_out, &[]);
        let path = self.path.with_extension("new");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        lock(&file, &path)?;
        file.write_all(&bytes)?;
        rename(&path, &self.path)?;
        self.file = file;
        self.end = bytes.len() as u64;
        self.kept = self.kept.split_off(&first);
        let moved = from - MAGIC.len() as u64;
        self.kept.values_mut().for_each(|(start, _)| *start -= moved);
        Ok(())
    }

    fn message(&self, seq: u64) -> io::Result<Vec<u8>> {
        let Some((start, length)) = self.kept.get(&seq) else { return Ok(Vec::new()) };
        let mut message = vec![0; *length];
        self.file.read_exact_at(&mut message, *start)?;
        Ok(message)
    }
}

impl Store for FileStore {
    fn next_out(&self) -> u64 {
        self.next_out
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn set_next_in(&mut self, next_in: u64) -> io::Result<()> {
        self.append(NEXT_IN, next_in, &[])?;
        self.next_in = next_in;
        Ok(())
    }

    fn sent(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > PAYLOAD_BYTES_MAX - PAYLOAD_BYTES_MIN {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too long"));
        }
        let start = self.append(SENT, self.next_out, message)?;
        if !message.is_empty() {
            self.kept.insert(self.next_out, (start, message.len()));
        }
        self.next_out += 1;
        if self.end > self.bytes_max {
            self.write_anew(self.bytes_max / 2)?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        for (&seq, _) in self.kept.range(range) {
            each(seq, &self.message(seq)?);
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        (self.next_out, self.next_in) = (1, 1);
        self.kept.clear();
        self.write_anew(0)
    }
}

/// Two processes that append to one file would lose both sessions.
fn lock(file: &File, path: &Path) -> io::Result<()> {
    file.try_lock().map_err(|error| {
        let why = format!("cannot lock {}: {error}; is another exchange using it?", path.display());
        io::Error::other(why)
    })
}

fn put_record(out: &mut Vec<u8>, kind: u8, number: u64, message: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&((PAYLOAD_BYTES_MIN + message.len()) as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.push(kind);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(message);
    let sum = crc32c::crc32c(&out[start + HEAD_BYTES..]);
    out[start + 4..start + HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// The payload of the record that begins at `at`; `None` if it is cut or changed.
fn payload_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let head: &[u8; HEAD_BYTES] = bytes.get(at..at + HEAD_BYTES)?.try_into().ok()?;
    let [a, b, c, d, sum @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if !(PAYLOAD_BYTES_MIN..=PAYLOAD_BYTES_MAX).contains(&length) {
        return None;
    }
    let payload = bytes.get(at + HEAD_BYTES..at + HEAD_BYTES + length)?;
    (crc32c::crc32c(payload) == u32::from_le_bytes(sum)).then_some(payload)
}

/// Kind, number and message of a payload of at least [`PAYLOAD_BYTES_MIN`] bytes.
fn parts(payload: &[u8]) -> (u8, u64, &[u8]) {
    let mut number = [0; 8];
    number.copy_from_slice(&payload[1..PAYLOAD_BYTES_MIN]);
    (payload[0], u64::from_le_bytes(number), &payload[PAYLOAD_BYTES_MIN..])
}
