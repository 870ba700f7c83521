//! Properties of reading any bytes as an audit log, for proptest and the fuzzer.

use audit::{HEADER_BYTES, Header, KINDS, LogTail, RECORD_BYTES, ReadError, Reader, Record};
use clock::Clock;
use clock::time_base::TimeBase;
use clock::utc::Utc;
use std::sync::LazyLock;

/// A valid header, made once.
static HEADER: LazyLock<Box<[u8; HEADER_BYTES]>> = LazyLock::new(|| {
    let clock = Clock::calibrate();
    let wall = clock.beside_wall();
    let time = TimeBase { boot_id: String::new(), clock, wall, utc: Utc::default() };
    let header = Header {
        scenario: String::new(),
        subject: String::new(),
        tool: String::new(),
        time,
        same_clock: true,
        exchange_time: None,
        reasons: Vec::new(),
    };
    header.to_bytes().expect("it is short")
});

/// Reads a log to its end: its records and its end.
pub fn read(log: &[u8]) -> Result<(Vec<Record>, LogTail), ReadError> {
    let mut reader = Reader::new(log)?;
    let records: Result<Vec<Record>, ReadError> = reader.by_ref().collect();
    Ok((records?, reader.tail().expect("it was read to its end")))
}

/// Any bytes, as a whole file and after a valid header: nothing panics, and all read records are in
/// the bytes.
pub fn any_bytes(bytes: &[u8]) {
    let _ = read(bytes);
    let log = [&HEADER[..], bytes].concat();
    let Ok((records, tail)) = read(&log) else { return };
    for (number, record) in records.iter().enumerate() {
        let at = number * RECORD_BYTES;
        assert_eq!(bytes[at..at + RECORD_BYTES], record.to_bytes(number as u64));
        assert!(record.kind() < KINDS.len());
    }
    let rest = (bytes.len() - records.len() * RECORD_BYTES) as u64;
    let expected = match tail {
        LogTail::Finished | LogTail::Unfinished => 0,
        LogTail::Torn { bytes } => bytes,
    };
    assert_eq!(rest, expected);
}

/// A log of `count` records, finished or not.
#[allow(dead_code, reason = "the fuzzer has no use for it")]
pub fn log(count: u64, finished: bool) -> (Vec<u8>, Vec<Record>) {
    let mut records: Vec<Record> =
        (0..count).map(|number| Record::Lost { noticed_ns: number * 3, count: 1 }).collect();
    if finished {
        records.push(Record::End { records: count, lost: 0, clock_ns: 1 });
    }
    let mut bytes = HEADER.to_vec();
    for (number, record) in records.iter().enumerate() {
        bytes.extend(record.to_bytes(number as u64));
    }
    (bytes, records)
}
