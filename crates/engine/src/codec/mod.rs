//! [`Input`] and [`SavedItem`] as records of a fixed size, little-endian, for journals and
//! snapshots.
//!
//! Both use one layout, and a kind has the same number in both:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | of an input its time; of a saved piece the word below in *italics*, or 0 |
//! | 8 | kind, below; never 0 |
//! | 9 | side; an instrument's state; an account's self-trade prevention; a kill switch |
//! | 10 | order type; of a saved account its kill switch; of a kill switch whether it cancels |
//! | 11 | time in force |
//! | 12 | post-only |
//! | 13 | given criteria: 1 account, 2 instrument, 4 side, or their sum |
//! | 14..16 | instrument; of the engine their number |
//! | 16..20 | account; of the engine its `accounts_max` |
//! | 20..24 | tag |
//! | 24..72 | six words, by kind |
//!
//! | kind | in | words |
//! |---|---|---|
//! | 1 order | both, *visible* | id, price, quantity, display, stop, expiry |
//! | 2 amendment | input | id, price, remaining |
//! | 3 cancel | input | id |
//! | 4 mass cancel | input | |
//! | 5 instrument | both | band low, band high, reference |
//! | 6 account | both, *second* | quantity max, notional max, collar, open orders max, messages max, messages |
//! | 7 position | both | long max, short max, change (when saved: the position) |
//! | 8 kill switch | input | |
//! | 9 engine | saved, *time* | open orders max, price levels max, stop levels max, expiring orders max |
//! | 10 joined | saved | id |
//!
//! Unused bytes of a kind are 0, so that a value has exactly one record. The version of this layout
//! is in the header of the file with the records.

mod event;
mod record;

use crate::codec::record::{
    ACCOUNT, AMEND, BYTES, CANCEL, ENGINE, INSTRUMENT, JOINED, KILL, KIND, MASS_CANCEL, ORDER,
    POSITION, Record,
};
use crate::command::{Command, Input};
use crate::state::saved::SavedItem;

pub use crate::codec::record::DecodeError;

impl Input {
    /// Bytes of an input's record.
    pub const BYTES: usize = BYTES;

    /// Its record, by the layout table of `codec`.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Input::BYTES] {
        let mut record = Record([0; BYTES]);
        record.put(0, self.time_ns);
        match &self.command {
            Command::New(order) => record.order(order),
            Command::Amend(amend) => record.amend(amend),
            Command::Cancel(cancel) => record.cancel(cancel),
            Command::MassCancel(cancel) => record.mass_cancel(cancel),
            Command::Instrument(settings) => record.instrument(settings),
            Command::Account(settings) => record.account(settings),
            Command::Position(settings) => record.position(settings),
            Command::Kill(kill) => record.kill(kill),
        }
        record.0
    }

    /// The input of this record. Checks only its encoding; the engine checks its values.
    ///
    /// # Errors
    /// The first invalid byte.
    pub fn from_bytes(bytes: &[u8; Input::BYTES]) -> Result<Input, DecodeError> {
        let record = Record(*bytes);
        let command = match bytes[KIND] {
            ORDER => Command::New(record.as_order()?),
            AMEND => Command::Amend(record.as_amend()),
            CANCEL => Command::Cancel(record.as_cancel()),
            MASS_CANCEL => Command::MassCancel(record.as_mass_cancel()?),
            INSTRUMENT => Command::Instrument(record.as_instrument()?),
            ACCOUNT => Command::Account(record.as_account()?),
            POSITION => Command::Position(record.as_position()),
            KILL => Command::Kill(record.as_kill()?),
            found => return Err(DecodeError { field: "kind", byte: KIND, found }),
        };
        let input = Input { time_ns: record.get(0), command };
        only(bytes, &input.to_bytes()).map(|()| input)
    }
}

impl SavedItem {
    /// Bytes of a piece's record.
    pub const BYTES: usize = BYTES;

    /// Its record, by the layout table of `codec`.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SavedItem::BYTES] {
        let mut record = Record([0; BYTES]);
        match self {
            SavedItem::Engine { instruments, limits, time_ns, killed } => {
                record.put(0, *time_ns);
                record.engine(*instruments, limits, *killed);
            }
            SavedItem::Instrument(settings) => record.instrument(settings),
            SavedItem::Account { settings, killed, second, messages } => {
                record.put(0, *second);
                record.account(settings);
                record.account_so_far(*killed, *messages);
            }
            SavedItem::Position(settings) => record.position(settings),
            SavedItem::Order { order, visible_lots } => {
                record.put(0, *visible_lots);
                record.order(order);
            }
            SavedItem::Joined { account, order_id } => record.joined(*account, *order_id),
        }
        record.0
    }

    /// The piece of this record. Checks only its encoding;
    /// [`Engine::restore`](crate::Engine::restore) checks its values.
    ///
    /// # Errors
    /// The first invalid byte.
    pub fn from_bytes(bytes: &[u8; SavedItem::BYTES]) -> Result<SavedItem, DecodeError> {
        let record = Record(*bytes);
        let first = record.get(0);
        let saved = match bytes[KIND] {
            ENGINE => record.as_engine(first)?,
            INSTRUMENT => SavedItem::Instrument(record.as_instrument()?),
            ACCOUNT => record.as_saved_account(first)?,
            POSITION => SavedItem::Position(record.as_position()),
            ORDER => SavedItem::Order { order: record.as_order()?, visible_lots: first },
            JOINED => record.as_joined(),
            found => return Err(DecodeError { field: "kind", byte: KIND, found }),
        };
        only(bytes, &saved.to_bytes()).map(|()| saved)
    }
}

/// Checks that the unused bytes of a record are 0.
fn only(bytes: &[u8; BYTES], again: &[u8; BYTES]) -> Result<(), DecodeError> {
    match bytes.iter().zip(again).position(|(found, meant)| found != meant) {
        None => Ok(()),
        Some(byte) => Err(DecodeError { field: "unused by its kind", byte, found: bytes[byte] }),
    }
}

#[cfg(test)]
mod tests;
