//! Stamps on replies: in order, only for clients that asked for them, and only on their replies.

use crate::running::{Client, Running, cancel, immediate, order};
use clock::Clock;
use exchange::Config;
use serde_json::Value;
use std::collections::BTreeSet;

fn running() -> Running {
    Running::start(Config { clock: Some(Clock::calibrate()), ..crate::running::config() })
}

fn stamped(running: &Running, account: &str, stamps: bool) -> Client {
    let mut client = running.connect();
    let ask = format!(r#"{{"type":"AUTHENTICATE","api_token":"{account}","stamps":{stamps}}}"#);
    assert_eq!(client.ask(&ask), r#"{"type":"AUTHENTICATED"}"#);
    client
}

/// The type of a reply, and its stamps.
fn read(client: &mut Client) -> (String, Option<Vec<u64>>) {
    let reply = client.read();
    let value: Value = serde_json::from_str(&reply).unwrap();
    let kind = value["type"].as_str().unwrap().to_owned();
    let stamps = value.get("stamps").map(|stamps| {
        let end = reply.rsplit_once(r#","stamps":["#).expect("it is the last key").1;
        assert!(end.ends_with("]}") && !end.contains('"'), "{reply}");
        stamps.as_array().unwrap().iter().map(|stamp| stamp.as_u64().unwrap()).collect()
    });
    (kind, stamps)
}

#[test]
fn replies_are_stamped_on_request() {
    let running = running();
    let mut client = stamped(&running, "1", true);
    let mut stamps = BTreeSet::new();
    for (ask, kinds) in [
        (order("a", "BUY", "100", "1"), vec!["BOOKED"]),
        // A client id in use does not reach the engine; the other order the engine rejects.
        (order("a", "BUY", "100", "1"), vec!["REJECTED"]),
        (order("b", "BUY", "0.001", "1"), vec!["REJECTED"]),
        (immediate("c", "SELL", "100", "0.5"), vec!["FILL", "FILL", "DONE"]),
        (
            r#"{"type":"AMEND_ORDER","client_id":"a","instrument_code":"BTC_USDT","price":"99","amount":"1"}"#.into(),
            vec!["AMENDED", "BOOKED"],
        ),
        (cancel("a"), vec!["DONE"]),
        (cancel("a"), vec!["REJECTED"]),
        (r#"{"type":"MASS_CANCEL","client_id":"m"}"#.into(), vec!["MASS_CANCELLED"]),
    ] {
        client.send(&ask);
        for kind in kinds {
            let (is, of) = read(&mut client);
            assert_eq!(is, kind, "{ask}");
            let of = of.unwrap_or_else(|| panic!("{ask}: {kind} has no stamps"));
            assert!(of.len() == 4 && of.is_sorted() && of[0] > 0, "{of:?}");
            stamps.insert(of[0]);
        }
    }
    // Eight requests, each in its own read.
    assert_eq!(stamps.len(), 8);
    // Only orders have stamps.
    client.send(r#"{"type":"SUBSCRIBE","channels":[{"name":"ORDERS"}]}"#);
    assert_eq!(read(&mut client), ("SUBSCRIPTIONS".to_owned(), None));
}

/// Reports caused by another client's request have no stamps.
#[test]
fn others_replies_are_as_ever() {
    let running = running();
    let mut client = stamped(&running, "1", true);
    let mut other = running.login("2");
    other.send(&order("o", "BUY", "100", "1"));
    assert_eq!(read(&mut other), ("BOOKED".to_owned(), None));
    client.send(&immediate("c", "SELL", "100", "1"));
    assert!(read(&mut client).1.is_some());
    for kind in ["FILL", "DONE"] {
        assert_eq!(read(&mut other), (kind.to_owned(), None));
    }
    assert!(read(&mut client).1.is_some());
    other.send(&order("p", "BUY", "100", "1"));
    assert_eq!(read(&mut other), ("BOOKED".to_owned(), None));
    other.send(&immediate("q", "SELL", "100", "1"));
    for kind in ["FILL", "FILL", "DONE", "DONE"] {
        assert_eq!(read(&mut other), (kind.to_owned(), None));
    }
    // The same key switches stamps off; an authentication without the key changes nothing.
    client.authenticate("3");
    client.send(&order("d", "BUY", "100", "1"));
    assert!(read(&mut client).1.is_some());
    client.send(r#"{"type":"AUTHENTICATE","api_token":"1","stamps":false}"#);
    assert_eq!(read(&mut client), ("AUTHENTICATED".to_owned(), None));
    client.send(&cancel("d"));
    assert_eq!(read(&mut client), ("DONE".to_owned(), None));
}

/// A new connection with a reused number does not inherit the old one's options.
#[test]
fn a_wish_ends_with_its_connection() {
    let running = running();
    for stamps in [true, false] {
        let mut client = match stamps {
            true => stamped(&running, "1", true),
            false => running.login("1"),
        };
        client.send(&immediate("c", "SELL", "100", "1"));
        assert_eq!(read(&mut client).1.is_some(), stamps);
    }
}
