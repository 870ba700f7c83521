//! MarketDataRequest, snapshots and increments, and SecurityList.

use crate::client::Received;
use crate::setup::{Client, Running, log_on, log_on_with};
use std::collections::BTreeMap;
use wire::decimal::Decimal;

fn start() -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    (folder, running)
}

fn limit(id: &str, side: u8, price: &str, quantity: &str) -> String {
    format!("35=D|11={id}|55=BTC_USDT|54={side}|60=@|38={quantity}|40=2|44={price}")
}

fn cancel(target: &str, id: &str, side: u8) -> String {
    format!("35=F|41={target}|11={id}|55=BTC_USDT|54={side}|60=@")
}

/// A request for bids, offers and trades of one symbol.
fn request(id: &str, kind: u8, depth: u16, more: &str) -> String {
    format!("35=V|262={id}|263={kind}|264={depth}{more}|267=3|269=0|269=1|269=2|146=1|55=BTC_USDT")
}

const UPDATES: &str = "|265=1";
const REFRESHES: &str = "|265=0";

/// `action type price amount` of each entry.
fn entries(message: &Received) -> Vec<String> {
    let all = |tag| message.all(tag).into_iter();
    let mut amounts = all(271);
    let entries = all(279).zip(all(269)).zip(all(270));
    entries
        .map(|((action, of), price)| match action {
            "2" => format!("{action} {of} {price}"),
            _ => format!("{action} {of} {price} {}", amounts.next().unwrap()),
        })
        .collect()
}

#[test]
fn a_snapshot_and_what_changes() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut taker = log_on(&running, "TAKER", "taker");
    let mut watcher = log_on(&running, "WATCHER", "watcher");
    maker.ask(&limit("b", 1, "99", "2")).has("150=0");
    let first = watcher.ask(&request("all", 1, 0, UPDATES));
    first.has("35=W|262=all|55=BTC_USDT|268=1|269=0|270=99|271=2");
    maker.ask(&limit("a", 2, "101", "3")).has("150=0");
    let new = watcher.read();
    new.has("35=X|262=all|268=1|55=BTC_USDT");
    assert_eq!(entries(&new), ["0 1 101 3"]);
    taker.ask(&limit("t", 1, "101", "1")).has("150=0");
    let traded = watcher.read();
    traded.has("35=X|262=all");
    assert_eq!(traded.all(278).len(), 1, "a trade has an id: {traded:?}");
    assert_eq!(traded.get(273).map(str::len), Some("10:00:00.000".len()));
    let mut of_trade = entries(&traded);
    if of_trade.len() < 2 {
        of_trade.extend(entries(&watcher.read()));
    }
    assert_eq!(of_trade, ["0 2 101 1", "1 1 101 2"]);
    maker.read().has("150=F|11=a");
    maker.ask(&cancel("b", "c", 1)).has("150=4");
    assert_eq!(entries(&watcher.read()), ["2 0 99"]);
    // The end of a subscription. The reply to a request shows that nothing comes.
    watcher.send("35=V|262=all|263=2|264=0|267=1|269=0|146=1|55=BTC_USDT");
    watcher.ask("35=H|11=x|55=BTC_USDT|54=1").has("35=8|150=I");
    maker.ask(&limit("d", 1, "98", "2")).has("150=0");
    watcher.ask("35=H|11=y|55=BTC_USDT|54=1").has("35=8|150=I");
    // Another one begins with the present book.
    let again = watcher.ask(&request("all", 1, 1, UPDATES));
    again.has("35=W|262=all|268=2|269=0|270=98|271=2");
}

#[test]
fn a_client_sees_as_many_prices_as_it_asks_for() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut watcher = log_on(&running, "WATCHER", "watcher");
    maker.ask(&limit("a", 2, "103", "3")).has("150=0");
    watcher.ask(&request("top", 1, 1, UPDATES)).has("35=W|268=1|269=1|270=103");
    watcher.ask(&request("whole", 1, 1, REFRESHES)).has("35=W|262=whole|268=1|270=103");
    maker.ask(&limit("b", 2, "102", "4")).has("150=0");
    assert_eq!(entries(watcher.read().has("262=top")), ["0 1 102 4", "2 1 103"]);
    watcher.read().has("35=W|262=whole|268=1|269=1|270=102|271=4");
    maker.ask(&limit("c", 2, "104", "5")).has("150=0");
    maker.ask(&cancel("b", "d", 2)).has("150=4");
    assert_eq!(entries(watcher.read().has("262=top")), ["2 1 102", "0 1 103 3"]);
    watcher.read().has("35=W|262=whole|268=1|269=1|270=103|271=3");
    // One snapshot, and no more.
    watcher.ask(&request("once", 0, 0, "")).has("35=W|262=once|268=2|270=103");
    maker.ask(&limit("e", 2, "105", "5")).has("150=0");
    watcher.ask("35=H|11=x|55=BTC_USDT|54=1").has("35=8|150=I");
}

#[test]
fn requests_that_can_not_be_met_say_why() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    client.ask(&request("a", 1, 0, UPDATES)).has("35=W|262=a|268=0");
    client.ask(&request("a", 1, 0, UPDATES)).has("35=Y|262=a|281=1");
    client.ask(&request("b", 1, 501, UPDATES)).has("35=Y|262=b|281=5");
    client.ask(&request("c", 1, 0, "")).has("35=Y|262=c|281=6");
    client.ask(&request("d", 1, 0, "|265=1|266=N")).has("35=Y|262=d|281=7");
    let unknown = request("e", 1, 0, UPDATES).replace("BTC_USDT", "NO_SUCH");
    client.ask(&unknown).has("35=Y|262=e|281=0|58=unknown Symbol (55) NO_SUCH");
    client.ask(&request("f", 2, 0, "")).has("35=Y|262=f|281=-");
    // As many as there may be.
    for n in 1..256 {
        client.ask(&request(&n.to_string(), 1, 1, UPDATES)).has("35=W");
    }
    let full = client.ask(&request("g", 1, 1, UPDATES));
    full.has("35=Y|262=g|281=2");
    assert!(full.get(58).unwrap().contains("SUBSCRIPTIONS_MAX"), "{full:?}");
}

#[test]
fn market_data_ends_with_the_connection_and_is_not_sent_again() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut client = log_on(&running, "FUND", "fund");
    client.ask(&limit("a", 2, "101", "3")).has("150=0|34=2");
    client.ask(&request("all", 1, 0, UPDATES)).has("35=W|34=3");
    let memory = client.cut();
    // Market data comes too, while the client is away or before the door knows that it is.
    maker.ask(&limit("m", 1, "101", "1")).has("150=0");
    maker.read().has("150=F");
    // Its answer comes after the report for the client.
    maker.ask(&cancel("x", "y", 1)).has("35=9");
    let mut client = log_on_with(&running, "FUND", "fund", memory);
    client.read().has("35=8|43=Y|150=F|11=a|32=1");
    client.ask("35=H|11=x|55=BTC_USDT|54=1").has("35=8|150=I|43=-");
    client.ask(&request("all", 1, 0, UPDATES)).has("35=W|268=1|270=101|271=2");
}

/// The door stops reading market data for a client that does not read its own.
#[test]
fn a_client_that_is_behind_gets_the_present_book_and_not_every_change() {
    const LEVELS: u64 = 450;
    const CHANGES: u64 = 1200;
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut watcher = log_on(&running, "WATCHER", "watcher");
    for n in 0..LEVELS {
        maker.send(&limit(&n.to_string(), 1, &format!("{}.01", 1000 + n), "2.0001"));
    }
    for _ in 0..LEVELS {
        maker.read().has("150=0");
    }
    watcher.ask(&request("all", 1, 0, REFRESHES)).has("35=W|268=450");
    for n in 0..CHANGES {
        maker.ask(&limit(&format!("n{n}"), 1, "900", "1")).has("150=0");
    }
    let last = (1 + CHANGES).to_string();
    maker.ask(&limit("last", 1, "900", "1")).has("150=0");
    let mut snapshots = 0;
    loop {
        let snapshot = watcher.read();
        snapshot.has("35=W|268=451");
        snapshots += 1;
        if snapshot.all(271).last() == Some(&last.as_str()) {
            break;
        }
    }
    assert!(snapshots < CHANGES / 2, "{snapshots} snapshots for {CHANGES} changes");
}

#[test]
fn securities_are_listed() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    let shipped = exchange::Instruments::shipped();
    let all = client.ask("35=x|320=r|559=4");
    all.has(&format!("35=y|320=r|560=0|893=Y|393={0}|146={0}", shipped.all().len()));
    let mut codes: Vec<&str> = shipped.all().iter().map(|it| it.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(all.all(55), codes);
    let one = client.ask("35=x|320=s|559=0|55=BTC_USDT");
    one.has("35=y|320=s|560=0|393=1|146=1|55=BTC_USDT|561=0.0001|562=0.0001");
    one.has("58=MinPriceIncrement=0.01");
    client.ask("35=x|320=t|559=0|55=NO_SUCH").has("35=y|320=t|560=2|146=-");
    client.ask("35=x|320=u|559=0").has("35=y|320=u|560=1|146=-");
}

/// Each client follows the book by the messages alone, at every depth, while another one trades.
#[test]
fn followers_of_any_depth_agree_with_a_new_snapshot() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut watcher = log_on(&running, "WATCHER", "watcher");
    let depths = [1u16, 3, 500];
    for depth in depths {
        watcher.ask(&request(&depth.to_string(), 1, depth, UPDATES)).has("35=W|268=0");
    }
    let mut state = 7u64;
    for n in 0..200 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let side = 1 + (state >> 40 & 1) as u8;
        let price = 100 + (state >> 33) % 12;
        maker.send(&limit(&format!("o{n}"), side, &price.to_string(), "1"));
        if n % 3 == 0 {
            maker.send(&cancel(&format!("o{}", n / 2), &format!("c{n}"), side));
        }
    }
    maker.send("35=H|11=end|55=BTC_USDT|54=1");
    while maker.read().get(11) != Some("end") {}
    let mut views: BTreeMap<String, BTreeMap<(String, Decimal), String>> = BTreeMap::new();
    let last = follow(&mut watcher, &mut views);
    for depth in depths {
        let wanted: Vec<_> = side_of(&last, "0", depth).chain(side_of(&last, "1", depth)).collect();
        let view = &views[&depth.to_string()];
        let mut wanted: Vec<_> = wanted;
        wanted.sort();
        let view: Vec<_> = view.iter().map(|(key, amount)| (key.clone(), amount.clone())).collect();
        assert_eq!(view, wanted, "depth {depth}");
    }
}

/// Takes increments until the snapshot that it asks for comes; returns that.
fn follow(
    watcher: &mut Client,
    views: &mut BTreeMap<String, BTreeMap<(String, Decimal), String>>,
) -> Received {
    loop {
        // The last change may come after a snapshot was asked for, so a second one must agree.
        watcher.send(&request("now", 0, 500, ""));
        let mut changes = 0;
        let snapshot = loop {
            let message = watcher.read();
            if message.get(262) == Some("now") {
                break message;
            }
            changes += 1;
            let view = views.entry(message.get(262).unwrap().to_owned()).or_default();
            for entry in entries(&message).iter().filter(|entry| !entry[2..].starts_with('2')) {
                let mut words = entry.split(' ');
                let action = words.next().unwrap();
                let key =
                    (words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap());
                let old = match action {
                    "2" => view.remove(&key),
                    _ => view.insert(key, words.next().unwrap().to_owned()),
                };
                assert_eq!(old.is_some(), action != "0", "{entry}");
            }
        };
        if changes == 0 {
            return snapshot;
        }
    }
}

/// The first `depth` entries of a type in a snapshot.
fn side_of<'a>(
    snapshot: &'a Received,
    of: &'a str,
    depth: u16,
) -> impl Iterator<Item = ((String, Decimal), String)> + 'a {
    let prices = snapshot.all(270).into_iter().zip(snapshot.all(271));
    let typed = snapshot.all(269).into_iter().zip(prices).filter(move |(it, _)| *it == of);
    let entry = move |(_, (price, amount)): (&str, (&str, &str))| {
        ((of.to_owned(), price.parse().unwrap()), amount.to_owned())
    };
    typed.map(entry).take(usize::from(depth)).collect::<Vec<_>>().into_iter()
}
