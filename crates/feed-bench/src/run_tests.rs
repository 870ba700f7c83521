use super::*;
use host::scheduling::Scheduling;
use plan::backend::Queue;

fn plan(directory: &Path, messages: u64) -> FeedPlan {
    FeedPlan {
        subject: "rust".to_owned(),
        own: Ipv4Addr::LOCALHOST,
        source_network: None,
        backend: "spin".to_owned(),
        queue: Queue::All,
        datagram_bytes: 1472,
        receive_buffer_bytes: 8 << 20,
        rate_per_second: 20_000.0,
        seed: 7,
        warm_up_messages: 1_000,
        messages,
        source_core: None,
        core: None,
        scheduling: Scheduling::Other,
        hlog: directory.join("001.hlog").display().to_string(),
    }
}

/// The values of a log's series, all intervals together.
fn recorded(plan: &FeedPlan, series: &str) -> u64 {
    let log = std::fs::read_to_string(&plan.hlog).unwrap();
    let totals = record::hlog::totals(log.as_bytes()).unwrap();
    totals.get(&format!("rust.{series}")).map_or(0, |values| values.len())
}

#[test]
fn all_messages_of_a_slow_feed_are_in_the_book() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), 4_000);
    let result = run(&plan, &AtomicBool::new(false)).unwrap();
    assert!(result.complete, "{:?}", result.failures);
    let (load, tick) = (&result.load, &result.load.tick[0]);
    assert!(load.warm_up_sent >= 1_000 && load.sent >= 4_000, "{load:?}");
    assert_eq!((load.lost, tick.gaps, tick.messages), (0, 0, load.sent));
    assert_eq!(tick.book_sequence, load.warm_up_sent + load.sent);
    assert!(!tick.book_hash.is_empty());
    assert_eq!(tick.book_hash, tick.exchange_book_hash);
    assert_eq!(recorded(&plan, "book.service"), tick.datagrams);
    assert_eq!(recorded(&plan, "normalise.service"), tick.datagrams);
}

/// A receive buffer that holds some datagrams, and a feed that is all due at once: the kernel drops
/// most of it. None of these may vanish from the figures.
#[test]
fn a_lost_book_is_in_the_figures() {
    let directory = tempfile::tempdir().unwrap();
    let plan = FeedPlan {
        receive_buffer_bytes: 1,
        rate_per_second: 1e9,
        ..plan(directory.path(), 200_000)
    };
    let result = run(&plan, &AtomicBool::new(false)).unwrap();
    let (load, tick) = (&result.load, &result.load.tick[0]);
    assert!(load.lost > 0 && load.received + load.lost == load.sent, "{load:?}");
    assert_eq!(tick.exchange_book_hash, "", "it had another book");
    let all = recorded(&plan, "book.service");
    assert!(all > tick.datagrams, "{all} latencies of {} datagrams", tick.datagrams);
    assert_eq!(recorded(&plan, "normalise.service"), tick.datagrams);
}

#[test]
fn a_run_that_is_told_to_stop_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let result = run(&plan(directory.path(), 2_000_000), &AtomicBool::new(true)).unwrap();
    assert!(!result.complete);
    assert!(result.failures[0].contains("told to stop"), "{:?}", result.failures);
}
