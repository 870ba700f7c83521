//! Connections without a subscription to the feed, and the cost of replays.

use crate::following::{Following, config, subscribe};
use crate::running::Running;

fn depths(following: &mut Following) -> Vec<String> {
    let description = following.describe();
    let feeds = description["feeds"].as_array().unwrap();
    feeds.iter().map(|feed| feed["depth"].as_str().unwrap().to_owned()).collect()
}

/// The exchange sends from an IPv4 socket: it rejects other addresses, and confirmed ones work.
#[test]
fn where_nothing_can_be_sent_nobody_is_subscribed() {
    let running = Running::start(config());
    let mut client = running.login("1");
    for address in ["[::1]:4000", "127.0.0.1:0"] {
        let rejected = client.ask(&subscribe(address.parse().unwrap(), "ORDERS"));
        assert!(rejected.contains(r#""type":"ERROR""#), "{rejected}");
        assert!(rejected.contains(address) && rejected.contains("an IPv4 address"), "{rejected}");
    }
    client.nothing_more();
}

/// A channel is encoded once it has a subscriber; a rejected subscription does not start it.
#[test]
fn a_rejected_subscription_starts_no_channel() {
    let mut config = config();
    config.limits.feed_subscribers_max = 1;
    let running = Running::start(config);
    let mut orders = Following::new(&running, "1", "ORDERS");
    let mut client = running.login("2");
    let asks = [
        subscribe(orders.receiver.local_addr().unwrap(), "LEVELS"),
        subscribe("[::1]:4000".parse().unwrap(), "LEVELS"),
        r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED","depth":"LEVELS"}]}"#.to_owned(),
    ];
    for ask in asks {
        let rejected = client.ask(&ask);
        assert!(rejected.contains(r#""type":"ERROR""#), "{rejected}");
    }
    assert_eq!(depths(&mut orders), ["ORDERS"]);
}

/// Issue 13: each subscriber had its own rate, and sixteen together got 444 MB/s of snapshots.
#[test]
fn snapshots_and_replays_share_one_rate() {
    const PER_SECOND: u32 = 500;
    let mut config = config();
    config.limits.feed_resent_per_second_max = PER_SECOND;
    let running = Running::start(config);
    let mut all: Vec<Following> = [("1", "ORDERS"), ("2", "ORDERS"), ("3", "LEVELS")]
        .map(|(account, depth)| Following::new(&running, account, depth))
        .into();
    let begin = std::time::Instant::now();
    let mut came = [0_u32; 3];
    while begin.elapsed() < std::time::Duration::from_secs(2) {
        for (following, came) in all.iter_mut().zip(&mut came) {
            following.client.send(r#"{"type":"FEED_SNAPSHOT"}"#);
            while following.receive().is_some() {
                *came += 1;
            }
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    // Heartbeats come as well, ten a second to each at most.
    let heartbeats = 3.0 * (elapsed * 10.0 + 1.0);
    let most = f64::from(PER_SECOND) * elapsed + heartbeats + 10.0;
    let sum: u32 = came.iter().sum();
    assert!(f64::from(sum) <= most, "{came:?} in {elapsed} s");
    // Each has its share.
    assert!(came.iter().all(|came| *came > 20), "{came:?} in {elapsed} s");
}
