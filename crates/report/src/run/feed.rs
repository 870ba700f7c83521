//! A feed into a book: how much of it came, and what one message costs.

use crate::text::grid::Grid;
use crate::text::number::count;
use crate::text::terminal::shortened;
use crate::text::words;
use plan::process::feed::NORMALISE;
use record::measure::Measure;
use record::tick::Tick;
use record::{Kind, RunRecord, Subject};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// The table; `None` for other kinds.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    if words::measure(record) != Some(Measure::Feed) {
        return None;
    }
    let head = [
        "",
        "messages",
        "lost",
        "datagrams",
        "bytes",
        "messages each",
        "dropped",
        "books lost",
        "ns a message",
    ];
    let grid = Grid {
        title: "Feed".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: record.subjects.iter().filter_map(row).collect(),
        notes: vec![
            "All runs together. A lost book ends its run: each later message is lost, too. Dropped: \
             datagrams that found no room, in that run before the loss was seen. Ns a message: p50 \
             of normalise by a datagram's messages, which is the book alone."
                .to_owned(),
        ],
        ..Grid::default()
    };
    Some(grid).filter(|grid| !grid.rows.is_empty())
}

fn row(subject: &Subject) -> Option<Vec<String>> {
    let (load, ticks) = (&subject.load, &subject.load.tick);
    let sum = |of: fn(&Tick) -> u64| ticks.iter().map(of).fold(0, u64::saturating_add);
    let datagrams = sum(|tick| tick.datagrams);
    let each = load.received as f64 / datagrams as f64;
    let normalise = subject.series(NORMALISE, Kind::Service).and_then(|series| series.pooled.p50);
    let known = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        value.map_or("-".to_owned(), |value| format!("{value:.1}"))
    };
    Some(vec![
        shortened(&subject.name, NAME_WIDTH),
        count(load.received),
        count(load.lost),
        count(datagrams),
        ticks.first()?.datagram_bytes.to_string(),
        known(Some(each)),
        count(sum(|tick| tick.kernel_drops)),
        format!("{} of {}", sum(|tick| u64::from(is_lost(tick))), ticks.len()),
        known(normalise.map(|ns| ns as f64 / each)),
    ])
}

/// A book that is whole was compared with the publisher's.
fn is_lost(tick: &Tick) -> bool {
    tick.exchange_book_hash.is_empty()
}
