//! The result of replaying a journal.

use crate::text::terminal::{Terminal, wrap};
use record::replay::{Cut, Replay};
use record::text::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Column in which a line's text begins.
const SAYS: usize = 14;

/// A replay as text. Numbers are exact: they are for comparing.
pub fn replay(replay: &Replay, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let _ = writeln!(out, "replay · {} · state {}", replay.journal, replay.state_hash);
    let mut line = |name: &str, text: &str| wrap(&mut out, &format!("  {name:<SAYS$}"), text);
    let replayed: u64 = replay.inputs.values().sum();
    let log = match replay.from_snapshot {
        None => format!("{}, all replayed", counted(replayed, "input")),
        Some(before) => format!(
            "{}: {before} in the snapshot that it began with, {replayed} replayed",
            counted(replay.next_sequence, "input")
        ),
    };
    line("log", &log);
    let open = counted(replay.open_orders, "open order");
    line("engine", &format!("{open}, {}", counted(replay.instruments, "instrument")));
    line("inputs", &by_kind(&replay.inputs));
    line("events", &by_kind(&replay.events));
    if let Some(cut) = &replay.cut {
        line("CUT", &cut_text(cut));
    }
    for refused in &replay.snapshots_refused {
        line("NOT USED", refused);
    }
    if let Some(snapshot) = &replay.snapshot {
        line("snapshot", snapshot);
    }
    out.into_text()
}

fn by_kind(counts: &BTreeMap<String, u64>) -> String {
    let some = counts.iter().filter(|(_, count)| **count > 0);
    let list: Vec<String> = some.map(|(kind, count)| format!("{kind} {count}")).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

fn cut_text(cut: &Cut) -> String {
    let Cut { segment, sequence, bytes } = cut;
    format!(
        "the log ends before input {sequence}: {} there are an incomplete record; a write was cut off, or the \
         file was changed ({segment})",
        counted(*bytes, "byte")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    }

    #[test]
    fn everything_that_was_found_is_said() {
        let shown = replay(
            &Replay {
                journal: "log".to_owned(),
                state_hash: "00000000000000ff".to_owned(),
                next_sequence: 1_234_567,
                from_snapshot: Some(1_234_000),
                instruments: 1,
                open_orders: 2,
                inputs: counts(&[("new", 500), ("cancel", 67), ("kill", 0)]),
                events: counts(&[("booked", 500)]),
                cut: Some(Cut { segment: "log/5".to_owned(), sequence: 9, bytes: 3 }),
                snapshots_refused: vec!["log/7 is damaged".to_owned()],
                snapshot: Some("log/8".to_owned()),
                ..Replay::default()
            },
            100,
        );
        let expected = "\
replay · log · state 00000000000000ff
  log           1234567 inputs: 1234000 in the snapshot that it began with, 567 replayed
  engine        2 open orders, 1 instrument
  inputs        cancel 67, new 500
  events        booked 500
  CUT           the log ends before input 9: 3 bytes there are an incomplete record; a write was cut
                off, or the file was changed (log/5)
  NOT USED      log/7 is damaged
  snapshot      log/8
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        let shown = replay(&Replay { journal: "log".to_owned(), ..Replay::default() }, 100);
        assert!(shown.contains("0 inputs, all replayed"), "{shown}");
        assert!(shown.contains("inputs        none"), "{shown}");
        assert!(!shown.contains("CUT") && !shown.contains("NOT USED"), "{shown}");
    }
}
