//! Latencies over time, from the logs of a record of any length: a bounded number of columns, each
//! with its percentiles, its maximum and a few rows of counts.
//!
//! ```text
//!  log ── index: position and start of each line ──> columns ── workers: one column at a time ──>
//!         percentiles of the column, added to the sum of the run
//! ```

use crate::Percentiles;
use crate::hlog::placing::BlockTimes;
use crate::hlog::sparse::{Decoder, Sum};
use crate::hlog::{LogLine, next_line, parse};
use hdrhistogram::Histogram;
use stats::{curve, percentiles};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Approximate number of columns of all runs together; each run has at least one.
pub const COLUMNS_MAX: usize = 480;
/// Maximum number of series of a record; further tags are left out, with a message.
pub const TAGS_MAX: usize = 256;
/// Rows of counts per power of ten of the latency.
pub const ROWS_PER_DECADE: usize = 10;
/// Maximum number of messages about unreadable lines.
const DAMAGES_MAX: usize = 5;
/// The shortest column, seconds.
const COLUMN_SECONDS_MIN: f64 = 0.001;
/// Size of the pieces in which the log is read.
const BUFFER_BYTES: usize = 1 << 20;

/// The logs of a record over time.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Width of a column, seconds.
    pub column_seconds: f64,
    /// Number of columns of each run, in order. The first column of a run is the sum of those
    /// before it.
    pub runs: Vec<usize>,
    /// By tag, `subject.series.kind`.
    pub series: BTreeMap<String, OverTime>,
    /// Messages about unreadable lines; all other lines are included.
    pub damage: Vec<String>,
}

/// One series over time.
#[derive(Debug, Default)]
pub struct OverTime {
    /// Columns with samples, ascending.
    pub columns: Vec<Column>,
    /// For each run that has it: the run's index from 0 and the curve of [`stats::curve`].
    pub curves: Vec<(usize, Vec<(f64, u64)>)>,
    /// The curve of all runs merged.
    pub pooled: Vec<(f64, u64)>,
    /// The percentiles of all runs merged.
    pub summary: Percentiles,
}

/// One series in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its index, over all runs.
    pub index: usize,
    /// Its maximum, and the percentiles that its sample supports.
    pub summary: Percentiles,
    /// Row and count, ascending: row r holds latencies from `10^(r / ROWS_PER_DECADE)` ns to the
    /// next row.
    pub rows: Vec<(u16, u64)>,
}

/// Position of a line in a log.
#[derive(Clone, Copy)]
struct LinePosition {
    tag: u32,
    number: u32,
    offset: u64,
    bytes: u32,
    start_seconds: f64,
    length_seconds: f64,
}

impl LinePosition {
    /// The time that decides on the column. The partial interval at the end of a run belongs to the
    /// interval before it.
    fn moment(&self, usual_seconds: f64) -> f64 {
        let is_rest = self.length_seconds < usual_seconds / 2.0;
        let from_start = if is_rest { -usual_seconds } else { self.length_seconds };
        (self.start_seconds + from_start / 2.0).max(0.0)
    }
}

/// The division of time into columns.
#[derive(Clone, Copy)]
struct Cuts {
    /// Length of the usual interval.
    usual_seconds: f64,
    /// A multiple of `usual_seconds`.
    column_seconds: f64,
}

struct Index {
    path: PathBuf,
    places: Vec<LinePosition>,
    span_seconds: f64,
}

/// Reads `logs`, one per run, with as many threads as there are cores.
///
/// # Errors
/// If a log can't be read at all. Damaged lines are left out and reported in [`Timeline::damage`].
pub fn read(logs: &[PathBuf]) -> io::Result<Timeline> {
    let mut timeline = Timeline::default();
    let (mut tags, mut lengths, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for path in logs {
        indices.push(index(path, &mut tags, &mut lengths, &mut timeline.damage)?);
    }
    let cuts = cuts(&indices, &mut lengths);
    timeline.column_seconds = cuts.column_seconds;
    let mut pooled: Vec<Option<Histogram<u64>>> = vec![None; tags.len()];
    let mut series: Vec<OverTime> = tags.iter().map(|_| OverTime::default()).collect();
    for (run, index) in indices.iter().enumerate() {
        let first: usize = timeline.runs.iter().sum();
        let mut read = read_run(index, cuts, tags.len())?;
        timeline.runs.push(read.columns);
        read.read.sort_by_key(|(tag, column, _)| (*tag, *column));
        for (tag, column, (summary, rows)) in read.read {
            series[tag].columns.push(Column { index: first + column, summary, rows });
        }
        for (tag, total) in read.totals.iter_mut().enumerate() {
            let Some(total) = total.take() else { continue };
            series[tag].curves.push((run, curve(&total)));
            add(&mut pooled[tag], &total);
        }
        note(&mut timeline.damage, read.damage);
    }
    for (over_time, pooled) in series.iter_mut().zip(pooled.iter().flatten()) {
        over_time.pooled = curve(pooled);
        over_time.summary = percentiles(pooled).0;
    }
    timeline.series = tags.into_iter().zip(series).collect();
    Ok(timeline)
}

fn note(damage: &mut Vec<String>, new: Vec<String>) {
    for sentence in new {
        match damage.len() {
            0..DAMAGES_MAX => damage.push(sentence),
            DAMAGES_MAX => damage.push("more lines could not be read".to_owned()),
            _ => return,
        }
    }
}

fn add(sum: &mut Option<Histogram<u64>>, more: &Histogram<u64>) {
    match sum {
        Some(sum) => sum.add(more).expect("both have tickpath's bounds"),
        None => *sum = Some(more.clone()),
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Positions of the lines of one log. Adds new tags to `tags`, and the lengths of intervals to
/// `lengths`.
fn index(
    path: &Path,
    tags: &mut Vec<String>,
    lengths: &mut Vec<f64>,
    damage: &mut Vec<String>,
) -> io::Result<Index> {
    let mut log = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let mut index = Index { path: path.to_owned(), places: Vec::new(), span_seconds: 0.0 };
    let (mut line, mut offset) = (Vec::new(), 0);
    let (mut placing, mut origin) = (BlockTimes::default(), 0.0);
    let (mut wrong, mut has_too_many) = (Vec::new(), false);
    for number in 1.. {
        let parsed = match next_line(&mut log, &mut line) {
            Ok(false) => break,
            Ok(true) => parse(&line),
            Err(why) => {
                wrong.push(format!("{} line {number}: {why}", name(path)));
                break;
            }
        };
        let begin = offset;
        offset += line.len() as u64;
        match parsed {
            Ok(Some(interval)) => {
                // Other writers' times are since 1970; ours are since before the warm-up.
                let placed = placing.interval(&interval);
                if placed.begins_block {
                    origin = placed.start;
                }
                let LogLine { tag, length, .. } = interval;
                let known = tags.iter().position(|known| known == tag);
                let tag = match known {
                    Some(tag) => tag,
                    None if tags.len() < TAGS_MAX => {
                        tags.push(tag.to_owned());
                        tags.len() - 1
                    }
                    None => {
                        has_too_many = true;
                        continue;
                    }
                };
                let start_seconds = placed.start - origin;
                index.span_seconds = index.span_seconds.max(start_seconds + length);
                lengths.push(length);
                index.places.push(LinePosition {
                    tag: tag as u32,
                    number,
                    offset: begin,
                    bytes: line.len() as u32,
                    start_seconds,
                    length_seconds: length,
                });
            }
            Ok(None) => {
                if let Err(why) = placing.header(&line) {
                    wrong.push(format!("{} line {number}: {why}", name(path)));
                }
            }
            Err(why) => wrong.push(format!("{} line {number}: {why}", name(path))),
        }
        wrong.truncate(DAMAGES_MAX + 1);
    }
    if has_too_many {
        wrong.insert(0, format!("{}: more than {TAGS_MAX} series", name(path)));
    }
    note(damage, wrong);
    Ok(index)
}

/// The column width that gives about [`COLUMNS_MAX`] columns.
fn cuts(indices: &[Index], lengths: &mut [f64]) -> Cuts {
    let middle = lengths.len() / 2;
    let usual = match lengths.is_empty() {
        true => 1.0,
        false => *lengths.select_nth_unstable_by(middle, f64::total_cmp).1,
    };
    let usual_seconds = ((usual * 1e3).round() / 1e3).max(COLUMN_SECONDS_MIN);
    let all: f64 = indices.iter().map(|index| index.span_seconds).sum();
    let at_most = COLUMNS_MAX.saturating_sub(indices.len()).max(1) as f64;
    // The tolerance is for the last interval of a run, which ends some microseconds late.
    let intervals = (all / at_most / usual_seconds - 1e-3).ceil().max(1.0);
    Cuts { usual_seconds, column_seconds: usual_seconds * intervals }
}

/// Percentiles and rows of one column.
type Cut = (Percentiles, Vec<(u16, u64)>);

/// A worker's result for one run.
#[derive(Default)]
struct RunColumns {
    columns: usize,
    /// Tag, column, and its content.
    read: Vec<(usize, usize, Cut)>,
    totals: Vec<Option<Histogram<u64>>>,
    damage: Vec<String>,
}

fn read_run(index: &Index, cuts: Cuts, tags: usize) -> io::Result<RunColumns> {
    let column_of =
        |place: &LinePosition| (place.moment(cuts.usual_seconds) / cuts.column_seconds) as usize;
    let columns = index.places.iter().map(column_of).max().map_or(1, |last| last + 1);
    let columns = columns.min(2 * COLUMNS_MAX);
    let mut by_column: Vec<Vec<LinePosition>> = vec![Vec::new(); columns];
    for place in &index.places {
        by_column[column_of(place).min(columns - 1)].push(*place);
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(columns);
    let found: Vec<io::Result<RunColumns>> = std::thread::scope(|scope| {
        let work = || read_columns(&index.path, &by_column, &next, tags);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let mut all = RunColumns { columns, totals: vec![None; tags], ..RunColumns::default() };
    for one in found {
        let one = one?;
        all.read.extend(one.read);
        all.damage.extend(one.damage);
        for (sum, total) in all.totals.iter_mut().zip(one.totals) {
            if let Some(total) = total {
                add(sum, &total);
            }
        }
    }
    all.damage.sort();
    Ok(all)
}

/// A worker: reads columns until none are left.
fn read_columns(
    path: &Path,
    columns: &[Vec<LinePosition>],
    next: &AtomicUsize,
    tags: usize,
) -> io::Result<RunColumns> {
    let log = File::open(path)?;
    let mut found = RunColumns { totals: vec![None; tags], ..RunColumns::default() };
    let (mut decoder, mut line) = (Decoder::new(), Vec::new());
    let mut sums: Vec<Option<Sum>> = (0..tags).map(|_| None).collect();
    loop {
        let column = next.fetch_add(1, Ordering::Relaxed);
        let Some(places) = columns.get(column) else { return Ok(found) };
        for place in places {
            line.resize(place.bytes as usize, 0);
            log.read_exact_at(&mut line, place.offset)?;
            let sum = sums[place.tag as usize].get_or_insert_with(Sum::new);
            if let Err(why) = add_line(&mut decoder, &line, sum)
                && found.damage.len() <= DAMAGES_MAX
            {
                found.damage.push(format!("{} line {}: {why}", name(path), place.number));
            }
        }
        for (tag, sum) in sums.iter_mut().enumerate() {
            let Some(sum) = sum else { continue };
            let total = sum.total();
            if !total.is_empty() {
                found.read.push((tag, column, (percentiles(total).0, rows(total))));
                add(&mut found.totals[tag], total);
                sum.clear();
            }
        }
    }
}

fn add_line(decoder: &mut Decoder, line: &[u8], sum: &mut Sum) -> Result<(), String> {
    let interval = parse(line)?.ok_or("the log changed while it was read")?;
    let (layout, counts) = decoder.decode(interval.encoded)?;
    sum.add(layout, counts)
}

fn rows(histogram: &Histogram<u64>) -> Vec<(u16, u64)> {
    let mut rows: Vec<(u16, u64)> = Vec::new();
    for value in histogram.iter_recorded() {
        let ns = value.value_iterated_to().max(1) as f64;
        let row = (ns.log10() * ROWS_PER_DECADE as f64) as u16;
        match rows.last_mut() {
            Some((last, count)) if *last == row => *count += value.count_at_value(),
            _ => rows.push((row, value.count_at_value())),
        }
    }
    rows
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
