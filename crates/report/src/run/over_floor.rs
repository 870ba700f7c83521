//! Time that the software adds to the raw echo of the same bytes on the same cores.

use crate::text::words::Unit;
use plan::intensity::place_of_series;
use record::over_floor::OverFloor;
use record::{RunRecord, Series};

/// Headings of a row's cells.
pub(crate) const HEAD: [&str; 7] =
    ["floor p50", "added", "ratio", "ratio interval", "floor p99", "added", "ratio"];

/// One series of a subject over the same of its floor.
pub(crate) struct AddedSeries<'a> {
    pub subject: &'a str,
    pub series: &'a Series,
    over: &'a OverFloor,
}

/// Every series that has a floor: of the subjects, then of the floors over the bare echo below.
pub(crate) fn added(record: &RunRecord) -> Vec<AddedSeries<'_>> {
    let floors = record.subjects.iter().filter(|subject| subject.is_floor());
    let subjects = record.subjects.iter().filter(|subject| !subject.is_reference()).chain(floors);
    let rows = subjects.flat_map(|subject| {
        // Orders by intensity have a table of their own.
        let own = subject.series.iter().filter(|series| place_of_series(&series.name).is_none());
        own.filter_map(|series| {
            Some(AddedSeries { subject: &subject.name, series, over: series.over_floor.as_ref()? })
        })
    });
    rows.collect()
}

/// The notes below the table of `rows`.
pub(crate) fn notes(rows: &[AddedSeries<'_>]) -> String {
    let mut text = "Medians over pairs: each run against the floor of the same run. ".to_owned();
    let does_not_hold = |row: &AddedSeries<'_>| {
        let judged = row.over.holds_to.is_some();
        judged && [0.5, 0.99].iter().any(|rank| !row.over.holds(*rank))
    };
    if rows.iter().any(does_not_hold) {
        text += "? does not hold: pairs differ by more than a tenth, or disturbance hit one half of \
                 them alone. ";
    }
    if let Some(row) = rows.iter().find(|row| row.over.holds_to.is_none()) {
        text += &format!("? was not judged: {}. ", row.over.not_judged);
    }
    text.truncate(text.trim_end().len());
    text
}

impl AddedSeries<'_> {
    /// The cells under [`HEAD`].
    pub(crate) fn cells(&self, unit: Unit) -> [String; 7] {
        let [floor, added, ratio, interval] = self.figure("p50", 0.5, unit);
        let [floor_p99, added_p99, ratio_p99, _] = self.figure("p99", 0.99, unit);
        [floor, added, ratio, interval, floor_p99, added_p99, ratio_p99]
    }

    /// The floor, the time above it, the ratio of both and its interval.
    fn figure(&self, name: &str, quantile: f64, unit: Unit) -> [String; 4] {
        let Some(figure) = self.over.figures.get(name) else {
            return ["-", "-", "-", ""].map(str::to_owned);
        };
        let mark = if self.over.holds(quantile) { "" } else { "?" };
        let sign = if figure.added < 0 { '-' } else { '+' };
        let added = format!("{sign}{}{mark}", (unit.show)(figure.added.unsigned_abs()));
        let interval = figure.ratio_interval;
        let interval = interval.map_or(String::new(), |[low, high]| format!("{low:.2}-{high:.2}"));
        [(unit.show)(figure.floor), added, format!("{:.2}x{mark}", figure.ratio), interval]
    }
}
