//! A journal without an active writer, from its oldest state on, with the client ids that its
//! orders got: for a reader that asks how each order fared.

use std::path::Path;

use engine::{Engine, Input};

use crate::client_ids::{ClientIdText, ClientIds, Content, named_order};
use crate::deliveries::Delivery;
use crate::error::JournalError;
use crate::file::directory::{Access, Directory, Lock};
use crate::file::header::Identity;
use crate::file::mark;
use crate::read::inputs::{Inputs, TornTail};
use crate::read::replay::find;
use crate::read::segment::Log;
use crate::snapshot;

/// All inputs that a journal still has, and the state before the first of them.
#[derive(Debug)]
pub struct History {
    directory: Directory,
    log: Log,
    inputs: Inputs,
    /// The snapshot before the first input; `None` if the log begins with its very first input.
    snapshot: Option<u64>,
    /// Kept: no writer may begin meanwhile.
    _lock: Lock,
}

/// An input of a [`History`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedInput {
    /// Its place in the log.
    pub sequence: u64,
    /// The input.
    pub input: Input,
    /// The client id that it gives its order, if the engine accepts it.
    pub client_id: Option<ClientIdText>,
    /// The tick that caused a new order or an amendment, as it said.
    pub delivery: Option<Delivery>,
}

impl RecordedInput {
    /// The client id as text.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        crate::client_ids::as_text(self.client_id.as_ref()?)
    }
}

impl History {
    /// Opens the journal in the directory `path`. If old segments were removed, it begins with the
    /// oldest valid snapshot.
    ///
    /// # Errors
    /// If there is no journal, it has an active writer, or neither its beginning nor a valid
    /// snapshot is left.
    pub fn open(path: &Path) -> Result<History, JournalError> {
        History::from(path, |directory, log| match directory.segments()?.first() {
            Some(0) => Ok(None),
            first => oldest_snapshot(directory, log, first.copied().unwrap_or(0)).map(Some),
        })
    }

    /// As [`History::open`], but begins with the latest snapshot but one, if there are two: what it
    /// holds was acknowledged before the latest one was begun.
    ///
    /// # Errors
    /// As [`History::open`].
    pub fn recent(path: &Path) -> Result<History, JournalError> {
        History::from(path, |directory, log| {
            let first = directory.segments()?.first().copied().unwrap_or(0);
            let is_good = |sequence: &u64| {
                *sequence >= first
                    && snapshot::check(&directory.snapshot(*sequence), Some(log), *sequence).is_ok()
            };
            let mut latest = directory.snapshots()?.into_iter().rev().filter(is_good);
            match (latest.next(), latest.next()) {
                (_, Some(before)) => Ok(Some(before)),
                (Some(only), None) if first > 0 => Ok(Some(only)),
                (None, None) if first > 0 => oldest_snapshot(directory, log, first).map(Some),
                _ => Ok(None),
            }
        })
    }

    fn from(
        path: &Path,
        start: impl FnOnce(&Directory, Log) -> Result<Option<u64>, JournalError>,
    ) -> Result<History, JournalError> {
        let directory = Directory::new(path);
        let lock = directory.lock(Access::Read)?;
        let none = || JournalError::NoJournal(path.to_owned());
        let log = find(&directory)?.ok_or_else(none)?;
        let snapshot = start(&directory, log)?;
        let inputs = Inputs::from(&directory, log, snapshot.unwrap_or(0))?;
        Ok(History { directory, log, inputs, snapshot, _lock: lock })
    }

    /// The engine before the first input.
    ///
    /// # Errors
    /// If the snapshot can't be read.
    pub fn engine(&self) -> Result<Engine, JournalError> {
        self.start().map(|(engine, _)| engine)
    }

    /// The engine before the first input, and the client ids of its orders.
    ///
    /// # Errors
    /// If the snapshot can't be read.
    pub fn start(&self) -> Result<(Engine, ClientIds), JournalError> {
        let Identity { instruments, limits } = self.log.identity;
        match self.snapshot {
            None => Ok((Engine::new(instruments, limits), ClientIds::default())),
            Some(sequence) => {
                snapshot::load(&self.directory.snapshot(sequence), Some(self.log), sequence)
            }
        }
    }

    /// The first input that is left; 0 if none was removed.
    #[must_use]
    pub fn first_sequence(&self) -> u64 {
        self.snapshot.unwrap_or(0)
    }

    /// The engine's instruments and limits.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.log.identity
    }

    /// The next input; `None` after the last. After an error, don't call it again.
    ///
    /// # Errors
    /// If the log can't be read, or a segment is missing.
    pub fn next_input(&mut self) -> Result<Option<RecordedInput>, JournalError> {
        let (mut given, mut delivery) = (None, None);
        while let Some((sequence, content)) = self.inputs.next_content()? {
            match content {
                Content::ClientId(next) => given = Some(next),
                Content::Delivery(next) => delivery = Some(next),
                Content::CancelOnDisconnect(_) => {}
                Content::Input(input) => {
                    let order_id = named_order(&input.command);
                    let given = given.filter(|given| Some(given.order_id) == order_id);
                    let client_id = given.map(|given| given.text);
                    let delivery =
                        delivery.filter(|delivery: &Delivery| Some(delivery.order_id) == order_id);
                    return Ok(Some(RecordedInput { sequence, input, client_id, delivery }));
                }
            }
        }
        Ok(None)
    }

    /// Judges the end of the log, after the last input. Returns the incomplete record that follows.
    ///
    /// # Errors
    /// If the log is damaged there, or ends before inputs that had been durable.
    pub fn end(self) -> Result<Option<TornTail>, JournalError> {
        let end = self.inputs.end()?;
        mark::check(&self.directory, Some(self.log), end.next)?;
        Ok(end.cut)
    }
}

/// The oldest valid snapshot with all inputs of the log after it.
fn oldest_snapshot(directory: &Directory, log: Log, first: u64) -> Result<u64, JournalError> {
    let mut invalid = None;
    for sequence in directory.snapshots()?.into_iter().filter(|sequence| *sequence >= first) {
        match snapshot::check(&directory.snapshot(sequence), Some(log), sequence) {
            Ok(_) => return Ok(sequence),
            Err(error) => invalid = invalid.or(Some(error)),
        }
    }
    let missing = || JournalError::Missing { path: directory.path().to_owned(), sequence: 0 };
    Err(invalid.unwrap_or_else(missing))
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
