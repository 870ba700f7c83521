//! Client, gateway and exchange are killed in turn, with orders under way.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;
use std::thread::JoinHandle;

fn journaled(log: &Path, listen: &str) -> (Child, String) {
    let mut child = tickpath()
        .args(["exchange", "--any-token", "--book", "empty", "--backend", "block"])
        .args(["--listen", listen, "--journal-mode", "sync", "--journal"])
        .arg(log)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (_, address) = listening(&mut child);
    (child, address)
}

fn order(name: &str) -> String {
    json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT", "client_id": name,
        "side": "BUY", "type": "LIMIT", "price": "100", "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}})
    .to_string()
}

fn login(address: &str, account: &str) -> Client {
    let mut client = Client::connect(address);
    let login = json!({"type": "AUTHENTICATE", "api_token": account});
    client.send(1, login.to_string().as_bytes());
    assert_eq!(client.told()[0]["type"], "AUTHENTICATED");
    client
}

/// Orders of `account`, one after the other, until the connection ends. Returns the numbers that
/// the exchange gave to those that it acknowledged. If nothing comes for 20 s instead of an end, it
/// panics.
fn trade_until_the_end(address: &str, account: &'static str) -> JoinHandle<Vec<String>> {
    let mut client = login(address, account);
    std::thread::spawn(move || {
        let mut booked = Vec::new();
        loop {
            let name = format!("{account}-{}", booked.len());
            match client.ask(order(&name).as_bytes()) {
                Ok(told) => {
                    assert_eq!(told["type"], "BOOKED", "{told}");
                    booked.push(told["order_id"].as_str().unwrap().to_owned());
                }
                Err(error) => {
                    let timed_out = error.kind() == std::io::ErrorKind::WouldBlock;
                    assert!(!timed_out, "{account} saw no end after {} orders", booked.len());
                    return booked;
                }
            }
        }
    })
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Each order that was acknowledged is open in the exchange that recovers, and each client whose
/// way to the exchange was cut saw an end. No other test takes a port of that address in between.
#[test]
fn kills_lose_no_order_that_was_acknowledged() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let (mut exchange, address) = journaled(&log, "127.0.0.6:0");
    let gateway = Gateway::start(&address, &[]);
    let mut second = Gateway::start(&address, &[]);
    let before = gateway.descriptors();

    // A client is killed. The gateway gives up its places, and the others go on.
    let through_first = trade_until_the_end(&gateway.address, "first");
    let through_second = trade_until_the_end(&second.address, "second");
    let hlog = place.path().join("trade.hlog").display().to_string();
    let mut client = tickpath()
        .args(["trade", "ping-pong", "--connect", &gateway.address, "--hlog", &hlog])
        .args(["--set", "seconds=60", "--set", "subject.rust.backend=block"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the client's connections", || (gateway.descriptors() > before + 2).then_some(()));
    kill(&mut client);
    wait_for("the end of its pairs", || (gateway.descriptors() == before + 2).then_some(()));
    assert!(!through_first.is_finished() && !through_second.is_finished());

    // A gateway is killed: its clients see the end, those of another gateway don't.
    std::thread::sleep(Duration::from_millis(200));
    kill(&mut second.child);
    let mut booked = vec![("second", through_second.join().unwrap())];
    assert!(!through_first.is_finished());

    // The exchange is killed: everybody sees the end, and the gateway stays.
    std::thread::sleep(Duration::from_millis(200));
    kill(&mut exchange);
    booked.push(("first", through_first.join().unwrap()));
    let mut early = TcpStream::connect(&gateway.address).unwrap();
    early.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let end = early.read(&mut [0]);
    assert!(end.as_ref().map_or(true, |n| *n == 0), "{end:?}");

    let (mut exchange, again) = journaled(&log, &address);
    assert_eq!(again, address);
    for (account, orders) in booked {
        assert!(!orders.is_empty(), "{account}");
        let mut client = login(&gateway.address, account);
        client.send(1, br#"{"type":"MASS_CANCEL"}"#);
        let mut open = BTreeSet::new();
        loop {
            let told: Value = serde_json::from_str(&client.next_text()).unwrap();
            if told["type"] == "MASS_CANCELLED" {
                break;
            }
            assert_eq!(told["status"], "CANCELLED", "{told}");
            open.insert(told["order_id"].as_str().unwrap().to_owned());
        }
        let lost: Vec<_> = orders.iter().filter(|order| !open.contains(*order)).collect();
        assert!(lost.is_empty(), "{account} lost {} of {}: {lost:?}", lost.len(), orders.len());
    }
    kill(&mut exchange);
}
