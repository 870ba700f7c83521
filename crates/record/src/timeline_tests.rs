use super::*;
use crate::hlog::tests::line;
use base64::Engine;
use clock::recorder::histogram;
use hdrhistogram::serialization::interval_log::LogEntry;
use hdrhistogram::serialization::{Deserializer, interval_log::IntervalLogIterator};
use proptest::prelude::*;

fn of(values: &[u64]) -> Histogram<u64> {
    let mut histogram = histogram();
    values.iter().for_each(|value| histogram.saturating_record(*value));
    histogram
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The columns of a tag by the hdrhistogram crate's own parser and deserialiser.
fn judged(logs: &[PathBuf], timeline: &Timeline, tag: &str) -> Vec<(usize, Histogram<u64>)> {
    let mut columns: BTreeMap<usize, Histogram<u64>> = BTreeMap::new();
    for (run, log) in logs.iter().enumerate() {
        let first: usize = timeline.runs[..run].iter().sum();
        for entry in IntervalLogIterator::new(&std::fs::read(log).unwrap()) {
            let LogEntry::Interval(interval) = entry.unwrap() else { continue };
            if interval.tag().map(|tag| tag.as_str().to_owned()).as_deref() != Some(tag) {
                continue;
            }
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(interval.encoded_histogram())
                .unwrap();
            let lines: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            let middle = interval.start_timestamp() + interval.duration() / 2;
            let column = (middle.as_secs_f64() / timeline.column_seconds) as usize;
            columns.entry(first + column).or_insert_with(histogram).add(lines).unwrap();
        }
    }
    columns.into_iter().filter(|(_, histogram)| !histogram.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]
    #[test]
    fn columns_are_what_the_crate_says(
        runs in prop::collection::vec(
            prop::collection::vec((prop::collection::vec(1u64..10_000_000, 0..80), any::<bool>()), 1..600),
            1..4,
        ),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut logs = Vec::new();
        for (run, intervals) in runs.iter().enumerate() {
            let mut text = String::from("#[a comment]\n");
            for (second, (values, deflate)) in intervals.iter().enumerate() {
                text += &line("a.b.stage", second as f64, 1.0, &of(values), *deflate);
                if second % 3 == 0 {
                    text += &line("a.c.stage", second as f64, 1.0, &of(&[second as u64 + 1]), true);
                }
            }
            logs.push(write(directory.path(), &format!("{run}.hlog"), &text));
        }
        let timeline = read(&logs).unwrap();
        prop_assert!(timeline.damage.is_empty(), "{:?}", timeline.damage);
        prop_assert!(timeline.runs.iter().sum::<usize>() <= COLUMNS_MAX);
        for tag in ["a.b.stage", "a.c.stage"] {
            let over_time = &timeline.series[tag];
            let judged = judged(&logs, &timeline, tag);
            let indices: Vec<usize> = judged.iter().map(|(index, _)| *index).collect();
            let ours: Vec<usize> = over_time.columns.iter().map(|column| column.index).collect();
            prop_assert_eq!(ours, indices);
            let mut all = histogram();
            for (column, (_, judged)) in over_time.columns.iter().zip(&judged) {
                prop_assert_eq!(column.summary, percentiles(judged).0);
                prop_assert_eq!(column.rows.iter().map(|(_, count)| count).sum::<u64>(), judged.len());
                all.add(judged).unwrap();
            }
            prop_assert_eq!(over_time.summary, percentiles(&all).0);
            prop_assert_eq!(&over_time.pooled, &curve(&all));
        }
    }
}

#[test]
fn a_damaged_line_is_said_and_the_rest_counts() {
    let directory = tempfile::tempdir().unwrap();
    let good = line("a.b.stage", 0.0, 1.0, &of(&[7]), true);
    let bad = line("a.b.stage", 1.0, 1.0, &of(&[8, 9]), true).replacen("AAA", "AzA", 1);
    let cut = line("a.b.stage", 3.0, 1.0, &of(&[8]), true);
    let text = format!("{good}{bad}hello\n{good}{}", &cut[..cut.len() - 9]);
    let log = write(directory.path(), "001.hlog", &text);
    let timeline = read(&[log]).unwrap();
    assert_eq!(timeline.series["a.b.stage"].summary.count, 2);
    let said = timeline.damage.join("\n");
    for line in ["001.hlog line 2: ", "001.hlog line 3: ", "001.hlog line 5: "] {
        assert!(said.contains(line), "{said}");
    }
}

/// Like a series for each pair of many cores. Known series stay complete, even after unknown ones.
#[test]
fn series_beyond_the_limit_are_left_out_and_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = (0..2)
        .flat_map(|second| (0..TAGS_MAX + 40).map(move |tag| (second, tag)))
        .map(|(second, tag)| {
            line(&format!("a.{tag}.stage"), f64::from(second), 1.0, &of(&[7]), true)
        })
        .collect();
    let timeline = read(&[write(directory.path(), "001.hlog", &text)]).unwrap();
    assert_eq!(timeline.damage, [format!("001.hlog: more than {TAGS_MAX} series")]);
    assert_eq!(timeline.series.len(), TAGS_MAX);
    assert!(timeline.series.values().all(|over_time| over_time.summary.count == 2));
}

#[test]
fn a_foreign_log_that_counts_from_1970_begins_at_0() {
    let directory = tempfile::tempdir().unwrap();
    let text: String =
        (0..4).map(|step| line("", 1.7e9 + f64::from(step) * 5.0, 5.0, &of(&[7]), true)).collect();
    let timeline = read(&[write(directory.path(), "001.hlog", &text)]).unwrap();
    assert_eq!((timeline.column_seconds, timeline.runs.as_slice()), (5.0, &[4][..]));
    let columns: Vec<usize> = timeline.series[""].columns.iter().map(|one| one.index).collect();
    assert_eq!(columns, [0, 1, 2, 3]);
}

/// The processes of a run append to one file, each with its own warm-up.
#[test]
fn each_log_in_a_file_begins_at_0_and_its_rest_makes_no_column() {
    let directory = tempfile::tempdir().unwrap();
    let log = |tag: &str, warm_up: f64| {
        let seconds = [(0.0, 1.0), (1.0, 1.0), (2.0, 0.001)];
        let lines = seconds.map(|(at, length)| line(tag, warm_up + at, length, &of(&[7]), true));
        format!("#[StartTime: 1795295854.925 (seconds since epoch)]\n{}", lines.concat())
    };
    let text = log("floor.b.stage", 0.5) + &log("a.b.stage", 1.0);
    let timeline = read(&[write(directory.path(), "001.hlog", &text)]).unwrap();
    assert_eq!(timeline.runs, [2]);
    for tag in ["a.b.stage", "floor.b.stage"] {
        let counts = timeline.series[tag].columns.iter().map(|one| (one.index, one.summary.count));
        assert_eq!(counts.collect::<Vec<_>>(), [(0, 1), (1, 2)], "{tag}");
    }
}

#[test]
fn no_logs_and_empty_logs_are_no_error() {
    let directory = tempfile::tempdir().unwrap();
    assert!(read(&[]).unwrap().series.is_empty());
    let empty = write(directory.path(), "001.hlog", "");
    assert_eq!(read(&[empty]).unwrap().runs, [1]);
    assert!(read(&[directory.path().join("none.hlog")]).is_err());
}

/// Lines that are years apart must not give years of columns.
#[test]
fn absurd_times_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let text = line("a", 0.0, 1.0, &of(&[7]), true) + &line("a", 9e11, 1e-9, &of(&[7]), true);
    let timeline = read(&[write(directory.path(), "001.hlog", &text)]).unwrap();
    assert!(timeline.runs[0] <= 2 * COLUMNS_MAX, "{:?}", timeline.runs);
    assert_eq!(timeline.series["a"].summary.count, 2);
}
