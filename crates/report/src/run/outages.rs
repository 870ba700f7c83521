//! Changes to another exchange in mid-run: how long the client got no answer, and what became of
//! the messages in flight.

use crate::text::grid::Grid;
use crate::text::number::latency;
use crate::text::terminal::shortened;
use crate::text::words;
use record::{Outage, RunRecord};
use stats::{median, median_interval};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// The table; `None` if no exchange was lost.
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
    let grid = Grid {
        title: "Lost exchanges".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            "Silence: from the last answer of the lost exchange to the first one of the next. \
             Messages in flight were answered late by the next exchange, rejected because it does \
             not have them, or cancels that were sent again."
                .to_owned(),
        ],
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
    }
}
