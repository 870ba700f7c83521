//! An exchange whose follower may take over tells what it knows only while it leads: each such
//! answer waits for a record of its own.

use crate::dialogue::Dialogue;
use crate::driven::config;
use exchange::{Config, Journal};
use journal::{Mode, Options, Replication, Shipping};
use std::path::Path;

fn dialogue(place: &Path, mode: Mode) -> (Dialogue, Shipping) {
    let replication = Some(Replication { mode, lag_max: 1000 });
    let options = Options { segment_bytes: 1 << 20, reserve_inputs: 100, ..Options::default() };
    let journal =
        Journal { directory: place.to_owned(), options: Options { replication, ..options } };
    let dialogue = Dialogue::new(Config { journal: Some(journal), ..config() });
    let shipping = dialogue.driven.exchange.journal_shipping().unwrap();
    (dialogue, shipping)
}

fn status(d: &mut Dialogue, client_id: &str) {
    d.say(0, &format!("{{'type':'ORDER_STATUS','client_id':'{client_id}'}}"));
}

/// All that they are told, and the number of records in the journal afterwards.
fn ask_everything(mode: Mode) -> (String, u64) {
    let place = tempfile::tempdir().unwrap();
    let (mut d, shipping) = dialogue(place.path(), mode);
    d.order(0, "open", "BUY", "1", "1");
    status(&mut d, "open");
    status(&mut d, "unknown");
    d.cancel(0, "unknown");
    d.amend(0, "unknown", "'price':'1','amount':'1'");
    d.order(0, "open", "BUY", "1", "1");
    // Invalid whatever is open.
    d.order(0, "invalid", "BUY", "0", "1");
    let told = d.told();
    d.driven.exchange.close_journal().unwrap();
    let replayed = journal::replay(place.path()).unwrap();
    assert_eq!(replayed.state_hash, d.driven.exchange.state_hash());
    assert_eq!(replayed.client_ids.cancel_on_disconnect().count(), 0);
    (told, shipping.written())
}

#[test]
fn an_answer_from_what_it_knows_has_a_record_of_its_own() {
    let (told, records) = ask_everything(Mode::Sync);
    assert!(told.contains("OPEN client_id=open"), "{told}");
    assert_eq!(told.matches("unknown order").count(), 3, "{told}");
    // A follower that may lag does not take over.
    let (told_async, records_async) = ask_everything(Mode::Async);
    assert_eq!(told, told_async);
    assert_eq!(records - records_async, 5);
}

#[test]
fn without_its_follower_it_tells_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (mut d, shipping) = dialogue(place.path(), Mode::Sync);
    d.order(0, "open", "BUY", "1", "1");
    shipping.set_lost(true);
    d.told();
    status(&mut d, "open");
    d.cancel(0, "unknown");
    d.order(0, "open", "BUY", "1", "1");
    let told = d.told();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(told.matches("the exchange's follower doesn't answer").count(), 3, "{told}");
    assert!(
        lines[0].contains("ERROR"),
        "a rejection would say that there is no such order: {told}"
    );
    assert!(lines[1].contains("REJECTED client_id=unknown"), "{told}");
    assert!(lines[2].contains("REJECTED client_id=open"), "{told}");
}
