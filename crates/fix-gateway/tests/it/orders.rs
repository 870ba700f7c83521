//! Orders: each message of the application, and the reports about it.

use crate::setup::{Running, log_on};
use std::time::Duration;

/// A limit order of BTC_USDT.
fn limit(id: &str, side: u8, price: &str, quantity: &str) -> String {
    format!("35=D|11={id}|55=BTC_USDT|54={side}|60=@|38={quantity}|40=2|44={price}")
}

fn start() -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path());
    (folder, running)
}

#[test]
fn an_order_is_acknowledged_and_cancelled() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    let new = client.ask(&limit("a", 1, "100", "2"));
    new.has("35=8|11=a|150=0|39=0|1=fund|55=BTC_USDT|54=1|38=2|40=2|44=100|151=2|14=0|6=0");
    let order_id = new.get(37).unwrap().to_owned();
    let status = client.ask("35=H|11=a|790=s|55=BTC_USDT|54=1");
    status.has("35=8|150=I|39=0|11=a|790=s|151=2").has(&format!("37={order_id}"));
    let done = client.ask("35=F|41=a|11=b|55=BTC_USDT|54=1|60=@");
    done.has("35=8|150=4|39=4|11=b|41=a|151=0|14=0").has(&format!("37={order_id}"));
    let late = client.ask("35=F|41=a|11=c|55=BTC_USDT|54=1|60=@");
    late.has("35=9|11=c|41=a|39=4|434=1|102=0");
    let unknown = client.ask("35=F|41=zzz|11=d|55=BTC_USDT|54=1|60=@");
    unknown.has("35=9|11=d|41=zzz|39=8|434=1|102=1|37=NONE");
    client.ask("35=H|11=zzz|55=BTC_USDT|54=1").has("35=8|150=I|39=8|37=NONE");
    assert_eq!(running.stop().logons, 1);
}

#[test]
fn trades_count_on_both_sides() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut taker = log_on(&running, "TAKER", "taker");
    maker.ask(&limit("m1", 2, "100", "1")).has("150=0");
    maker.ask(&limit("m2", 2, "103", "5")).has("150=0");
    taker.ask(&limit("t", 1, "103", "3")).has("150=0|39=0|151=3");
    taker.read().has("150=F|39=1|32=1|31=100|151=2|14=1|6=100");
    taker.read().has("150=F|39=2|32=2|31=103|151=0|14=3|6=102");
    maker.read().has("11=m1|150=F|39=2|32=1|31=100|151=0|14=1");
    maker.read().has("11=m2|150=F|39=1|32=2|31=103|151=3|14=2|38=5");
    // The part that does not trade at once ends.
    let ioc = limit("i", 1, "103", "4") + "|59=3";
    taker.ask(&ioc).has("150=0");
    taker.read().has("150=F|39=1|32=3|151=1|14=3");
    taker.read().has("150=C|39=C|11=i|151=0|14=3");
    maker.read().has("11=m2|150=F|39=2|151=0|14=5");
    maker.ask(&limit("m3", 2, "104", "1")).has("150=0");
    taker.ask("35=D|11=mkt|55=BTC_USDT|54=1|60=@|38=1|40=1").has("150=0|40=1|44=-");
    taker.read().has("150=F|39=2|31=104");
}

#[test]
fn an_order_is_replaced() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    client.ask(&limit("a", 1, "100", "2")).has("150=0");
    let replace = "35=G|41=a|11=b|55=BTC_USDT|54=1|60=@|38=3|40=2|44=101";
    client.ask(replace).has("150=5|39=0|11=b|41=a|38=3|44=101|151=3");
    client.ask(replace).has("35=9|11=b|41=a|434=2|102=1");
    let smaller = "35=G|41=b|11=c|55=BTC_USDT|54=1|60=@|38=0|40=2|44=101";
    client.ask(smaller).has("35=9|11=c|41=b|434=2|39=0|102=2");
    client.ask("35=F|41=b|11=d|55=BTC_USDT|54=1|60=@").has("150=4|11=d|41=b");
}

#[test]
fn mass_cancels_count_what_they_cancelled() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    for id in ["a", "b"] {
        client.ask(&limit(id, 1, "100", "2")).has("150=0");
    }
    client.ask(&limit("c", 2, "200", "2")).has("150=0");
    client.ask("35=q|11=q1|530=1|55=BTC_USDT|54=1|60=@").has("150=4|39=4|41=-");
    client.read().has("150=4|39=4");
    client.read().has("35=r|11=q1|530=1|531=1|533=2");
    client.ask("35=q|11=q2|530=7|60=@").has("150=4|11=c");
    client.read().has("35=r|11=q2|530=7|531=7|533=1");
    client.ask("35=q|11=q3|530=1|55=NO_SUCH|60=@").has("35=r|11=q3|531=0|532=1");
}

#[test]
fn rejects_say_why() {
    let (_folder, running) = start();
    let mut client = log_on(&running, "FUND", "fund");
    let unknown = "35=D|11=a|55=NO_SUCH|54=1|60=@|38=1|40=2|44=100";
    client.ask(unknown).has("35=8|150=8|39=8|11=a|103=99|151=0|37=NONE");
    client.ask(&limit("b", 1, "100", "2")).has("150=0");
    client.ask(&limit("b", 1, "100", "2")).has("150=8|39=8|11=b|103=6");
    // The first one is still open.
    client.ask("35=H|11=b|55=BTC_USDT|54=1").has("150=I|39=0");
    let no_price = "35=D|11=c|55=BTC_USDT|54=1|60=@|38=1|40=2";
    client.ask(no_price).has("35=j|372=D|379=c|380=5");
    let other = limit("d", 1, "100", "2") + "|1=somebody";
    client.ask(&other).has("35=j|372=D|380=6");
    let unsupported = "35=9|37=x|11=e|41=f|39=8|434=1";
    client.ask(unsupported).has("35=j|372=9|380=3|58=Unsupported message type");
    // Case 19: an order that may have come before.
    client.ask(&limit("b", 1, "100", "2").replace("35=D", "35=D|97=Y")).has("150=I|11=b|39=0");
    client.ask(&limit("g", 1, "100", "2").replace("35=D", "35=D|97=Y")).has("150=0|11=g");
}

#[test]
fn stops_wait_and_are_triggered() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut taker = log_on(&running, "TAKER", "taker");
    let stop = "35=D|11=s|55=BTC_USDT|54=1|60=@|38=1|40=4|44=110|99=105";
    taker.ask(stop).has("150=0|39=0|40=4|44=110|99=105");
    let replace = "35=G|41=s|11=r|55=BTC_USDT|54=1|60=@|38=1|40=4|44=110|99=106";
    taker.ask(replace).has("35=9|11=r|41=s|434=2|102=2|58=StopPx (99) can't change");
    maker.ask(&limit("m", 2, "105", "1")).has("150=0");
    taker.ask(&limit("t", 1, "105", "1")).has("150=0|11=t");
    taker.read().has("150=F|11=t|39=2");
    taker.read().has("150=D|11=s|39=0|58=triggered");
    taker.ask("35=H|11=s|55=BTC_USDT|54=1").has("150=I|39=0|151=1");
}

#[test]
fn a_post_only_order_is_rejected_or_repriced() {
    let (_folder, running) = start();
    let mut maker = log_on(&running, "MAKER", "maker");
    let mut taker = log_on(&running, "TAKER", "taker");
    maker.ask(&limit("m", 2, "105", "1")).has("150=0");
    let post_only = |id: &str, more: &str| limit(id, 1, "106", "1") + "|18=6" + more;
    taker.ask(&post_only("a", "")).has("150=8|39=8|11=a");
    taker.ask(&post_only("b", "|8021=N")).has("150=8|39=8|11=b");
    taker.ask(&post_only("c", "|8021=Y")).has("150=0|39=0|11=c|44=104.99|151=1");
    taker.ask("35=H|11=c|55=BTC_USDT|54=1").has("150=I|39=0|44=104.99");
    taker.ask(&(limit("d", 1, "106", "1") + "|8021=Y")).has("35=j|380=5|379=d");
    let replace = "35=G|41=c|11=e|55=BTC_USDT|54=1|60=@|38=2|40=2|44=107";
    taker.ask(replace).has("150=5|11=e|41=c|38=2|44=104.99");
    let stop = post_only("s", "|8021=Y|99=107").replace("|40=2", "|40=4");
    taker.ask(&stop).has("150=8|39=8|11=s");
}

/// Both answer the first tick. The order comes first and claims 50 ms, the replacement claims 1 ms.
#[test]
fn orders_and_replacements_carry_delivery_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::with_window(folder.path(), 2_000_000);
    let (mut slow, mut fast) = (log_on(&running, "SLOW", "slow"), log_on(&running, "FAST", "fast"));
    let mut maker = log_on(&running, "MAKER", "maker");
    maker.ask(&limit("m", 2, "100", "1")).has("150=0");
    fast.ask(&limit("f", 1, "50", "1")).has("150=0");
    std::thread::sleep(Duration::from_millis(60));
    let clock = "|8014=1|8015=";
    slow.send(&(limit("s", 1, "100", "1") + "|59=3" + clock + "50000000"));
    // The other connection's message must not be read before this one's.
    std::thread::sleep(Duration::from_millis(60));
    let replace = "35=G|41=f|11=g|55=BTC_USDT|54=1|60=@|38=1|40=2|44=100";
    fast.send(&format!("{replace}{clock}1000000"));
    fast.read().has("150=5|11=g|41=f");
    fast.read().has("150=F|39=2|11=g|31=100|151=0");
    slow.read().has("150=0|11=s");
    slow.read().has("150=C|39=C|11=s|14=0");
    for (half, lacking) in [("|8014=1", "tag 8015"), ("|8015=1", "tag 8014")] {
        let reject = slow.ask(&(limit("h", 1, "50", "1") + half));
        reject.has("35=j|380=5|379=h");
        assert!(reject.get(58).unwrap().contains(lacking), "{reject:?}");
    }
    slow.ask(&(limit("n", 1, "50", "1") + clock + "-5")).has("35=j|380=0|379=n");
    let counts = running.stop_both().1.deliveries.unwrap();
    assert_eq!((counts.held, counts.overtook, counts.late), (2, 1, 0), "{counts:?}");
}
