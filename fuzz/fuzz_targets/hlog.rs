//! An HdrHistogram log of any writer: its sums, and where its intervals lie in time.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    let (totals, error) = record::hlog::totals_so_far(log);
    assert!(error.is_some() || record::hlog::totals(log).unwrap() == totals);
    if let Ok((from, to)) = record::hlog::measured_part(log, "a") {
        assert!(from <= to, "{from} {to}");
    }
});
