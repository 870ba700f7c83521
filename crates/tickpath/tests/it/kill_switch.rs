//! A kill switch that an operator throws over JSON holds in every dialect.

use crate::support::websocket;
use crate::{fix, sbe};
use std::net::TcpStream;
use std::time::Duration;
use transport::Connection;
use wire::request::Side;

#[test]
fn a_kill_switch_over_json_holds_over_fix_and_sbe() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.toml");
    std::fs::write(&tokens, "[tokens]\nfund = \"fund\"\n[operators]\nsecret = \"desk\"\n").unwrap();
    let tokens = tokens.display().to_string();
    let exchange = fix::Exchange::start(&folder.path().join("store"), &["--tokens", &tokens]);
    let address = exchange.ready["listening"].as_str().unwrap();

    let password = fix::password("fund");
    let stream = Connection::from(exchange.dial());
    let mut over_fix = fix::Client::connect(stream, "FUND", password, Default::default());
    assert_eq!(over_fix.next().err(), None);
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut over_sbe, _) = sbe::Client::new(Box::new(stream), "fund", (0, 0));
    over_fix.ask(&fix::limit("f1", 1, "1")).has("150=0|11=f1");
    over_sbe.order("s1", Side::Buy);
    sbe::is(over_sbe.report(), (1, "booked", "s1"));

    let mut operator = websocket::Client::connect(address);
    let mut ask = |text: &str| {
        operator.send(1, text.as_bytes());
        operator.next_text()
    };
    ask(r#"{"type":"AUTHENTICATE","api_token":"secret"}"#);
    let kill = |on| format!(r#"{{"type":"KILL_SWITCH","account_id":"fund","on":{on}}}"#);
    assert!(ask(&kill(true)).contains("\"APPLIED\""));
    // Open orders are cancelled, and new ones are rejected.
    over_fix.read().has("150=4|11=f1");
    sbe::is(over_sbe.report(), (2, "done", "s1"));
    over_fix.ask(&fix::limit("f2", 1, "1")).has("150=8|11=f2");
    over_sbe.order("s2", Side::Buy);
    sbe::is(over_sbe.report(), (3, "rejected", "s2"));

    assert!(ask(&kill(false)).contains("\"APPLIED\""));
    over_fix.ask(&fix::limit("f3", 1, "1")).has("150=0|11=f3");
    over_sbe.order("s3", Side::Buy);
    sbe::is(over_sbe.report(), (4, "booked", "s3"));
}
