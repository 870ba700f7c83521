//! `tickpath replay`: the state at the end of a journal of inputs.

use crate::cli::ReplayArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::print::{columns, show, show_report};
use crate::tool::TOOL;
use anyhow::Context;
use journal::{JournalError, ReplayedJournal, Snapshot};
use record::replay::{Cut, Replay, SCHEMA};

pub(crate) fn replay(arguments: &ReplayArguments) -> anyhow::Result<u8> {
    let done = if arguments.snapshot {
        journal::replay_and_save(&arguments.log).map(|(replayed, saved)| (replayed, Some(saved)))
    } else {
        journal::replay(&arguments.log).map(|replayed| (replayed, None))
    };
    let (replayed, saved) = match done {
        Ok(done) => done,
        Err(error) if error.is_damage() => {
            eprintln!("error: {error}");
            return Ok(NO_RESULT);
        }
        Err(error) => return Err(error).context("not replayed"),
    };
    let replay = Replay {
        schema: SCHEMA,
        tool: TOOL.to_owned(),
        journal: arguments.log.display().to_string(),
        ..summary_of(&replayed, saved.as_ref())
    };
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&replay)?))?;
    } else {
        show_report(&report::replay(&replay, columns()))?;
    }
    Ok(DONE)
}

fn summary_of(replayed: &ReplayedJournal, saved: Option<&Snapshot>) -> Replay {
    let named = |(kind, count): (&str, u64)| (kind.to_owned(), count);
    Replay {
        state_hash: format!("{:016x}", replayed.state_hash),
        next_sequence: replayed.next_sequence,
        from_snapshot: replayed.from_snapshot,
        instruments: replayed.identity.instruments,
        open_orders: replayed.engine.open_orders(),
        inputs: replayed.inputs.by_name().map(named).collect(),
        events: replayed.events.by_name().map(named).collect(),
        cut: replayed.cut.as_ref().map(|cut| Cut {
            segment: cut.segment.display().to_string(),
            sequence: cut.sequence,
            bytes: cut.bytes,
        }),
        snapshots_refused: replayed
            .snapshots_rejected
            .iter()
            .map(JournalError::to_string)
            .collect(),
        snapshot: saved.map(|saved| saved.path.display().to_string()),
        ..Replay::default()
    }
}
