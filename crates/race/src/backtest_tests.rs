use super::*;
use std::io::Read;

fn of(draws_per_second: u32, seconds: u32) -> OrderLatencies {
    let (entry, response) = ("rust.order.service".to_owned(), None);
    OrderLatencies {
        entry,
        response,
        start_ns: 1_700_000_000_000_000_000,
        seconds,
        draws_per_second,
    }
}

fn blocks(blocks: &[&[(u64, u64)]]) -> Vec<CumulativeBlock> {
    blocks.iter().map(|block| CumulativeBlock::new(block)).collect()
}

/// Requests at random times meet the log's distribution: a tenth of this second is a pause.
#[test]
fn a_second_keeps_its_distribution_and_the_tail() {
    let log = blocks(&[&[(50_000, 90), (4_000_000, 10)], &[(60_000, 7)]]);
    let rows = of(100, 3).draw(&log, None);
    assert_eq!(rows.len(), 600);
    let entries = |second: usize| {
        let rows = &rows[200 * second..200 * (second + 1)];
        rows.iter().map(|row| row.exch_ts - row.req_ts).collect::<Vec<i64>>()
    };
    let paused = |entries: &[i64]| entries.iter().filter(|ns| **ns == 2_000_000).count();
    // The log has two seconds, so the third is the first one again, in another order.
    let (first, third) = (entries(0), entries(2));
    assert_eq!((paused(&first), paused(&entries(1)), paused(&third)), (20, 0, 20));
    assert_ne!(first, third);
    assert!(first.iter().all(|ns| [25_000, 2_000_000].contains(ns)), "{first:?}");
    // Constant between the two rows of a draw, which cover all of the time.
    for pair in rows.chunks(2) {
        assert_eq!(pair[0].exch_ts - pair[0].req_ts, pair[1].exch_ts - pair[1].req_ts);
        assert_eq!(pair[1].req_ts - pair[0].req_ts, 9_999_999);
    }
    assert!(rows.windows(2).all(|two| two[0].req_ts < two[1].req_ts));
}

/// The halves of a round trip are the round trip again, also of an odd one.
#[test]
fn a_round_trip_is_divided_and_two_ways_are_not() {
    let rows = of(10, 1).draw(&blocks(&[&[(777, 1)]]), None);
    assert!(
        rows.iter().all(|row| (row.exch_ts - row.req_ts, row.resp_ts - row.exch_ts) == (388, 389))
    );
    let rows = of(10, 1).draw(&blocks(&[&[(777, 1)]]), Some(&blocks(&[&[(111, 1)]])));
    assert!(
        rows.iter().all(|row| (row.exch_ts - row.req_ts, row.resp_ts - row.exch_ts) == (777, 111))
    );
}

/// The backtester asks for data at a multiple of 64 bytes in version 1.0 of the format.
#[test]
fn an_archive_holds_one_aligned_array() {
    let rows = of(10, 1).draw(&blocks(&[&[(1_000, 1)]]), None);
    let archive = npz(&rows).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    assert_eq!(archive.len(), 1);
    let mut array = Vec::new();
    archive.by_name("data.npy").unwrap().read_to_end(&mut array).unwrap();
    assert_eq!(&array[..8], b"\x93NUMPY\x01\x00");
    let data_at = PREAMBLE + usize::from(u16::from_le_bytes([array[8], array[9]]));
    assert_eq!(data_at % ALIGNMENT, 0);
    let header = std::str::from_utf8(&array[PREAMBLE..data_at]).unwrap();
    assert!(header.contains("('_padding', '<i8')]") && header.contains("(20,)"), "{header}");
    assert_eq!(array.len() - data_at, 20 * 32);
    let last = &array[array.len() - 32..];
    assert_eq!(last[..8], rows[19].req_ts.to_le_bytes());
    assert_eq!(last[24..], [0; 8]);
}

#[test]
fn an_error_names_the_limit() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/writers/c.hlog");
    let fails = |latencies: OrderLatencies| latencies.rows(log.as_ref()).unwrap_err().to_string();
    assert!(fails(of(0, 1)).contains("--draws-per-second is 0, but must be from 1 to 100000"));
    assert!(fails(of(1_000, 86_400)).contains("(limit rows_max) is 172800000, but must be"));
    assert!(fails(of(10, 1)).contains("it has no series \"rust.order.service\", but "));
}
