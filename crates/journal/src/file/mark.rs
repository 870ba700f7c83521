//! The mark of durability: how far the log was durable, in its own file next to the segments.
//!
//! Zeros follow the last record of a log, so a log without its last records looks like a shorter
//! log. The mark tells them apart: recovery rejects a log that ends before it.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | `tpathack` |
//! | 8..12 | version of the format, 1 |
//! | 12..16 | CRC-32C of the other bytes |
//! | 16..24 | the log's number, as in the headers of its files |
//! | 24..32 | all inputs below this sequence were durable |
//!
//! The writer overwrites it after the `fdatasync` of each group and before it acknowledges the
//! group, so the mark is never ahead of the log. The writer does not wait until the mark is on the
//! disk: a second sync would double the time to acknowledge. After the death of the process the
//! mark is exact, because the page cache survives. After a power failure it is older by at most
//! [`SYNC_INTERVAL`] and one `fdatasync`.
//!
//! A journal without a mark was written by an older version, or its operator removed the mark to
//! accept a loss. It is opened without this check.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crc32c::{crc32c, crc32c_append};

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::read::segment::{Log, read_up_to};
use crate::write::state::WriterState;

/// Bytes of the file: within one sector, so that it is written completely or not at all.
const MARK_BYTES: usize = 32;
const MAGIC: [u8; 8] = *b"tpathack";
const VERSION: u32 = 1;
const CHECK: usize = 12;

/// Greatest age of the mark on the disk while inputs are appended.
pub(crate) const SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// The writer's end of the mark.
pub(crate) struct Mark {
    file: Arc<File>,
    path: PathBuf,
    log: u64,
    /// `None` once the thread has ended.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether the thread was woken and has not yet begun to sync.
    is_awake: Arc<AtomicBool>,
}

impl Mark {
    /// Makes the mark of a log that is durable up to `durable`, durably, and starts its thread.
    pub fn create(
        directory: &Directory,
        log: u64,
        durable: u64,
        shared: Arc<WriterState>,
    ) -> Result<Mark, JournalError> {
        let path = directory.mark();
        let file = directory.publish(&path, |file| {
            let written = file.write_all_at(&encode(log, durable), 0);
            written.map_err(|source| JournalError::writing(&path, MARK_BYTES as u64, source))
        })?;
        let file = Arc::new(file);
        let is_awake = Arc::new(AtomicBool::new(false));
        let (wake, woken) = sync_channel(1);
        let syncer = Syncer {
            file: Arc::clone(&file),
            path: path.clone(),
            woken,
            is_awake: Arc::clone(&is_awake),
            shared,
        };
        let thread = std::thread::Builder::new()
            .name("journal-mark".into())
            .spawn(move || syncer.run())
            .map_err(|source| JournalError::system("start a thread for", &path, source))?;
        Ok(Mark { file, path, log, wake: Some(wake), thread: Some(thread), is_awake })
    }

    /// Sets the mark: all inputs below `durable` are durable. Returns before the mark itself is.
    pub fn set(&self, durable: u64) -> Result<(), JournalError> {
        let written = self.file.write_all_at(&encode(self.log, durable), 0);
        written.map_err(|source| JournalError::writing(&self.path, MARK_BYTES as u64, source))?;
        if let Some(wake) = &self.wake
            && !self.is_awake.swap(true, Ordering::AcqRel)
        {
            match wake.try_send(()) {
                // If the thread has ended, the journal has already failed with its reason.
                Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
            }
        }
        Ok(())
    }

    /// Makes the mark durable, and ends.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.end();
        sync(&self.file, &self.path)
    }

    fn end(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // It never panics; even then, the last sync of `close` would do its work.
            let _ = thread.join();
        }
    }
}

impl Drop for Mark {
    /// Waits for the thread, so that it touches nothing after the writer's lock is released.
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes the mark durable regularly, off the path of acknowledgements.
struct Syncer {
    file: Arc<File>,
    path: PathBuf,
    woken: Receiver<()>,
    is_awake: Arc<AtomicBool>,
    shared: Arc<WriterState>,
}

impl Syncer {
    fn run(self) {
        while self.woken.recv().is_ok() {
            // This sync includes a mark that is set in the meantime.
            match self.woken.recv_timeout(SYNC_INTERVAL) {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.is_awake.store(false, Ordering::Release);
            if let Err(error) = sync(&self.file, &self.path) {
                return self.shared.fail(error);
            }
        }
    }
}

fn sync(file: &File, path: &std::path::Path) -> Result<(), JournalError> {
    let synced = file.sync_data();
    synced.map_err(|source| JournalError::NotDurable { path: path.to_owned(), source })
}

/// Rejects a log that ends with `next` if later inputs were durable.
pub(crate) fn check(
    directory: &Directory,
    log: Option<Log>,
    next: u64,
) -> Result<(), JournalError> {
    let path = directory.mark();
    match read(directory, log)? {
        Some(durable) if durable > next => {
            let directory = directory.path().to_owned();
            Err(JournalError::CutShort { directory, next, durable, mark: path })
        }
        _ => Ok(()),
    }
}

/// The sequence in the mark; `None` without a mark.
fn read(directory: &Directory, log: Option<Log>) -> Result<Option<u64>, JournalError> {
    let path = directory.mark();
    let mut file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| JournalError::system("open", &path, source))?,
    };
    let mut bytes = [0; MARK_BYTES + 1];
    let length = read_up_to(&mut file.by_ref(), &mut bytes);
    let length = length.map_err(|source| JournalError::system("read", &path, source))?;
    let decoded = match bytes.first_chunk::<MARK_BYTES>() {
        Some(bytes) if length == MARK_BYTES => decode(bytes),
        _ => Err("its length is wrong"),
    };
    let (found, durable) = decoded.map_err(|why| JournalError::Mark { path: path.clone(), why })?;
    if log.is_some_and(|log| log.number != found) {
        return Err(JournalError::OtherLog(path));
    }
    Ok(Some(durable))
}

fn encode(log: u64, durable: u64) -> [u8; MARK_BYTES] {
    let mut bytes = [0; MARK_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..CHECK].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&log.to_le_bytes());
    bytes[24..].copy_from_slice(&durable.to_le_bytes());
    let sum = checksum(&bytes);
    bytes[CHECK..16].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; MARK_BYTES]) -> Result<(u64, u64), &'static str> {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    if bytes[..8] != MAGIC {
        return Err("it begins with other bytes");
    }
    if bytes[CHECK..16] != checksum(bytes).to_le_bytes() {
        return Err("its checksum does not match");
    }
    if bytes[8..CHECK] != VERSION.to_le_bytes() {
        return Err("its format has another version");
    }
    Ok((word(16), word(24)))
}

fn checksum(bytes: &[u8; MARK_BYTES]) -> u32 {
    crc32c_append(crc32c(&bytes[..CHECK]), &bytes[16..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        let bytes = encode(7, 1234);
        assert_eq!(decode(&bytes), Ok((7, 1234)));
        for bit in 0..MARK_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_log_that_ends_before_its_mark_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::new(place.path());
        check(&directory, None, 0).expect("a journal without a mark is not checked");
        let mark = Mark::create(&directory, 7, 5, Arc::new(WriterState::new(5, 10))).unwrap();
        check(&directory, None, 5).unwrap();
        mark.set(6).unwrap();
        // Readable at once, durable or not.
        let error = check(&directory, None, 5).unwrap_err();
        assert!(matches!(error, JournalError::CutShort { next: 5, durable: 6, .. }), "{error}");
        mark.close().unwrap();
        check(&directory, None, 6).unwrap();
        std::fs::write(directory.mark(), [0; MARK_BYTES - 1]).unwrap();
        assert!(check(&directory, None, 6).unwrap_err().is_damage());
    }
}
