//! Number of inputs and events of each kind in a replay.

use engine::{Command, Event};

/// Inputs by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputCounts([u64; InputCounts::NAMES.len()]);

/// Events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts([u64; EventCounts::NAMES.len()]);

impl InputCounts {
    /// The kinds, in the order of their numbers in the codec.
    pub const NAMES: [&'static str; 8] =
        ["new", "amend", "cancel", "mass_cancel", "instrument", "account", "position", "kill"];

    /// Each kind with its number.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        InputCounts::NAMES.into_iter().zip(self.0)
    }

    /// Total number.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn add(&mut self, command: &Command) {
        let kind = match command {
            Command::New(_) => 0,
            Command::Amend(_) => 1,
            Command::Cancel(_) => 2,
            Command::MassCancel(_) => 3,
            Command::Instrument(_) => 4,
            Command::Account(_) => 5,
            Command::Position(_) => 6,
            Command::Kill(_) => 7,
        };
        self.0[kind] += 1;
    }
}

impl EventCounts {
    /// The kinds, in the order of [`Event`].
    pub const NAMES: [&'static str; 10] = [
        "booked",
        "trade",
        "decremented",
        "replenished",
        "amended",
        "waiting",
        "triggered",
        "done",
        "applied",
        "rejected",
    ];

    /// Each kind with its number.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        EventCounts::NAMES.into_iter().zip(self.0)
    }

    /// Total number.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn add(&mut self, event: &Event) {
        let kind = match event {
            Event::Booked { .. } => 0,
            Event::Trade { .. } => 1,
            Event::Decremented { .. } => 2,
            Event::Replenished { .. } => 3,
            Event::Amended { .. } => 4,
            Event::Waiting { .. } => 5,
            Event::Triggered { .. } => 6,
            Event::Done { .. } => 7,
            Event::Applied { .. } => 8,
            Event::Rejected { .. } => 9,
        };
        self.0[kind] += 1;
    }
}
