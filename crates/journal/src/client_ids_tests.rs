use engine::{Amend, Cancel, EngineLimits, NewOrder, Side};

use super::*;

fn text(of: &str) -> ClientIdText {
    std::array::from_fn(|byte| of.as_bytes().get(byte).copied().unwrap_or(0))
}

fn named(order_id: u64, of: &str) -> OrderClientId {
    OrderClientId { order_id, text: text(of) }
}

#[test]
fn a_client_id_comes_back_and_every_other_text_is_rejected() {
    let longest = "x".repeat(CLIENT_ID_BYTES_MAX);
    for of in ["a", "7 é", &longest] {
        let bytes = named(7, of).to_bytes();
        assert_eq!(Content::from_bytes(&bytes), Ok(Content::ClientId(named(7, of))));
    }
    for (of, byte) in [("", 9), ("a\u{7}", 10), ("a\0b", 11), ("\u{85}", 9)] {
        let error = Content::from_bytes(&named(7, of).to_bytes()).unwrap_err();
        assert_eq!((error.field, error.byte), ("client id", byte), "{of:?}");
    }
    let mut not_utf8 = named(7, "ab").to_bytes();
    not_utf8[10] = 0xff;
    assert_eq!(Content::from_bytes(&not_utf8).unwrap_err().byte, 10);
}

/// An engine with its client ids.
struct Book {
    engine: Engine,
    ids: ClientIds,
}

impl Book {
    fn input(&mut self, command: Command) {
        let content = Content::Input(Input { time_ns: 0, command });
        self.ids.apply(&content, &mut self.engine, |_| {});
    }

    fn client_id(&mut self, of: OrderClientId) {
        self.ids.apply(&Content::ClientId(of), &mut self.engine, |_| {});
    }

    fn order(&mut self, order_id: u64, of: &str, side: Side, price: i64) {
        self.client_id(named(order_id, of));
        self.input(Command::New(NewOrder { order_id, ..NewOrder::limit(side, price, 2) }));
    }

    fn amend(&mut self, order_id: u64, price_ticks: i64) {
        let amend =
            Amend { order_id, account: 0, tag: 0, instrument: 0, price_ticks, remaining_lots: 1 };
        self.input(Command::Amend(amend));
    }

    fn all(&self) -> Vec<(u64, String)> {
        let text = |order_id| self.ids.get(order_id).unwrap().to_owned();
        self.ids.all().map(|one| (one.order_id, text(one.order_id))).collect()
    }
}

/// An order has the client id that the exchange gave it last and that the engine accepted.
#[test]
fn open_orders_have_the_client_ids_that_were_accepted() {
    let limits = EngineLimits::matching_only(10, 10);
    let mut book = Book { engine: Engine::new(1, limits), ids: ClientIds::default() };
    book.order(1, "one", Side::Buy, 10);
    book.order(2, "two", Side::Buy, 9);
    book.order(3, "rejected", Side::Buy, -1);
    book.order(4, "filled", Side::Sell, 10);
    assert_eq!(book.all(), [(2, "two".to_owned())]);

    book.client_id(named(2, "rejected too"));
    book.amend(2, -1);
    assert_eq!(book.ids.get(2), Some("two"));
    book.client_id(named(2, "renamed"));
    book.amend(2, 8);
    assert_eq!(book.ids.get(2), Some("renamed"));
    book.amend(2, 7);
    assert_eq!(book.ids.get(2), Some("renamed"), "an amendment without a client id");

    // A power failure cut the order after its client id: another input is next.
    book.client_id(named(2, "stray"));
    book.input(Command::New(NewOrder { order_id: 5, ..NewOrder::limit(Side::Buy, 5, 1) }));
    book.amend(2, 6);
    assert_eq!(book.all(), [(2, "renamed".to_owned())]);
    assert_eq!(book.ids.get(5), None);

    let cancel = Cancel { order_id: 2, account: 0, tag: 0, instrument: 0 };
    book.input(Command::Cancel(cancel));
    assert_eq!(book.ids.count(), 0);
}

/// Also an order that ends with the input that names it, or renames it.
#[test]
fn the_latest_ended_orders_are_known() {
    let limits = EngineLimits::matching_only(10, 10);
    let mut book = Book { engine: Engine::new(1, limits), ids: ClientIds::default() };
    book.ids.keep_ended(2);
    book.order(1, "forgotten", Side::Buy, 10);
    book.order(2, "taker", Side::Sell, 10);
    book.order(3, "rejected", Side::Buy, -1);
    book.order(4, "rests", Side::Sell, 11);
    book.order(5, "before", Side::Buy, 9);
    book.client_id(named(5, "renamed"));
    book.amend(5, 11);
    let ended = book.ids.ended().map(|one| (one.order_id, one.client_id().unwrap(), one.reason));
    let filled = DoneReason::Filled;
    let expected = [(2, "taker", filled), (5, "renamed", filled)];
    assert_eq!(ended.collect::<Vec<_>>(), expected);
    assert_eq!(book.all(), [(4, "rests".to_owned())]);
}

#[test]
fn accounts_that_asked_for_cancel_on_disconnect_are_known() {
    let limits = EngineLimits::matching_only(10, 10);
    let mut book = Book { engine: Engine::new(1, limits), ids: ClientIds::default() };
    let of = |account, is_on| CancelOnDisconnect { account, is_on };
    for one in [of(1, true), of(70_000, true), of(2, true), of(1, false), of(3, false)] {
        let bytes = one.to_bytes();
        assert_eq!(Content::from_bytes(&bytes), Ok(Content::CancelOnDisconnect(one)));
        book.ids.apply(&Content::from_bytes(&bytes).unwrap(), &mut book.engine, |_| {});
    }
    assert_eq!(book.ids.cancel_on_disconnect().collect::<Vec<_>>(), [2, 70_000]);
    assert_eq!(book.ids.records().count(), 2);
    for byte in [4, 9, 71] {
        let mut bytes = of(1, true).to_bytes();
        bytes[byte] = 2;
        assert_eq!(Content::from_bytes(&bytes).unwrap_err().byte, byte);
    }
}
