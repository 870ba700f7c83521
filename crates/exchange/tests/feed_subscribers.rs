//! Who is not subscribed to the feed, and what that costs.

mod following;
mod running;

use following::{Following, config, subscribe};
use running::Running;

fn depths(following: &mut Following) -> Vec<String> {
    let description = following.describe();
    let feeds = description["feeds"].as_array().unwrap();
    feeds.iter().map(|feed| feed["depth"].as_str().unwrap().to_owned()).collect()
}

/// We send from an IPv4 socket; what is confirmed comes.
#[test]
fn where_nothing_can_be_sent_nobody_is_subscribed() {
    let running = Running::start(config());
    let mut client = running.login("1");
    for address in ["[::1]:4000", "127.0.0.1:0"] {
        let refused = client.ask(&subscribe(address.parse().unwrap(), "ORDERS"));
        assert!(refused.contains(r#""type":"ERROR""#), "{refused}");
        assert!(refused.contains(address) && refused.contains("an IPv4 address"), "{refused}");
    }
    client.nothing_more();
}

/// Each input is encoded for a channel from when somebody has it: who is refused is nobody.
#[test]
fn one_who_is_refused_begins_no_channel() {
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
        let refused = client.ask(&ask);
        assert!(refused.contains(r#""type":"ERROR""#), "{refused}");
    }
    assert_eq!(depths(&mut orders), ["ORDERS"]);
}
