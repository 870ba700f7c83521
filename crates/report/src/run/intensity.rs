//! Orders by the number of messages that were due in the millisecond before.

use crate::text::grid::{Grid, cells};
use crate::text::number::count;
use crate::text::terminal::shortened;
use crate::text::words::{self, cell, interval, over_floor};
use plan::intensity::place_of_series;
use record::{RunRecord, Series, Subject};

/// Columns of a subject's name.
const NAME_WIDTH: usize = 20;

/// The grid; `None` where orders are evenly spaced.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    let rows: Vec<Vec<String>> =
        record.subjects.iter().flat_map(|subject| rows(record, subject)).collect();
    if rows.is_empty() {
        return None;
    }
    let all = record.subjects.iter().flat_map(|subject| &subject.series);
    let marks = words::marks(all.filter(|series| place_of_series(&series.name).is_some()));
    let meaning = "Messages: orders and cancels that were due in the millisecond before an order. \
                   The schedule gives their number, so a stall doesn't change it.";
    let unit = words::unit(record).name;
    let intervals = ["p50 interval", "p99 interval", "over floor"];
    let mut head = cells([unit, "messages", "p50", "p99", "p99.9", "max", "n"]);
    head.extend(cells(intervals));
    Some(Grid {
        title: "Orders by messages in the millisecond before: response".to_owned(),
        head,
        rows,
        notes: std::iter::once(meaning.to_owned()).chain(marks).collect(),
        more_names: 1,
    })
}

/// A row for each intensity that the subject's orders had, the lowest first.
fn rows(record: &RunRecord, subject: &Subject) -> Vec<Vec<String>> {
    let unit = words::unit(record);
    let mut found: Vec<(usize, &Series)> = subject
        .series
        .iter()
        .filter_map(|series| Some((place_of_series(&series.name)?, series)))
        .filter(|(_, series)| series.pooled.count > 0)
        .collect();
    found.sort_by_key(|(place, _)| *place);
    let name = words::subject(record, &subject.name);
    let row = |(index, (_, series)): (usize, &(usize, &Series))| {
        let first = if index == 0 { shortened(&name, NAME_WIDTH) } else { String::new() };
        let pooled = &series.pooled;
        let of = |name, value| cell(series, name, value, unit);
        vec![
            first,
            series.name.trim_start_matches("order@").to_owned(),
            of("p50", pooled.p50),
            of("p99", pooled.p99),
            of("p99_9", pooled.p99_9),
            (unit.show)(pooled.max),
            count(pooled.count),
            interval(series, "p50", unit),
            interval(series, "p99", unit),
            if series.over_floor.is_some() { over_floor(series) } else { String::new() },
        ]
    };
    found.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn series(name: &str, p50: u64) -> serde_json::Value {
        let pooled = json!({"count": 5_000, "min": 100, "p50": p50, "p99": 2 * p50, "max": 9_000});
        json!({"name": name, "kind": "response", "unit": "ns", "pooled": pooled, "holds_to": 1.0,
            "interval": {"p50": [p50, p50 + 100]}})
    }

    #[test]
    fn the_rows_ascend_and_leave_the_table_of_latencies() {
        let all =
            [("order", 2_000), ("order@0", 1_000), ("order@128-255", 8_000), ("order@2-3", 3_000)];
        let all: Vec<_> = all.iter().map(|(name, p50)| series(name, *p50)).collect();
        let record = json!({"schema": 3, "tool": "", "scenario": "s", "complete": true, "runs": 1,
            "warnings": [], "resolved": {"kind": "order-entry"}, "subjects": [{"name": "rust", "series": all}]});
        let record = RunRecord::from_json(&record.to_string()).unwrap();
        let grid = grid(&record).unwrap();
        let firsts: Vec<_> = grid.rows.iter().map(|row| row[..3].join(" ")).collect();
        assert_eq!(firsts, ["trader (rust) 0 1.00", " 2-3 3.00", " 128-255 8.00"]);
        assert_eq!(grid.rows[1][7], "3.00-3.10");
        let shown: Vec<_> = words::shown(&record.subjects[0]).map(|one| &one.name).collect();
        assert_eq!(shown, ["order"]);
        assert!(super::grid(&RunRecord::default()).is_none());
    }
}
