//! Datagrams of the feed that the kernel stamps on their way out, and how the stamps come back.

use crate::following::{Following, config};
use crate::running::{Running, cancel, order};
use clock::Clock;
use exchange::{Feed, Reach, Tokens};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{SocketAddrV4, UdpSocket};
use transport::datagram::{DatagramReceiver, DatagramSender, ReceiveOptions, SendOptions};

const DESCRIBE: &str = r#"{"type":"DESCRIBE"}"#;

/// Stamps every second datagram of what the connection gets already.
fn stamped(address: &str) -> String {
    format!(
        r#"{{"type":"SUBSCRIBE","channels":[{{"name":"FEED","depth":"ORDERS",{address}"stamp_every":2}}]}}"#
    )
}

fn unicast(following: &Following) -> String {
    stamped(&format!(r#""address":"{}","#, following.receiver.local_addr().unwrap()))
}

/// Trades until the exchange had time for its line of both clocks, and a while more.
fn trade(following: &mut Following) {
    for turn in 0..120 {
        following.client.ask(&order(&format!("o{turn}"), "BUY", "1", "1"));
        following.client.ask(&cancel(&format!("o{turn}")));
        following.turn();
        following.turn();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    following.settle();
}

fn departures(following: &mut Following) -> Value {
    let description: Value = serde_json::from_str(&following.client.ask(DESCRIBE)).unwrap();
    description["departures"].clone()
}

/// Each departure is that of a datagram that came, and later than its publication.
fn are_of(departures: &Value, following: &Following) {
    let published: BTreeMap<u64, u64> = following
        .live
        .iter()
        .map(|header| (header.sequence + u64::from(header.count) - 1, header.published_ns))
        .collect();
    let bound_ns = departures["bound_ns"].as_u64().unwrap();
    let all = departures["datagrams"].as_array().unwrap();
    assert!(all.len() > 20 && all.len() <= published.len() / 2 + 1, "{departures}");
    for one in all {
        let [number, queued_ns, driver_ns] = [0, 1, 2].map(|at| one[at].as_u64().unwrap());
        let published_ns = published[&number];
        assert!(driver_ns > 0 && queued_ns <= driver_ns, "{one}");
        assert!(driver_ns + 2 * bound_ns >= published_ns, "{one}, {published_ns}");
        assert!(driver_ns < published_ns + 1_000_000_000, "{one}, {published_ns}");
    }
}

#[test]
fn one_of_n_datagrams_is_stamped_for_the_subscriber_that_asked() {
    let running = Running::start(config());
    let mut asked = Following::new(&running, "1", "ORDERS");
    let mut other = Following::new(&running, "2", "ORDERS");
    let subscribe = unicast(&asked);
    assert!(asked.client.ask(&subscribe).contains("SUBSCRIPTIONS"));
    assert_eq!(departures(&mut asked)["datagrams"], serde_json::json!([]));
    asked.reach(0);
    trade(&mut asked);
    are_of(&departures(&mut asked), &asked);
    assert_eq!(departures(&mut other), Value::Null);
    // A subscription without stamps ends them.
    let plain = crate::following::subscribe(asked.receiver.local_addr().unwrap(), "ORDERS");
    asked.client.ask(&plain);
    assert_eq!(departures(&mut asked), Value::Null);
}

#[test]
fn only_an_operator_may_have_the_exchange_stamp() {
    let tokens = Tokens::parse("file", "[tokens]\n\"1\" = \"1\"\n[operators]\n\"op\" = \"op\"\n");
    let running = Running::start(exchange::Config { tokens: tokens.unwrap(), ..config() });
    let mut following = Following::new(&running, "1", "ORDERS");
    let subscribe = unicast(&following);
    let rejected = following.client.ask(&subscribe);
    assert!(rejected.contains("stamp_every: only an operator"), "{rejected}");
}

/// A group's datagrams leave once: each listener that asks gets the stamps of the same ones.
#[test]
fn listeners_to_a_group_share_its_stamps() {
    let (group, interface) = ([239, 255, 77, 2].into(), [127, 0, 0, 1].into());
    let options =
        ReceiveOptions { multicast: Some((group, interface)), ..crate::following::RECEIVE };
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let joined = DatagramReceiver::bind(([0, 0, 0, 0], port).into(), &options, Clock::calibrate());
    let outgoing = SendOptions { multicast_interface: Some(interface), ..SendOptions::default() };
    let can_send = DatagramSender::bind(([127, 0, 0, 1], 0).into(), &outgoing).is_ok();
    let (Ok(joined), true) = (joined, can_send) else {
        testing::skip!(Multicast, "no multicast on the loopback interface here");
    };
    let reach = Reach::Multicast { group: SocketAddrV4::new(group, port), interface };
    let feed = Some(Feed { reach, snapshot_seconds: 0.2, ..Feed::default() });
    let running = Running::start(exchange::Config { feed, ..config() });
    let mut asked = Following::listening(&running, "1", joined, "ORDERS");
    assert!(asked.client.ask(&stamped("")).contains("SUBSCRIPTIONS"));
    let mut later = running.login("2");
    assert!(later.ask(r#"{"type":"SUBSCRIBE","channels":[{"name":"FEED"}]}"#).contains("FEED"));
    trade(&mut asked);
    let departures = departures(&mut asked);
    are_of(&departures, &asked);
    let theirs: Value = serde_json::from_str(&later.ask(DESCRIBE)).unwrap();
    assert_eq!(theirs["departures"]["datagrams"], departures["datagrams"]);
}
