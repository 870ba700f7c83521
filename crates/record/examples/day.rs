//! Makes the record of a long run without the run: the logs of a day at 400 000 messages a second.
//! `tickpath report DIR --html FILE` must open it within seconds.
//!
//! ```text
//! cargo run --release -p record --example day -- DIR [SECONDS] [MESSAGES_PER_SECOND]
//! ```

use clock::random::SplitMix64;
use clock::recorder::histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use record::machine::Machine;
use record::merge::pooling;
use record::{Kind, Load, RunRecord, SCHEMA, Subject};
use record::{directory, hlog};
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Series of a subject, with the typical latency of each, ns.
const SERIES: [(&str, Kind, f64); 5] = [
    ("order", Kind::Response, 52_000.0),
    ("order", Kind::Service, 48_000.0),
    ("cancel", Kind::Response, 51_000.0),
    ("cancel", Kind::Service, 47_000.0),
    ("send", Kind::Lateness, 400.0),
];

/// Number of different seconds; a day repeats them.
const SECONDS_DIFFERENT: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name the directory to make")?;
    let seconds: u64 = arguments.next().map_or(Ok(86_400), |text| text.parse())?;
    let rate: u64 = arguments.next().map_or(Ok(400_000), |text| text.parse())?;
    let path = Path::new(&path);
    std::fs::create_dir_all(path)?;
    let log = directory::hlog(path, 1);
    write_log(&log, seconds, rate)?;
    let totals = hlog::totals(BufReader::new(File::open(&log)?))?;
    let subject = Subject {
        name: "rust".to_owned(),
        backend: "spin".to_owned(),
        load: Load {
            model: "open".to_owned(),
            rate_per_second_offered: Some(rate as f64),
            rate_per_second_achieved: rate as f64,
            sent: seconds * rate,
            received: seconds * rate,
            ..Load::default()
        },
        series: pooling::series("rust", &[&totals], 1, &pooling::FigureJudge::UNDISTURBED),
        ..Subject::default()
    };
    let record = RunRecord {
        schema: SCHEMA,
        tool: "tickpath, example `day`".to_owned(),
        scenario: "a-day-that-was-not-run".to_owned(),
        complete: true,
        void_because: vec!["it was made up to test the report".to_owned()],
        runs: 1,
        subjects: vec![subject],
        ..RunRecord::default()
    };
    directory::save_record(path, &record, &Machine::default())?;
    Ok(())
}

/// A line per second and series. Each second has its own median, which drifts over the day, and a
/// tail.
fn write_log(path: &Path, seconds: u64, rate: u64) -> Result<(), Box<dyn Error>> {
    let mut random = SplitMix64::new(42);
    let mut uniform = move || random.unit_open();
    let mut different = Vec::new();
    for second in 0..SECONDS_DIFFERENT {
        let drift =
            1.0 + 0.2 * (second as f64 / SECONDS_DIFFERENT as f64 * std::f64::consts::TAU).sin();
        for (name, _, typical) in SERIES {
            let mut histogram = histogram();
            for _ in 0..if name == "send" { rate } else { rate / 2 } {
                // A log-logistic body, and one in 50 000 messages delayed by the machine.
                let (body, tail): (f64, f64) = (uniform(), uniform());
                let spread = (body / (1.0 - body).max(1e-9)).powf(0.18);
                let stall = if tail < 2e-5 { 1e6 * (1.0 + 3.0 * uniform()) } else { 0.0 };
                histogram.saturating_record((typical * drift * spread + stall) as u64);
            }
            different.push(histogram);
        }
    }
    let mut file = BufWriter::new(File::create(path)?);
    let mut serializer = V2DeflateSerializer::new();
    let now = SystemTime::now();
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(now)
        .with_base_time(now)
        .begin_log_with(&mut file, &mut serializer)?;
    for second in 0..seconds {
        let from = second as usize % SECONDS_DIFFERENT * SERIES.len();
        for ((name, kind, _), histogram) in SERIES.iter().zip(&different[from..]) {
            let tag = format!("rust.{name}.{}", kind.name());
            let start = Duration::from_secs(second);
            log.write_histogram(histogram, start, Duration::from_secs(1), Tag::new(&tag))
                .map_err(|error| format!("{error:?}"))?;
        }
    }
    drop(log);
    Ok(file.flush()?)
}
