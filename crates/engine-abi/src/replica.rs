//! The replicated state, without any C.

use engine::{
    Command, DecodeError, Engine, EngineLimits, Event, Input, LimitsError, RestoreError, SavedItem,
};

/// The version of the functions, and of the bytes that they take and return.
pub const VERSION: u32 = 2;

/// Bytes of a saved replica before the engine's pieces: the sequence, and the state hash.
const HEAD_BYTES: usize = 16;

/// Why a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AbiError {
    /// The limits of a new engine.
    #[error("the engine can't be made: {0}")]
    Limits(LimitsError),
    /// A record.
    #[error("a record of {bytes} bytes can't be read: {error}", bytes = Input::BYTES)]
    Record {
        /// Its invalid byte.
        error: DecodeError,
    },
    /// The length of a saved replica.
    #[error(
        "a saved engine of {0} bytes is incomplete: {HEAD_BYTES} and a multiple of {piece} expected",
        piece = SavedItem::BYTES
    )]
    Length(usize),
    /// A piece of a saved replica.
    #[error("piece {number} of a saved engine can't be read: {error}")]
    Piece {
        /// Counts from 0.
        number: usize,
        /// Its invalid byte.
        error: DecodeError,
    },
    /// The pieces of a saved replica.
    #[error("the engine can't be restored: {0}")]
    Restore(RestoreError),
    /// A saved replica is not that which was saved.
    #[error(
        "the saved engine is damaged: its state hash is {saved:016x}, its state has {found:016x}"
    )]
    Hash {
        /// In the saved bytes.
        saved: u64,
        /// After restoring them.
        found: u64,
    },
}

/// An engine and the number of its last input.
#[derive(Debug)]
pub struct Replica {
    engine: Engine,
    sequence: u64,
    output: Vec<u8>,
}

impl Replica {
    /// A new engine.
    ///
    /// # Errors
    /// A limit is out of range.
    pub fn new(instruments: u16, limits: EngineLimits) -> Result<Replica, AbiError> {
        limits.check(instruments).map_err(AbiError::Limits)?;
        Ok(Replica { engine: Engine::new(instruments, limits), sequence: 0, output: Vec::new() })
    }

    /// Applies the input of a record at `time_ns`, and returns the number of its events, which
    /// [`Replica::output`] then has. An order whose id is 0 gets the input's number as its id: the
    /// number is unique, and the same on every replica.
    ///
    /// # Errors
    /// The record can't be read. Then it has no number, and nothing has changed.
    pub fn apply(&mut self, record: &[u8; Input::BYTES], time_ns: u64) -> Result<u64, AbiError> {
        let mut input = Input::from_bytes(record).map_err(|error| AbiError::Record { error })?;
        input.time_ns = time_ns;
        self.sequence += 1;
        if let Command::New(order) = &mut input.command
            && order.order_id == 0
        {
            order.order_id = self.sequence;
        }
        let Replica { engine, output, .. } = self;
        output.clear();
        engine.apply(&input, &mut |event| output.extend_from_slice(&event.to_bytes()));
        Ok((self.output.len() / Event::BYTES) as u64)
    }

    /// Saves the state to [`Replica::output`], and returns its number of bytes.
    pub fn save(&mut self) -> usize {
        let Replica { engine, output, sequence } = self;
        output.clear();
        output.extend_from_slice(&sequence.to_le_bytes());
        output.extend_from_slice(&engine.state_hash().to_le_bytes());
        engine.save(&mut |piece| output.extend_from_slice(&piece.to_bytes()));
        output.len()
    }

    /// The replica that was saved as these bytes.
    ///
    /// # Errors
    /// The bytes are not those of [`Replica::save`].
    pub fn restore(bytes: &[u8]) -> Result<Replica, AbiError> {
        let Some((head, body)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Err(AbiError::Length(bytes.len()));
        };
        let (records, rest) = body.as_chunks::<{ SavedItem::BYTES }>();
        if !rest.is_empty() {
            return Err(AbiError::Length(bytes.len()));
        }
        let decode = |(number, record)| {
            SavedItem::from_bytes(record).map_err(|error| AbiError::Piece { number, error })
        };
        let pieces: Vec<SavedItem> =
            records.iter().enumerate().map(decode).collect::<Result<_, _>>()?;
        let engine = Engine::restore(pieces).map_err(AbiError::Restore)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let (sequence, saved, found) = (word(0), word(8), engine.state_hash());
        if saved != found {
            return Err(AbiError::Hash { saved, found });
        }
        Ok(Replica { engine, sequence, output: Vec::new() })
    }

    /// The events of the last input, or the bytes of the last [`Replica::save`].
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// The number of the last input; the first is 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// [`Engine::state_hash`].
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        self.engine.state_hash()
    }
}
