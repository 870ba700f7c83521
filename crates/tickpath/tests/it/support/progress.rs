//! The lines that a client in another language prints while it measures.

use super::{Exchange, text};
use record::ClientResult;
use record::progress::{ProgressLine, Second};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// Carries a plan out against our exchange. Its seconds, and the result, which is the last line.
fn watched(client: &mut Command, model: &str, progress: bool) -> (Vec<Second>, ClientResult) {
    let exchange = Exchange::start(&["--any-token"]);
    let log = tempfile::NamedTempFile::new().unwrap();
    let plan = json!({
        "subject": "watched", "target": exchange.address, "wire": "websocket-json",
        "backend": "block", "core": null, "scheduling": "other", "warm_up_seconds": 0.2,
        "seconds": 2.0, "hlog": log.path(), "progress": progress,
        "load": {"model": model, "rate_per_second": 1000.0, "arrival": "uniform", "burst": 1,
                 "seed": 1, "accounts": 1, "connections": 1, "cancel_after": 1,
                 "instrument": "BTC_USDT", "side": "BUY", "price": "1", "amount": "1",
                 "first_token": 3001},
    });
    let mut child = client
        .args(["--plan", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One line, and the end of the file.
    child.stdin.take().unwrap().write_all(format!("{plan}\n").as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let printed = text(&done.stdout);
    assert!(done.status.success(), "{printed}{}", text(&done.stderr));
    let lines: Vec<&str> = printed.lines().collect();
    let (result, lines) = lines.split_last().expect("a result");
    let second = |line: &&str| serde_json::from_str::<ProgressLine>(line).expect(line).progress;
    let seconds = lines.iter().map(second).collect();
    (seconds, serde_json::from_str(result).expect("a result"))
}

/// Checks a client's seconds in both models against the counts of its result. `client` makes its
/// command, without the plan.
pub fn seconds_agree_with_the_result(client: impl Fn() -> Command) {
    for (model, series) in [("open", "order.response"), ("ping-pong", "order.service")] {
        let (seconds, result) = watched(&mut client(), model, true);
        assert!(result.complete, "{:?}", result.failures);
        assert!(!seconds.is_empty(), "{model}");
        let mut before = 0.0;
        let (mut messages, mut latencies) = (0.0, 0);
        for second in &seconds {
            assert_eq!(second.series, series);
            messages += second.messages_per_second * (second.seconds - before);
            assert!(second.seconds > before, "{seconds:?}");
            before = second.seconds;
            let count: u64 = second.buckets.iter().map(|(_, count)| count).sum();
            latencies += count;
            assert_eq!(second.p50_ns.is_some(), count >= 20, "{second:?}");
            assert_eq!(second.p99_ns.is_some(), count >= 1000, "{second:?}");
            assert_mean_is_within_the_buckets(second, count);
        }
        // A fragment at the end has no line, and no more than half a second.
        let (sent, orders) = (result.load.sent as f64, result.load.received / 2);
        assert!(messages > 0.3 * sent && messages < 1.01 * sent + 1.0, "{messages} {sent}");
        assert!(latencies > 0 && latencies <= orders + 1, "{latencies} {orders}");
    }
    let (seconds, result) = watched(&mut client(), "open", false);
    assert!(seconds.is_empty() && result.complete, "nobody watches: {seconds:?}");
}

fn assert_mean_is_within_the_buckets(second: &Second, count: u64) {
    let bounds_ns = |shift: i32| -> f64 {
        let upper = |index: i32| stats::buckets::bound_seconds(index + shift) * 1e9;
        second.buckets.iter().map(|&(index, n)| upper(index) * n as f64).sum::<f64>()
    };
    let sum_ns = second.sum_ns as f64;
    // The histogram keeps three digits.
    let holds = bounds_ns(-1) * 0.998 <= sum_ns && sum_ns <= bounds_ns(0) * 1.002;
    assert!(holds && second.buckets.is_sorted(), "{count} {second:?}");
}
