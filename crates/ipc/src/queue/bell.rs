//! The bell of a queue for sleeping readers: a small file next to the blocks. Readers map blocks
//! read-only, and a sleeper must write.

use std::path::Path;
use std::sync::atomic::AtomicU32;

use crate::IpcError;
use crate::bell::Bell;
use crate::region::{GEOMETRY_WORDS, Region, RegionBacking, RegionKind};

/// Its name in the queue's directory.
pub(crate) const FILE: &str = "bell";

/// Its own pair of cache lines.
const BODY_BYTES: u64 = 128;

#[derive(Debug)]
pub(crate) struct QueueBell(Region);

impl QueueBell {
    /// Opens the bell or makes it.
    pub fn open_or_create(directory: &Path) -> Result<QueueBell, IpcError> {
        if let Some(bell) = QueueBell::open(directory)? {
            return Ok(bell);
        }
        let path = directory.join(FILE);
        let geometry = [0; GEOMETRY_WORDS];
        Region::create(
            RegionBacking::File(&path),
            RegionKind::QueueBell,
            geometry,
            BODY_BYTES,
            |_| (),
        )
        .map(QueueBell)
    }

    /// Opens the bell; `None` if the writer has none.
    pub fn open(directory: &Path) -> Result<Option<QueueBell>, IpcError> {
        match Region::open(&directory.join(FILE), RegionKind::QueueBell) {
            Err(IpcError::System { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            region => Ok(Some(QueueBell(region?)).filter(QueueBell::is_whole)),
        }
    }

    fn is_whole(&self) -> bool {
        self.0.body_bytes() as u64 == BODY_BYTES
    }

    #[inline(always)]
    pub fn bell(&self) -> Bell<'_> {
        let word: &AtomicU32 = &self.0.half_words()[0];
        Bell(word)
    }
}
