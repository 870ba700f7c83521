use super::*;
use etherparse::PacketBuilder;
use wire::frame::{Opcode, write_frame};

const CLIENT: u16 = 40_000;
const SERVER: u16 = 8_000;
const IDS: [&str; 2] =
    ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];

/// A conversation, packet by packet; a packet's stamp is its index.
#[derive(Default)]
struct Wire {
    captured: Captured,
    packets: u64,
    /// Bytes of client and server so far.
    sent: [u32; 2],
}

impl Wire {
    fn after_the_upgrade() -> Wire {
        let mut wire = Wire::default();
        wire.packet(false, 0, b"", |tcp| tcp.syn());
        wire.packet(true, 0, b"", |tcp| tcp.syn().ack(1));
        wire.sent = [1, 1];
        wire.client(b"GET / HTTP/1.1\r\n\r\n");
        wire.server(b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
        wire
    }

    fn packet(
        &mut self,
        from_server: bool,
        number: u32,
        payload: &[u8],
        with: impl FnOnce(
            etherparse::PacketBuilderStep<etherparse::TcpHeader>,
        ) -> etherparse::PacketBuilderStep<etherparse::TcpHeader>,
    ) -> u64 {
        let (from, to) = if from_server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        let built = PacketBuilder::ipv4([127, 0, 0, 1], [127, 0, 0, 1], 64);
        let mut bytes = Vec::new();
        with(built.tcp(from, to, number, 1000)).write(&mut bytes, payload).unwrap();
        self.packets += 1;
        self.captured.push(self.packets, &bytes);
        self.packets
    }

    /// Sends, and says the packet's stamp.
    fn send(&mut self, from_server: bool, payload: &[u8]) -> u64 {
        let end = usize::from(from_server);
        let number = self.sent[end];
        self.sent[end] += payload.len() as u32;
        self.packet(from_server, number, payload, |tcp| tcp.ack(1))
    }

    fn client(&mut self, payload: &[u8]) -> u64 {
        self.send(false, payload)
    }

    fn server(&mut self, payload: &[u8]) -> u64 {
        self.send(true, payload)
    }

    fn ended(mut self) -> Result<Vec<Exchange>, String> {
        for from_server in [false, true] {
            let number = self.sent[usize::from(from_server)];
            self.packet(from_server, number, b"", |tcp| tcp.fin().ack(1));
        }
        exchanges(&self.captured)
    }
}

fn order(id: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"type":"CREATE_ORDER","order":{{"instrument_code":"BTC_USDT","client_id":"{id}","side":"BUY","type":"LIMIT","price":"1","amount":"1","time_in_force":"GOOD_TILL_CANCELLED"}}}}"#
    );
    let mut frame = Vec::new();
    write_frame(&mut frame, true, Opcode::Text, Some([7, 1, 200, 3]), text.as_bytes());
    frame
}

fn ack(id: &str) -> Vec<u8> {
    let text = format!(
        r#"{{"type":"BOOKED","client_id":"{id}","instrument_code":"BTC_USDT","side":"BUY","price":"1","amount":"1","order_id":"{id}","order_book_sequence":1,"time":1,"uid":"1"}}"#
    );
    let mut frame = Vec::new();
    write_frame(&mut frame, true, Opcode::Text, None, text.as_bytes());
    frame
}

#[test]
fn the_last_byte_of_an_order_and_the_first_of_its_ack_count() {
    let mut wire = Wire::after_the_upgrade();
    let (first, second) = (order(IDS[0]), order(IDS[1]));
    wire.client(&first[..50]);
    let sent_ns = wire.client(&[&first[50..], &second[..]].concat());
    let (late, early) = (ack(IDS[0]), ack(IDS[1]));
    let early_ns = wire.server(&[&early[..], &late[..9]].concat());
    wire.server(&late[9..]);
    let exchange = |acked_ns| Exchange { sent_ns, acked_ns };
    assert_eq!(wire.ended().unwrap(), [exchange(early_ns), exchange(early_ns)]);
}

#[test]
fn a_repeated_packet_changes_nothing() {
    let mut wire = Wire::after_the_upgrade();
    let number = wire.sent[0];
    let sent_ns = wire.client(&order(IDS[0]));
    wire.packet(false, number, &order(IDS[0]), |tcp| tcp.ack(1));
    let acked_ns = wire.server(&ack(IDS[0]));
    assert_eq!(wire.ended().unwrap(), [Exchange { sent_ns, acked_ns }]);
}

#[test]
fn a_conversation_with_a_hole_is_void() {
    let mut wire = Wire::after_the_upgrade();
    wire.sent[0] += 1;
    wire.client(&order(IDS[0]));
    assert!(wire.ended().unwrap_err().contains("1 bytes are missing"));

    let mut wire = Wire::after_the_upgrade();
    wire.client(&order(IDS[0]));
    assert!(wire.ended().unwrap_err().contains("1 of 1 orders have no ack"));

    let mut wire = Wire::after_the_upgrade();
    wire.server(&ack(IDS[0]));
    assert!(wire.ended().unwrap_err().contains("an ack without an order"));

    let wire = Wire::after_the_upgrade();
    assert!(exchanges(&wire.captured).unwrap_err().contains("was not captured"));
}

/// An end that closes what it has not read resets the connection; the other end is then silent.
#[test]
fn a_reset_ends_both_directions() {
    let mut wire = Wire::after_the_upgrade();
    let sent_ns = wire.client(&order(IDS[0]));
    let acked_ns = wire.server(&ack(IDS[0]));
    let number = wire.sent[0];
    wire.packet(false, number, b"", |tcp| tcp.rst());
    assert_eq!(exchanges(&wire.captured).unwrap(), [Exchange { sent_ns, acked_ns }]);

    // The end of one direction alone is not that of the other.
    let mut wire = Wire::after_the_upgrade();
    let number = wire.sent[0];
    wire.packet(false, number, b"", |tcp| tcp.fin());
    assert!(exchanges(&wire.captured).unwrap_err().contains("was not captured"));

    // Nobody listened.
    let mut wire = Wire::default();
    wire.packet(false, 0, b"", |tcp| tcp.syn());
    assert!(exchanges(&wire.captured).unwrap_err().contains("was not captured"));
    wire.packet(true, 0, b"", |tcp| tcp.rst().ack(1));
    assert_eq!(exchanges(&wire.captured).unwrap(), []);
}

#[test]
fn other_streams_are_passed_over() {
    let mut wire = Wire::default();
    wire.packet(false, 0, b"", |tcp| tcp.syn());
    wire.sent = [1, 0];
    wire.client(&[0x16, 3, 1, 0]);
    assert_eq!(exchanges(&wire.captured).unwrap(), []);
}
