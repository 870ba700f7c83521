//! A Databento file of any content: a book, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    if let Ok(orders) = flow::databento::live_orders_of(file, "fuzzed") {
        assert!(orders.iter().all(|order| order.size > 0));
    }
});
