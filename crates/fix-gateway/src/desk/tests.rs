//! Orders of a client, and the exchange's reports about them.

use super::*;
use fix::store::MemoryStore;
use wire::client_id::ClientId;
use wire::frame::{Opcode, write_frame_with};
use wire::reader::{FrameLimits, Role as Side};
use wire::reply::{DoneStatus, OrderBooked, OrderDone, encode_booked, encode_done, encode_error};
use wire::{Decimal, OrderId, request};

const NOW: Now = Now { steady_ns: 1, utc_ns: 1_790_000_000_000_000_000 };
const SYMBOL: &str = "BTC_USDT";

/// Both ends of a session without sockets, logged on.
struct Ends {
    _folder: tempfile::TempDir,
    desk: Desk,
    client: Session<MemoryStore>,
    reader: MessageReader,
    /// Calls to the allocator by the desk.
    calls: u64,
}

impl Ends {
    fn new() -> Ends {
        let folder = tempfile::tempdir().unwrap();
        let dictionary = Arc::new(Dictionary::tickpath());
        let tick = Decimal::new(1, 2).unwrap();
        let security = Security { symbol: SYMBOL.into(), tick, lot: tick, amount_min: tick };
        let securities = Arc::new(Securities::new(vec![security]));
        let shared = Shared { dictionary: Arc::clone(&dictionary), securities, has_journal: true };
        let path = folder.path().join("store");
        let desk = Desk::open("fund", ("TICKPATH", "FUND"), &shared, &path).unwrap();
        let settings = Settings::new(Role::Initiator, "FUND", "TICKPATH");
        let client = Session::new(settings, dictionary, MemoryStore::default());
        let reader = MessageReader::new(Side::Client, FrameLimits::default());
        let mut ends = Ends { _folder: folder, desk, client, reader, calls: 0 };
        let mut logon = Vec::new();
        ends.client.connected(NOW, &mut logon).unwrap();
        ends.desk.connected(NOW).unwrap();
        ends.arrive(&logon);
        assert_eq!(ends.client.receive(&ends.desk.to_client), ends.desk.to_client.len());
        assert!(matches!(ends.client.poll(NOW, &mut Vec::new()), Ok(Some(Event::LoggedOn))));
        ends
    }

    /// The client sends bytes; they go on to the exchange at once.
    fn arrive(&mut self, bytes: &[u8]) {
        let before = counting::calls();
        assert_eq!(self.desk.client(bytes, NOW).unwrap(), None);
        self.calls += counting::calls() - before;
        self.desk.to_exchange.clear();
    }

    fn client(&mut self, msg_type: &str, fill: impl FnOnce(&mut Body<'_>)) {
        let mut bytes = Vec::new();
        self.client.send(msg_type, NOW, &mut bytes, fill).unwrap();
        self.arrive(&bytes);
    }

    /// The exchange sends a message. Gives what the client gets.
    fn exchange(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut frame = Vec::new();
        write_frame_with(&mut frame, Opcode::Text, None, encode);
        assert_eq!(self.reader.fill_from(&frame, 0), frame.len());
        self.desk.to_client.clear();
        let before = counting::calls();
        self.desk.exchange(&mut self.reader, NOW).unwrap();
        self.calls += counting::calls() - before;
        String::from_utf8_lossy(&self.desk.to_client).replace('\x01', "|")
    }

    fn order(&mut self, id: &str) {
        self.client("D", |body| {
            body.text(11, id).text(55, SYMBOL).char(54, '1').time(60, NOW.utc_ns);
            body.number(38, 2).char(40, '2').text(44, "100.25");
        });
    }

    /// A cancel, which the exchange executes.
    fn cancel(&mut self, id: &str, cancel_id: &str, order_id: OrderId) -> String {
        self.client("F", |body| {
            body.text(41, id).text(11, cancel_id).text(55, SYMBOL).char(54, '1');
            body.time(60, NOW.utc_ns);
        });
        let done = OrderDone {
            client_id: ClientId::new(id).unwrap(),
            instrument_code: SYMBOL.into(),
            status: DoneStatus::Cancelled,
            order_id,
            order_book_sequence: 2,
            time_ms: 2,
            uid: "fund".into(),
        };
        self.exchange(|out| encode_done(out, &done))
    }

    /// An order that rests, and its cancel.
    fn order_and_cancel(&mut self, number: u64) {
        let (id, cancel_id) = (format!("order-{number:012}"), format!("cancel-{number:012}"));
        let client_id = ClientId::new(&id).unwrap();
        let order_id = OrderId::from_u64(number);
        self.order(&id);
        let booked = OrderBooked {
            client_id,
            instrument_code: SYMBOL.into(),
            side: request::Side::Buy,
            price: "100.25".parse().unwrap(),
            amount: Decimal::new(2, 0).unwrap(),
            order_id,
            order_book_sequence: 1,
            time_ms: 1,
            uid: "fund".into(),
        };
        let new = self.exchange(|out| encode_booked(out, &booked));
        let shared = format!("|1=fund|55={SYMBOL}|54=1|38=2|40=2|44=100.25|151=");
        let order = String::from_utf8(order_id.text().to_vec()).unwrap();
        assert!(new.contains(&format!("|37={order}|11={id}|17=1790000000000-")), "{new}");
        assert!(new.contains(&format!("|150=0|39=0{shared}2|14=0|6=0|")), "{new}");
        let done = self.cancel(&id, &cancel_id, order_id);
        assert!(done.contains(&format!("|37={order}|11={cancel_id}|41={id}|17=")), "{done}");
        assert!(done.contains(&format!("|150=4|39=4{shared}0|14=0|6=0|")), "{done}");
    }
}

/// It took a dozen: texts of the symbol, the ids and OrderID, some twice. The rest is the growth
/// of tables, that of the store above all.
#[test]
fn an_order_and_its_cancel_take_no_allocation() {
    let mut ends = Ends::new();
    for number in 0..2000 {
        ends.order_and_cancel(number);
    }
    ends.calls = 0;
    for number in 2000..3000 {
        ends.order_and_cancel(number);
    }
    assert!(ends.calls < 1000, "{} calls to the allocator for 1000 orders", ends.calls);
}

/// It was executed, and the client never learned of it: so at a standby, whose sessions have no
/// reports of the lost exchange.
#[test]
fn the_cancel_of_an_order_without_reports_is_reported() {
    let mut ends = Ends::new();
    let order_id = OrderId::from_u64(7);
    let done = ends.cancel("before", "its-cancel", order_id);
    let order = String::from_utf8(order_id.text().to_vec()).unwrap();
    assert!(done.contains(&format!("|37={order}|11=its-cancel|41=before|17=")), "{done}");
    assert!(done.contains(&format!("|150=4|39=4|55={SYMBOL}|54=1|151=0|14=0|6=0|58=")), "{done}");
    assert_eq!(ends.cancel("before", "again", order_id).matches("|35=8|").count(), 1);
}

/// An exchange whose standby may have taken over answers so: the order may well be known there.
#[test]
fn an_error_without_an_id_answers_the_oldest_request() {
    let mut ends = Ends::new();
    ends.client("H", |body| {
        body.text(11, "asked").text(55, SYMBOL).char(54, '1');
    });
    ends.order("ordered");
    let error = |ends: &mut Ends| ends.exchange(|out| encode_error(out, "ask again"));
    let asked = error(&mut ends);
    assert!(asked.contains("|35=j|") && asked.contains("|372=H|380=0|58=ask again|"), "{asked}");
    let ordered = error(&mut ends);
    assert!(ordered.contains("|35=8|") && ordered.contains("|11=ordered|"), "{ordered}");
    assert!(ordered.contains("|150=8|39=8|") && ordered.contains("|58=ask again|"), "{ordered}");
    assert_eq!(error(&mut ends), "", "no request waits");
}
