//! The engine's end of a journal: appends inputs and returns the durable sequence, without a system
//! call.

use std::sync::Arc;
use std::thread::JoinHandle;

use engine::{Command, Input};
use ipc::ring::Producer;

use crate::client_ids::{CancelOnDisconnect, ClientIdText, OrderClientId, named_order};
use crate::deliveries::Delivery;
use crate::error::JournalError;
use crate::write::options::{Mode, Options, Replication};
use crate::write::shipping::Shipping;
use crate::write::state::{JournalState, WriterState};

/// Bytes of the longest message to the writer: a client id and its input.
pub(crate) const MESSAGE_BYTES_MAX: usize = 2 * Input::BYTES;

/// An account that never asks for anything, so that its record changes nothing; readers of earlier
/// versions know the record.
const ACCOUNT_OF_NOBODY: u32 = 0;

/// Why an input was rejected. It has no sequence and must not be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The writer is behind by a limit.
    #[error(
        "the journal is behind by its limit {limit} = {max}: retry, send fewer orders, or use a faster disk"
    )]
    Full {
        /// The limit's name.
        limit: &'static str,
        /// Its value, in the unit of its name.
        max: u64,
    },
    /// The disk is full, and the remaining room is reserved for cancels and the operator's
    /// commands.
    #[error("the journal's disk is full: free disk space; cancels still work")]
    NoRoom,
    /// The follower of a journal in sync mode does not acknowledge.
    #[error(
        "the follower has not acknowledged within its limit, and nothing is executed without it: \
         start it, or end this exchange and start it without a follower"
    )]
    NoFollower,
    /// The journal has failed: [`Appender::state`] says why.
    #[error(
        "the journal has failed and accepts no more inputs: check its state, then open it again"
    )]
    Failed,
}

/// Appends the engine's inputs and gives them sequences.
pub struct Appender {
    next: u64,
    /// `None` for a journal that stores nothing.
    kept: Option<Destination>,
}

struct Destination {
    producer: Producer,
    shared: Arc<WriterState>,
    mode: Mode,
    replication: Option<Replication>,
    reserve: u64,
    ring_slots: u32,
    segment_bytes: u64,
    /// `None` after it was joined.
    writer: Option<JoinHandle<()>>,
}

/// The parts of an appender.
pub(crate) struct AppenderParts {
    pub producer: Producer,
    pub shared: Arc<WriterState>,
    pub options: Options,
    pub writer: JoinHandle<()>,
    pub next: u64,
}

impl Appender {
    /// A journal that stores nothing: it accepts every input, which may be acknowledged at once.
    pub fn none() -> Appender {
        Appender { next: 0, kept: None }
    }

    pub(crate) fn new(parts: AppenderParts) -> Appender {
        let AppenderParts { producer, shared, options, writer, next } = parts;
        let kept = Destination {
            producer,
            shared,
            mode: options.mode,
            replication: options.replication,
            reserve: options.reserve_inputs,
            ring_slots: options.ring_slots,
            segment_bytes: options.segment_bytes,
            writer: Some(writer),
        };
        Appender { next, kept: Some(kept) }
    }

    /// Appends an input and returns its sequence. Makes no system call, unless the writer sleeps.
    ///
    /// # Errors
    /// If it is rejected: it has no sequence and will not be in the log.
    #[inline]
    pub fn try_append(&mut self, input: &Input) -> Result<u64, AppendError> {
        let sequence = self.next;
        if let Some(kept) = &mut self.kept {
            kept.check_room(adds_risk(&input.command), sequence)?;
            kept.send(&input.to_bytes())?;
        }
        self.next = sequence + 1;
        Ok(sequence)
    }

    /// The same for a new order or an amendment that gives its order this client id: appends the
    /// client id too, which takes the sequence before the input's. A journal that stores nothing
    /// gives it no sequence.
    ///
    /// # Errors
    /// As [`Appender::try_append`].
    #[inline]
    pub fn try_append_named(
        &mut self,
        client_id: &ClientIdText,
        input: &Input,
    ) -> Result<u64, AppendError> {
        let (Some(kept), Some(order_id)) = (&mut self.kept, named_order(&input.command)) else {
            return self.try_append(input);
        };
        let sequence = self.next + 1;
        kept.check_room(adds_risk(&input.command), sequence)?;
        // One message, so that the writer makes both durable together.
        let mut both = [0; MESSAGE_BYTES_MAX];
        let (first, second) = both.split_at_mut(Input::BYTES);
        first.copy_from_slice(&OrderClientId { order_id, text: *client_id }.to_bytes());
        second.copy_from_slice(&input.to_bytes());
        kept.send(&both)?;
        self.next = sequence + 1;
        Ok(sequence)
    }

    /// Appends what the next order said of the tick that caused it; the order follows. A journal
    /// that stores nothing gives it no sequence.
    ///
    /// # Errors
    /// As [`Appender::try_append`] for that order.
    pub fn try_append_delivery(&mut self, delivery: &Delivery) -> Result<(), AppendError> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        // Room for the client id and the order, too.
        kept.check_room(true, self.next + 2)?;
        kept.send(&delivery.to_bytes())?;
        self.next += 1;
        Ok(())
    }

    /// Appends whether an account's orders are to be cancelled when its connection is lost; returns
    /// the record's sequence. `None` from a journal that stores nothing.
    ///
    /// # Errors
    /// As [`Appender::check_room`].
    pub fn try_append_cancel_on_disconnect(
        &mut self,
        account: u32,
        is_on: bool,
    ) -> Result<Option<u64>, AppendError> {
        self.check_room(1)?;
        let Some(kept) = &mut self.kept else { return Ok(None) };
        kept.send(&CancelOnDisconnect { account, is_on }.to_bytes())?;
        self.next += 1;
        Ok(Some(self.next - 1))
    }

    /// Asks the follower whether this primary still leads, if nothing is acknowledged without it:
    /// appends a record that changes nothing, and returns its sequence. Once that is acknowledged,
    /// nobody else led when it was appended. `None` if there is nobody to ask.
    ///
    /// # Errors
    /// As [`Appender::check_reserve`].
    pub fn try_append_question(&mut self) -> Result<Option<u64>, AppendError> {
        let replication = self.kept.as_ref().and_then(|kept| kept.replication);
        match replication {
            Some(Replication { mode: Mode::Sync, .. }) => {
                self.check_reserve()?;
                self.try_append_cancel_on_disconnect(ACCOUNT_OF_NOBODY, false)
            }
            _ => Ok(None),
        }
    }

    /// Checks that there is more room on the disk than the reserve for cancels.
    ///
    /// # Errors
    /// If not: an order would be rejected.
    pub fn check_reserve(&self) -> Result<(), AppendError> {
        match &self.kept {
            Some(kept) if self.next + kept.reserve >= kept.shared.room_end() => {
                Err(kept.why_no_room())
            }
            Some(Destination { replication: Some(replication), shared, .. }) => {
                check_follower(replication, shared, None)
            }
            _ => Ok(()),
        }
    }

    /// Checks that this number of inputs without new risk would be accepted now, one after the
    /// other. Estimates the ring's room from the durable sequence, so the real room may be larger.
    ///
    /// # Errors
    /// If one of them might be rejected.
    pub fn check_room(&self, inputs: u64) -> Result<(), AppendError> {
        let Some(kept) = self.kept.as_ref().filter(|_| inputs > 0) else { return Ok(()) };
        let end = self.next + inputs;
        if end > kept.shared.room_end() {
            return Err(kept.why_no_room());
        }
        if let Some(replication) = &kept.replication {
            check_follower(replication, &kept.shared, None)?;
        }
        if end - kept.shared.durable() > u64::from(kept.ring_slots) {
            return Err(kept.full());
        }
        Ok(())
    }

    /// The sequence of the next record.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// All inputs below may be acknowledged, depending on the modes of journal and follower.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        let Some(kept) = &self.kept else { return self.next };
        let own = match kept.mode {
            Mode::Sync => kept.shared.durable(),
            Mode::Async => self.next,
        };
        match kept.replication {
            Some(Replication { mode: Mode::Sync, .. }) => own.min(kept.shared.replicated()),
            _ => own,
        }
    }

    /// Whether inputs may be acknowledged only later than they are accepted.
    pub fn is_sync(&self) -> bool {
        let is_sync = |kept: &Destination| {
            let replication = kept.replication.map(|replication| replication.mode);
            kept.mode == Mode::Sync || replication == Some(Mode::Sync)
        };
        self.kept.as_ref().is_some_and(is_sync)
    }

    /// For the thread that ships the log to a follower; `None` without [`Options::replication`].
    pub fn shipping(&self) -> Option<Shipping> {
        let kept = self.kept.as_ref().filter(|kept| kept.replication.is_some())?;
        Some(Shipping::new(Arc::clone(&kept.shared)))
    }

    /// All inputs below are on the disk; always 0 if the journal stores nothing.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.shared.durable())
    }

    /// Its state.
    pub fn state(&self) -> JournalState<'_> {
        self.kept.as_ref().map_or(JournalState::Running, |kept| kept.shared.state())
    }

    /// Reads the same from other threads.
    pub fn watch(&self) -> Watch {
        let kept = self.kept.as_ref();
        let waits_for_follower = kept.is_some_and(|kept| {
            matches!(kept.replication, Some(Replication { mode: Mode::Sync, .. }))
        });
        Watch { shared: kept.map(|kept| Arc::clone(&kept.shared)), waits_for_follower }
    }

    /// Writes all accepted inputs and ends. Returns the number of durable inputs.
    ///
    /// # Errors
    /// If the journal has failed, or fails now.
    pub fn close(mut self) -> Result<u64, Arc<JournalError>> {
        let Some(mut kept) = self.kept.take() else { return Ok(0) };
        kept.end();
        kept.shared.failure().map_or(Ok(kept.shared.durable()), Err)
    }
}

impl Destination {
    /// Checks that the disk has room for a command with this sequence, which may add risk.
    #[inline]
    fn check_room(&self, adds_risk: bool, sequence: u64) -> Result<(), AppendError> {
        if let Some(replication) = &self.replication {
            check_follower(replication, &self.shared, adds_risk.then_some(sequence))?;
        }
        let reserve = if adds_risk { self.reserve } else { 0 };
        match sequence + reserve >= self.shared.room_end() {
            true => Err(self.why_no_room()),
            false => Ok(()),
        }
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.producer.try_send(bytes).map_err(|_| self.full())
    }

    #[cold]
    fn full(&self) -> AppendError {
        AppendError::Full { limit: "ring_slots", max: self.ring_slots.into() }
    }

    #[cold]
    fn why_no_room(&self) -> AppendError {
        match self.shared.state() {
            JournalState::Failed { .. } => AppendError::Failed,
            JournalState::NoRoom => AppendError::NoRoom,
            // The next segment is not ready.
            JournalState::Running => {
                AppendError::Full { limit: "segment_bytes", max: self.segment_bytes }
            }
        }
    }

    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        self.shared.stop();
        // Wakes the writer. If the ring is full, the writer is awake or checks by itself.
        let _ = self.producer.try_send(&[]);
        // It never panics; even then, its unwritten inputs are not durable.
        let _ = writer.join();
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.end();
    }
}

/// Checks that the follower acknowledges, in sync mode, and lacks fewer records than it may;
/// `risk` is the sequence of an order or amendment.
fn check_follower(
    replication: &Replication,
    shared: &WriterState,
    risk: Option<u64>,
) -> Result<(), AppendError> {
    let Replication { mode, lag_max } = *replication;
    if mode == Mode::Sync && shared.has_no_follower() {
        return Err(AppendError::NoFollower);
    }
    match risk {
        Some(sequence) if sequence - shared.replicated() >= lag_max => {
            Err(AppendError::Full { limit: "follower_lag_max", max: lag_max })
        }
        _ => Ok(()),
    }
}

/// Whether an input can add risk. Others are accepted as long as they can be logged.
fn adds_risk(command: &Command) -> bool {
    matches!(command, Command::New(_) | Command::Amend(_))
}

/// State of a journal's writer, for any thread.
#[derive(Clone)]
pub struct Watch {
    shared: Option<Arc<WriterState>>,
    waits_for_follower: bool,
}

impl Watch {
    pub(crate) fn new(shared: Arc<WriterState>) -> Watch {
        Watch { shared: Some(shared), waits_for_follower: false }
    }

    /// As [`Appender::durable`].
    #[inline]
    pub fn durable(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.durable())
    }

    /// All inputs below are on the disk, and may be acknowledged as far as the follower matters.
    pub fn durable_and_acknowledged(&self) -> u64 {
        let Some(shared) = &self.shared else { return 0 };
        match self.waits_for_follower {
            true => shared.durable().min(shared.replicated()),
            false => shared.durable(),
        }
    }

    /// As [`Appender::state`].
    pub fn state(&self) -> JournalState<'_> {
        self.shared.as_ref().map_or(JournalState::Running, |shared| shared.state())
    }
}
