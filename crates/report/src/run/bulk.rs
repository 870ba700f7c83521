//! Throughput of bulk flows, beside the latencies of the requests that ran with them.

use crate::text::grid::Grid;
use crate::text::number::percent;
use crate::text::terminal::shortened;
use crate::text::words;
use record::RunRecord;
use record::bulk::{BulkRun, Throughput};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// The table; `None` without bulk flows.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    let rows = record.subjects.iter().filter_map(|subject| {
        let found = Throughput::of(&subject.load.bulk)?;
        let interval =
            found.interval.map(|[low, high]| format!("{}-{}", gigabits(low), gigabits(high)));
        Some(vec![
            shortened(&words::subject(record, &subject.name), NAME_WIDTH),
            subject.load.bulk.iter().map(|run| run.flows.len()).max().unwrap_or(0).to_string(),
            gigabits(found.sent),
            gigabits(found.received),
            interval.unwrap_or_default(),
            slowest(&subject.load.bulk).map_or(String::new(), gigabits),
            found.lost.map_or(String::new(), percent),
        ])
    });
    let head = ["", "flows", "sent Gbit/s", "received", "interval", "slowest flow", "lost"];
    let grid = Grid {
        title: "Bulk flows beside the requests".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            "Payload of all flows together, the median run; the slowest flow of any run. Higher is better."
                .to_owned(),
        ],
        ..Grid::default()
    };
    Some(grid).filter(|grid| !grid.rows.is_empty())
}

/// The slowest flow of any run; `None` where runs have one each.
fn slowest(runs: &[BulkRun]) -> Option<f64> {
    let several = runs.iter().filter(|run| run.flows.len() > 1);
    several.flat_map(|run| &run.flows).map(|one| one.received_bits_per_second).reduce(f64::min)
}

fn gigabits(per_second: f64) -> String {
    format!("{:.3}", per_second / 1e9)
}
