//! Replays a journal: its latest valid snapshot, and the inputs after it.

use std::path::Path;

use engine::Engine;

use crate::client_ids::{ClientIds, Content};
use crate::counts::{EventCounts, InputCounts};
use crate::error::JournalError;
use crate::file::directory::{Access, Directory};
use crate::file::header::{FileKind, Header, Identity};
use crate::file::mark;
use crate::read::inputs::{Inputs, LogEnd, TornTail, read_segment_header};
use crate::read::segment::{Log, read_header};
use crate::snapshot::{self, Snapshot};

/// A journal, replayed to its end.
#[derive(Debug)]
pub struct ReplayedJournal {
    /// The state before [`ReplayedJournal::next_sequence`].
    pub engine: Engine,
    /// The client ids of the open orders.
    pub client_ids: ClientIds,
    /// The engine of the journal.
    pub identity: Identity,
    /// The sequence of the next record: an input's or a client id's.
    pub next_sequence: u64,
    /// The engine's state hash.
    pub state_hash: u64,
    /// The sequence of the snapshot at the start; `None` if it started with the first input.
    pub from_snapshot: Option<u64>,
    /// Why later snapshots were rejected.
    pub snapshots_rejected: Vec<JournalError>,
    /// The inputs after the snapshot.
    pub inputs: InputCounts,
    /// The resulting events.
    pub events: EventCounts,
    /// The incomplete record at the end, which is cut.
    pub cut: Option<TornTail>,
}

/// An engine and its position in the log.
pub(crate) struct Start {
    pub engine: Engine,
    pub client_ids: ClientIds,
    pub sequence: u64,
    pub from_snapshot: Option<u64>,
    pub snapshots_rejected: Vec<JournalError>,
}

/// Replays the journal in the directory `path`, from its latest valid snapshot. Changes nothing.
///
/// # Errors
/// If there is no journal or it has an active writer; damage other than a torn tail; a missing
/// segment.
pub fn replay(path: &Path) -> Result<ReplayedJournal, JournalError> {
    let directory = Directory::new(path);
    let _lock = directory.lock(Access::Read)?;
    let log = find(&directory)?.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
    Ok(recover(&directory, log, 0)?.0)
}

/// Replays the journal in the directory `path` and writes a snapshot of its end.
///
/// # Errors
/// As [`replay`]; or if the snapshot can't be written.
pub fn replay_and_save(path: &Path) -> Result<(ReplayedJournal, Snapshot), JournalError> {
    let directory = Directory::new(path);
    let _lock = directory.lock(Access::Write)?;
    let log = find(&directory)?.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
    let (replayed, _) = recover(&directory, log, 0)?;
    let state = (&replayed.engine, &replayed.client_ids);
    let saved = snapshot::write(&directory, log, replayed.next_sequence, state)?;
    Ok((replayed, saved))
}

/// The log of a directory, by the first file that tells; `None` without one.
pub(crate) fn find(directory: &Directory) -> Result<Option<Log>, JournalError> {
    let log = |header: Header| Log { number: header.log, identity: header.identity };
    let mut first_error = None;
    for first in directory.segments()? {
        match read_segment_header(directory, first, None) {
            Ok(header) => return Ok(Some(log(header))),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    for sequence in directory.snapshots()?.into_iter().rev() {
        let path = directory.snapshot(sequence);
        let read = std::fs::File::open(&path)
            .map_err(|source| JournalError::system("open", &path, source))
            .and_then(|mut file| read_header(&mut file, &path, FileKind::Snapshot, None));
        match read {
            Ok(header) => return Ok(Some(log(header))),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or(Ok(None), Err)
}

/// The engine of the latest valid snapshot, or a new one.
pub(crate) fn start(directory: &Directory, log: Log) -> Result<Start, JournalError> {
    let mut snapshots_rejected = Vec::new();
    for sequence in directory.snapshots()?.into_iter().rev() {
        match snapshot::load(&directory.snapshot(sequence), Some(log), sequence) {
            Ok((engine, client_ids)) => {
                let from_snapshot = Some(sequence);
                return Ok(Start {
                    engine,
                    client_ids,
                    sequence,
                    from_snapshot,
                    snapshots_rejected,
                });
            }
            Err(error) => snapshots_rejected.push(error),
        }
    }
    // Without the beginning of the log, the invalid snapshot is the error to report.
    if directory.segments()?.first().is_some_and(|first| *first > 0)
        && !snapshots_rejected.is_empty()
    {
        return Err(snapshots_rejected.swap_remove(0));
    }
    let Identity { instruments, limits } = log.identity;
    let engine = Engine::new(instruments, limits);
    let (client_ids, from_snapshot) = (ClientIds::default(), None);
    Ok(Start { engine, client_ids, sequence: 0, from_snapshot, snapshots_rejected })
}

/// Replays a log without an active writer, and finds its end. Keeps the last `ended_max` orders
/// that have ended.
pub(crate) fn recover(
    directory: &Directory,
    log: Log,
    ended_max: usize,
) -> Result<(ReplayedJournal, LogEnd), JournalError> {
    let Start { mut engine, mut client_ids, sequence, from_snapshot, snapshots_rejected } =
        start(directory, log)?;
    client_ids.keep_ended(ended_max);
    let (mut counts, mut events) = (InputCounts::default(), EventCounts::default());
    let mut inputs = Inputs::from(directory, log, sequence)?;
    while let Some((_, content)) = inputs.next_content()? {
        if let Content::Input(input) = &content {
            counts.add(&input.command);
        }
        client_ids.apply(&content, &mut engine, |event| events.add(event));
    }
    let end = inputs.end()?;
    mark::check(directory, Some(log), end.next)?;
    let replayed = ReplayedJournal {
        state_hash: engine.state_hash(),
        engine,
        client_ids,
        identity: log.identity,
        next_sequence: end.next,
        from_snapshot,
        snapshots_rejected,
        inputs: counts,
        events,
        cut: end.cut.clone(),
    };
    Ok((replayed, end))
}

/// Applies the records of a log up to `to`, exclusive. A writer may be active if all inputs below
/// `to` are written.
pub(crate) fn apply_to(
    directory: &Directory,
    log: Log,
    (engine, client_ids): (&mut Engine, &mut ClientIds),
    from: u64,
    to: u64,
) -> Result<(), JournalError> {
    if to <= from {
        return Ok(());
    }
    let mut inputs = Inputs::from(directory, log, from)?;
    while let Some((sequence, content)) = inputs.next_content()? {
        client_ids.apply(&content, engine, |_| {});
        if sequence + 1 == to {
            return Ok(());
        }
    }
    Err(JournalError::NotYet { asked: to, end: inputs.next_sequence() })
}
