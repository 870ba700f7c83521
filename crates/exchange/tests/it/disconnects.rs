//! Cancel on disconnect holds across the loss of an exchange.

use crate::dialogue::Dialogue;
use crate::driven::config;
use crate::driven::sbe::SbeClient;
use exchange::{Config, Exchange, Journal};
use journal::{Mode, Options};
use std::path::Path;

const ASKS: &str = "'cancel_on_disconnect':true";

fn journaled(place: &Path) -> Config {
    let options = Options { mode: Mode::Async, segment_bytes: 1 << 20, ..Options::default() };
    let options = Options { reserve_inputs: 100, ..options };
    Config { journal: Some(Journal { directory: place.to_owned(), options }), ..config() }
}

fn log_in(d: &mut Dialogue, stream: u32, account: &str, more: &str) {
    d.say(stream, &format!("{{'type':'AUTHENTICATE','api_token':'{account}',{more}}}"));
}

/// The accounts that asked, as the journal says: `a` is 1.
fn asked(mut exchange: Exchange, place: &Path) -> Vec<u32> {
    exchange.close_journal().unwrap();
    journal::replay(place).unwrap().client_ids.cancel_on_disconnect().collect()
}

#[test]
fn an_account_that_does_not_come_back_has_its_orders_cancelled() {
    let place = tempfile::tempdir().unwrap();
    let mut d = Dialogue::new(journaled(place.path()));
    for (account, stream) in ["d", "e", "a"].into_iter().zip([3, 3, 0]) {
        log_in(&mut d, stream, account, ASKS);
    }
    log_in(&mut d, 3, "f", "'stamps':false");
    let mut order = |account: &str, stream| {
        let of = format!("'account_id':'{account}'");
        d.say(
            stream,
            &format!(
                "{{'type':'CREATE_ORDER',{of},'order':{{'instrument_code':'BTC_USDT',\
                 'client_id':'of-{account}','side':'BUY','type':'LIMIT','price':'10','amount':'1',\
                 'time_in_force':'GOOD_TILL_CANCELLED'}}}}"
            ),
        );
    };
    for (account, stream) in [("a", 0), ("b", 1), ("d", 3), ("e", 3), ("f", 3)] {
        order(account, stream);
    }
    assert_eq!(d.told().matches("BOOKED").count(), 5);
    // The exchange is lost, and the connections with it.
    assert_eq!(asked(d.driven.exchange, place.path()), [1, 4, 5]);

    // `a` and `e` come back, and ask no more; `b` and `f` never asked.
    let mut d = Dialogue::new(journaled(place.path()));
    let open = |d: &Dialogue| d.driven.exchange.engine().open_orders();
    d.driven.sweep_at(1);
    d.driven.sweep_at(5);
    assert_eq!(open(&d), 5);
    log_in(&mut d, 3, "e", "'stamps':false");
    d.driven.sweep_at(6);
    assert_eq!(open(&d), 4);
    assert_eq!(d.driven.exchange.counts().cancels_on_disconnect, 1);
    d.driven.sweep_at(7);
    d.told_unchecked();
    d.say(3, "{'type':'ORDER_STATUS','client_id':'of-e'}");
    assert!(d.told_unchecked().contains("OPEN"));
    log_in(&mut d, 3, "d", "'stamps':false");
    d.say(3, "{'type':'ORDER_STATUS','client_id':'of-d','account_id':'d'}");
    assert!(d.told_unchecked().contains("status=CANCELLED"));
    assert_eq!(asked(d.driven.exchange, place.path()), [0; 0]);

    let mut d = Dialogue::new(journaled(place.path()));
    (0..20).for_each(|seconds| d.driven.sweep_at(seconds));
    assert_eq!(open(&d), 4);
}

/// The journal follows the connections, in both dialects.
#[test]
fn the_journal_knows_who_asks() {
    let place = tempfile::tempdir().unwrap();
    let mut d = Dialogue::new(journaled(place.path()));
    log_in(&mut d, 0, "a", ASKS);
    log_in(&mut d, 0, "a", ASKS);
    log_in(&mut d, 1, "b", ASKS);
    log_in(&mut d, 1, "b", "'cancel_on_disconnect':false");
    log_in(&mut d, 2, "c", ASKS);
    d.order(2, "c", "BUY", "10", "1");
    d.driven.disconnect(2);
    d.driven.disconnect(3);
    d.driven.sweep();
    assert_eq!(d.driven.exchange.engine().open_orders(), 0);
    let mut sbe = SbeClient::stranger(3, "s");
    sbe.log_on(&mut d.driven, true);
    assert_eq!(asked(d.driven.exchange, place.path()), [1, 4]);
}
