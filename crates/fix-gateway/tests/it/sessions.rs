//! Sessions: logon, cuts, what comes meanwhile, and a door that starts again.

use crate::setup::{Running, connect, dial, log_on, log_on_with};
use fix::store::MemoryStore;
use std::io::{Read, Write};

fn limit(id: &str, side: u8, quantity: &str) -> String {
    format!("35=D|11={id}|55=BTC_USDT|54={side}|60=@|38={quantity}|40=2|44=100")
}

#[test]
fn reports_of_a_session_without_a_client_come_after_its_next_logon() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut maker = log_on(&running, "MAKER", "maker");
    maker.ask(&limit("m", 2, "3")).has("150=0");
    let memory = maker.cut();
    let mut taker = log_on(&running, "TAKER", "taker");
    taker.ask(&limit("t", 1, "2")).has("150=0");
    taker.read().has("150=F|39=2");
    // Its answer comes after the report for the maker.
    taker.ask("35=F|41=x|11=y|55=BTC_USDT|54=1|60=@").has("35=9");
    let mut maker = log_on_with(&running, "MAKER", "maker", memory);
    maker.read().has("43=Y|11=m|150=F|39=1|32=2|14=2|151=1");
    maker.ask("35=F|41=m|11=n|55=BTC_USDT|54=2|60=@").has("43=-|150=4|11=n|14=2");
    assert_eq!(maker.log_out(), "logged out");
}

#[test]
fn a_door_that_starts_again_knows_its_numbers_and_orders() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut client = log_on(&running, "FUND", "fund");
    client.ask(&limit("a", 1, "2")).has("34=2|150=0");
    let memory = client.cut();
    running.stop();
    // The exchange has no journal, so the order itself is gone.
    let running = Running::start(folder.path());
    let mut client = log_on_with(&running, "FUND", "fund", memory);
    client.ask("35=F|41=a|11=b|55=BTC_USDT|54=1|60=@").has("35=9|41=a|39=0|102=2");
    client.ask("35=H|11=a|55=BTC_USDT|54=1").has("150=I|39=8|103=5|11=a|37=NONE");
}

#[test]
fn a_client_that_asked_for_it_has_its_orders_cancelled_when_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut client = connect(&running, "FUND", "fund", (MemoryStore::default(), true));
    assert_eq!(client.next(), Ok(None));
    client.ask(&limit("a", 1, "2")).has("150=0");
    let memory = client.cut();
    let mut client = log_on_with(&running, "FUND", "fund", memory);
    client.read().has("150=4|39=4|11=a|151=0");
}

#[test]
fn two_sessions_of_an_account_see_only_their_own_orders() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut one = log_on(&running, "ONE", "fund");
    let mut two = log_on(&running, "TWO", "fund");
    one.ask(&limit("a", 1, "2")).has("11=a|150=0|34=2");
    two.ask(&limit("b", 1, "2")).has("11=b|150=0|34=2");
    one.ask(&limit("c", 1, "2")).has("11=c|150=0|34=3");
}

/// The exchange knows how the account's orders stand, whichever session sent them.
#[test]
fn a_session_without_reports_of_an_order_learns_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut one = log_on(&running, "ONE", "fund");
    let mut two = log_on(&running, "TWO", "fund");
    let order_id = one.ask(&limit("a", 1, "2")).get(37).unwrap().to_owned();
    let ask = "35=H|11=a|790=q|55=BTC_USDT|54=1";
    let open = two.ask(ask);
    open.has("35=8|150=I|39=0|11=a|790=q|55=BTC_USDT|54=1").has(&format!("37={order_id}"));
    assert!(open.get(58).unwrap().contains("LeavesQty (151)"), "{open:?}");
    one.ask("35=F|41=a|11=b|55=BTC_USDT|54=1|60=@").has("150=4|39=4");
    let ended = two.ask(ask);
    ended.has("35=8|150=I|39=4|11=a|790=q|151=0").has(&format!("37={order_id}"));
    assert!(!ended.get(58).unwrap().contains("LeavesQty"), "{ended:?}");
    one.ask(ask).has("150=I|39=4|11=a|790=q|151=0|38=2|58=-");
}

/// Case 1S.b: the first connection goes on.
#[test]
fn a_second_logon_of_a_connected_session_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut first = log_on(&running, "FUND", "fund");
    let mut second = connect(&running, "FUND", "fund", Default::default());
    assert_eq!(second.next(), Err("closed".to_owned()));
    first.ask(&limit("a", 1, "2")).has("150=0");
    assert_eq!(running.stop().duplicate_logons, 1);
}

#[test]
fn a_connection_without_an_authentic_logon_gets_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    for hello in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"8=FIX.4.2\x019=5\x0135=0\x0110=000\x01"] {
        let mut stream = dial(&running);
        stream.write_all(hello).unwrap();
        assert_eq!(stream.read(&mut [0; 100]).unwrap_or(0), 0);
    }
    for (comp_id, account) in [("FUND", "wrong"), ("A_NAME_THAT_IS_MUCH_TOO_LONG_FOR_US", "fund")] {
        let mut client = connect(&running, comp_id, account, Default::default());
        assert_eq!(client.next(), Err("closed".to_owned()));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no store was made");
    let counts = running.stop();
    assert_eq!((counts.no_logon, counts.failed_logins, counts.logons), (2, 2, 0));
}

/// The exchange's last line says why, and not only how many.
#[test]
fn a_session_without_a_store_is_closed_and_the_reason_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fund@FUND.fix"), "a letter to somebody").unwrap();
    let running = Running::start(folder.path());
    for _ in 0..2 {
        let mut client = connect(&running, "FUND", "fund", Default::default());
        assert_eq!(client.next(), Err("closed".to_owned()));
    }
    log_on(&running, "OTHER", "fund").ask(&limit("a", 1, "2")).has("150=0");
    let counts = running.stop();
    assert_eq!((counts.unavailable, counts.logons), (2, 1));
    let because = counts.unavailable_because.unwrap();
    assert!(because.contains("fund@FUND.fix is no message store"), "{because}");
}

#[test]
fn an_exchange_that_stops_logs_its_clients_out() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    let mut client = log_on(&running, "FUND", "fund");
    running.stop();
    assert_eq!(client.next(), Err("logged out".to_owned()));
}

/// A session is a connection of the exchange. Without a place for it the client gets no answer, and
/// may come again when there is one.
#[test]
fn a_client_of_a_full_exchange_is_closed() {
    let store = tempfile::tempdir().unwrap();
    let running = Running::with_connections(store.path(), 1);
    let one = log_on(&running, "ONE", "fund");
    let mut two = connect(&running, "TWO", "fund", (MemoryStore::default(), false));
    assert_eq!(two.next(), Err("closed".to_owned()));
    let memory = one.cut();
    // The first session keeps its connection to the exchange, for reports.
    log_on_with(&running, "ONE", "fund", memory).cut();
    let counts = running.stop();
    assert_eq!((counts.logons, counts.unavailable), (2, 1), "{counts:?}");
}
