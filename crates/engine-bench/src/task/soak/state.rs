//! The saved state of a soak: the flow before its next operation, and the engine. A soak that
//! resumes from it continues like an uninterrupted one.
//!
//! The file has 16 hex digits, a checksum of everything after them; a line of JSON ([`Head`]);
//! then records of [`SavedItem::BYTES`]: the flow's live orders, then the engine's state in the
//! order of [`Engine::save`].

use clock::random::SplitMix64;
use engine::{Engine, NewOrder, SavedItem};
use flow::w1::{Flow, Live, Shape};
use plan::process::engine::EnginePlan;
use record::directory::cannot_write;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Version of the file's layout. The engine has one for its records.
const VERSION: u32 = 1;
/// Length of the checksum and its line end.
const CHECKSUM_BYTES: usize = 17;

/// Why a soak can't resume from a state, or can't save its own.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file can't be read.
    #[error("cannot read {path}: {source}; name the directory of a soak that left its state")]
    Read {
        /// Its path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The file can't be written.
    #[error("{} with --out", cannot_write(path, source))]
    Write {
        /// Its path.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is damaged, or of another version.
    #[error("{path} is not a soak's state that can be resumed: {why}")]
    Damaged {
        /// Its path.
        path: String,
        /// The fault.
        why: String,
    },
    /// The file belongs to another soak.
    #[error("{path} is the state of another soak: its {what} is {there}, and the plan has {here}")]
    Foreign {
        /// Its path.
        path: String,
        /// The key that differs.
        what: &'static str,
        /// Its value in the file.
        there: String,
        /// Its value in the plan.
        here: String,
    },
}

/// The header of the file: the flow without its live orders.
#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    row: String,
    accounts: u32,
    seed: u64,
    live_max: u64,
    random: u64,
    mid_ticks: i64,
    last_id: u64,
    operations: u64,
    /// Number of records that are live orders of the flow.
    live: u64,
}

/// Writes the state to `path`, completely or not at all.
pub(crate) fn save(
    path: &Path,
    plan: &EnginePlan,
    flow: &Flow,
    engine: &Engine,
) -> Result<(), StateError> {
    let head = Head {
        version: VERSION,
        row: plan.row.clone(),
        accounts: flow.accounts,
        seed: plan.seed,
        live_max: flow.live_max as u64,
        random: flow.random.state(),
        mid_ticks: flow.mid_ticks,
        last_id: flow.last_id,
        operations: flow.operations,
        live: flow.live.len() as u64,
    };
    let failed = |source| StateError::Write { path: path.display().to_string(), source };
    let mut body = serde_json::to_vec(&head).map_err(|error| failed(error.into()))?;
    body.push(b'\n');
    flow.live.iter().for_each(|live| body.extend(record(live).to_bytes()));
    engine.save(&mut |piece| body.extend(piece.to_bytes()));
    let partial = path.with_extension("partial");
    let write = || {
        let mut file = File::create(&partial)?;
        writeln!(file, "{:016x}", checksum(&body))?;
        file.write_all(&body)?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().map_err(failed)
}

/// Reads the state in `path`, which must fit `plan`.
pub(crate) fn load(
    path: &Path,
    plan: &EnginePlan,
    shape: Shape,
) -> Result<(Flow, Engine), StateError> {
    let shown = || path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| StateError::Read { path: shown(), source })?;
    let damaged = |why: String| StateError::Damaged { path: shown(), why };
    let (head, records) = parts(&bytes).map_err(damaged)?;
    for (what, there, here) in [
        ("the row", head.row.clone(), plan.row.clone()),
        ("load.accounts", head.accounts.to_string(), plan.accounts.to_string()),
        ("load.seed", head.seed.to_string(), plan.seed.to_string()),
    ] {
        if there != here {
            return Err(StateError::Foreign { path: shown(), what, there, here });
        }
    }
    let mut pieces = Vec::with_capacity(records.len());
    for (number, record) in records.iter().enumerate() {
        let piece = SavedItem::from_bytes(record);
        pieces.push(piece.map_err(|error| damaged(format!("record {number}: {error}")))?);
    }
    let live_count = usize::try_from(head.live).unwrap_or(usize::MAX).min(pieces.len());
    let engine = Engine::restore(pieces.split_off(live_count))
        .map_err(|error| damaged(error.to_string()))?;
    let live_max = usize::try_from(head.live_max).unwrap_or(usize::MAX);
    let mut live = Vec::with_capacity(live_max.min(2 * shape.live as usize));
    for piece in pieces {
        let SavedItem::Order { order, .. } = piece else {
            return Err(damaged("there are other records among its live orders".to_owned()));
        };
        let NewOrder { order_id, side, price_ticks, quantity_lots, .. } = order;
        live.push(Live { order_id, side, price_ticks, quantity_lots });
    }
    let Head { accounts, random, mid_ticks, last_id, operations, .. } = head;
    let random = SplitMix64::new(random);
    let live_peak = live.len();
    let flow =
        Flow { shape, accounts, live_max, random, mid_ticks, last_id, operations, live, live_peak };
    Ok((flow, engine))
}

/// A live order as a record.
fn record(live: &Live) -> SavedItem {
    let Live { order_id, side, price_ticks, quantity_lots } = *live;
    let order = NewOrder { order_id, ..NewOrder::limit(side, price_ticks, quantity_lots) };
    SavedItem::Order { order, visible_lots: 0 }
}

fn parts(bytes: &[u8]) -> Result<(Head, &[[u8; SavedItem::BYTES]]), String> {
    let (first, body) = bytes.split_at_checked(CHECKSUM_BYTES).ok_or("it is too short")?;
    let text = std::str::from_utf8(first).unwrap_or_default();
    let stated = text.strip_suffix('\n').and_then(|hex| u64::from_str_radix(hex, 16).ok());
    if stated != Some(checksum(body)) {
        return Err("its checksum does not match; it was truncated or changed".to_owned());
    }
    let end = body.iter().position(|byte| *byte == b'\n').ok_or("it has no head")?;
    let head: Head = serde_json::from_slice(&body[..end]).map_err(|error| error.to_string())?;
    if head.version != VERSION {
        return Err(format!(
            "it is of version {}, and this tickpath knows {VERSION}",
            head.version
        ));
    }
    let (records, rest) = body[end + 1..].as_chunks();
    if !rest.is_empty() || head.accounts == 0 {
        return Err("its last record is incomplete".to_owned());
    }
    Ok((head, records))
}

/// Detects truncation and accidental changes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        SplitMix64::new(hash ^ u64::from_le_bytes(word)).bits()
    })
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
