//! Losses in mid-run, of an exchange or of the leader of its cluster: how long the client got no
//! answer, and what became of the messages in flight.

use crate::text::grid::Grid;
use crate::text::number::latency;
use crate::text::terminal::shortened;
use crate::text::words;
use record::{Outage, RunRecord};
use stats::{median, median_interval};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// Explains the figures where an exchange was lost.
const EXCHANGES: &str = "Silence: from the last answer of the lost exchange to the first one of the \
                         next. Messages in flight were answered late by the next exchange, rejected \
                         because it does not have them, or cancels that were sent again.";
/// The same where a leader was.
const LEADERS: &str = "The exchange stayed, and the leader of its cluster was lost. Silence: the \
                       longest time between two answers of the measured part. Messages in flight \
                       were sent before it ended, and then answered late or rejected.";

/// The table; `None` if nothing was lost.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    let rows = record.subjects.iter().filter_map(|subject| {
        let outages = &subject.load.outages;
        let silences: Vec<u64> = outages.iter().map(|outage| outage.silence_ns).collect();
        let middle = median(&silences)?;
        let interval = median_interval(&silences)
            .map(|[low, high]| format!("{} to {}", latency(low), latency(high)));
        let sum = |part: fn(&Outage) -> u64| outages.iter().map(part).sum::<u64>().to_string();
        Some(vec![
            shortened(&words::subject(record, &subject.name), NAME_WIDTH),
            outages.len().to_string(),
            latency(middle),
            interval.unwrap_or_default(),
            latency(silences.iter().copied().max().unwrap_or_default()),
            sum(|outage| outage.unanswered),
            sum(|outage| outage.accepted_late),
            sum(|outage| outage.rejected),
            sum(|outage| outage.sent_again),
        ])
    });
    let head = [
        "",
        "losses",
        "silence p50",
        "interval",
        "longest",
        "in flight",
        "late",
        "rejected",
        "sent again",
    ];
    let all = || record.subjects.iter().flat_map(|subject| &subject.load.outages);
    let [exchanges, leaders] =
        [false, true].map(|stayed| all().any(|one| one.exchange_stayed == stayed));
    let notes = [exchanges.then_some(EXCHANGES), leaders.then_some(LEADERS)];
    let grid = Grid {
        title: if exchanges { "Lost exchanges" } else { "Lost leaders" }.to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: notes.into_iter().flatten().map(str::to_owned).collect(),
        ..Grid::default()
    };
    Some(grid).filter(|grid| !grid.rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Load, Subject};

    #[test]
    fn losses_of_all_runs_are_one_row() {
        let outage = |silence_ns| Outage { silence_ns, unanswered: 3, ..Outage::default() };
        let outages = vec![outage(500_000_000), outage(700_000_000), outage(600_000_000)];
        let load = Load { outages, ..Load::default() };
        let subjects = vec![
            Subject { name: "kill".to_owned(), load, ..Subject::default() },
            Subject { name: "none".to_owned(), ..Subject::default() },
        ];
        let record = RunRecord { subjects, ..RunRecord::default() };
        let grid = grid(&record).unwrap();
        assert_eq!(grid.rows.len(), 1, "a subject without losses has no row");
        assert_eq!(grid.rows[0][1], "3");
        assert_eq!(grid.rows[0][2], latency(600_000_000));
        assert_eq!(grid.rows[0][4], latency(700_000_000));
        assert_eq!(grid.rows[0][5], "9");
        assert_eq!(
            (grid.title.as_str(), &grid.notes[..]),
            ("Lost exchanges", &[EXCHANGES.to_owned()][..])
        );
    }

    #[test]
    fn a_lost_leader_is_no_lost_exchange() {
        let outages = vec![Outage { exchange_stayed: true, ..Outage::default() }];
        let load = Load { outages, ..Load::default() };
        let subjects = vec![Subject { load, ..Subject::default() }];
        let grid = grid(&RunRecord { subjects, ..RunRecord::default() }).unwrap();
        assert_eq!(
            (grid.title.as_str(), &grid.notes[..]),
            ("Lost leaders", &[LEADERS.to_owned()][..])
        );
    }
}
