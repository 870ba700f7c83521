//! The handshake, and what strangers may try.

use super::SECOND;
use crate::acked::*;
use crate::cookie::{COOKIE_BYTES, Cookie};
use std::net::SocketAddr;

fn address(port: u16) -> SocketAddr {
    ([192, 0, 2, 7], port).into()
}

/// The answers of a table to a datagram from there.
fn say(
    table: &mut Table,
    bytes: &[u8],
    from: SocketAddr,
    now_ns: u64,
) -> (DatagramMeaning, Vec<Vec<u8>>) {
    let mut out = Vec::new();
    let heard = table.receive(bytes, from, now_ns, &mut |datagram, to| {
        assert_eq!(to, from, "nobody else is answered");
        out.push(datagram.to_vec());
    });
    (heard, out)
}

/// Connects from there; the place and the connection's number.
fn connect(table: &mut Table, from: SocketAddr, token: u64, now_ns: u64) -> (usize, u64) {
    let mut dial = Dial::new(token, now_ns);
    let mut place = None;
    for _ in 0..3 {
        let question = dial.poll(now_ns).expect("a question is due");
        let (heard, answers) = say(table, &question, from, now_ns);
        if let DatagramMeaning::New(new) = heard {
            place = Some(new);
        }
        assert_eq!(answers.len(), 1);
        match dial.receive(Some(&answers[0]), now_ns) {
            DialStep::Waiting => {}
            DialStep::Connected(connection) => return (place.unwrap(), connection),
            other => panic!("{other:?}"),
        }
    }
    panic!("no connection");
}

#[test]
fn a_client_that_returns_its_cookie_gets_one_connection() {
    let mut table = Table::new(true).unwrap();
    let (place, connection) = connect(&mut table, address(1), 5, SECOND);
    assert_eq!(table.peer(place).unwrap().0.connection(), connection);
    assert_eq!(table.address(place), Some(address(1)));
    // The same question again, because its answer was lost: the same connection.
    let (again, answers) = {
        let (_, challenge) = say(&mut table, &hello(5), address(1), SECOND);
        let Some(Datagram::Handshake(challenge)) = Datagram::decode(&challenge[0]) else {
            panic!()
        };
        let question = Handshake::new(DatagramKind::Connect, 5, challenge.cookie).encode();
        say(&mut table, &question, address(1), SECOND)
    };
    assert_eq!(again, DatagramMeaning::Nothing);
    let Some(Datagram::Handshake(answer)) = Datagram::decode(&answers[0]) else { panic!() };
    assert_eq!((answer.kind, answer.connection), (DatagramKind::Accepted, connection));
    assert_eq!(table.counts().accepted, 1);
}

fn hello(token: u64) -> [u8; HANDSHAKE_BYTES] {
    Handshake::new(DatagramKind::Hello, token, Cookie::default()).encode()
}

/// An attacker writes a victim's address into its datagrams.
#[test]
fn nothing_longer_than_its_question_goes_to_an_address_without_a_cookie() {
    let mut table = Table::new(true).unwrap();
    let (attacker, victim) = (address(1), address(2));
    let (_, own) = say(&mut table, &hello(1), attacker, SECOND);
    let Some(Datagram::Handshake(own)) = Datagram::decode(&own[0]) else { panic!() };
    let with = |kind, cookie| Handshake::new(kind, 1, cookie).encode().to_vec();
    let mut data = vec![0; 100];
    let header = Header {
        kind: DatagramKind::Data,
        ends: false,
        gap: false,
        room: 64,
        connection: 0,
        sequence: 0,
        ack: 0,
    };
    header.seal(&mut data);
    let forged = [
        hello(1).to_vec(),
        with(DatagramKind::Connect, own.cookie),
        with(DatagramKind::Connect, Cookie([1; COOKIE_BYTES])),
        with(DatagramKind::Challenge, own.cookie),
        with(DatagramKind::Full, Cookie::default()),
        data,
        Vec::new(),
        vec![0xFF; DATAGRAM_BYTES_MAX + 1],
    ];
    for bytes in forged {
        let (heard, answers) = say(&mut table, &bytes, victim, SECOND);
        assert_eq!(heard, DatagramMeaning::Nothing);
        assert!(answers.iter().map(Vec::len).sum::<usize>() <= bytes.len(), "{bytes:?}");
    }
    let counts = table.counts();
    assert_eq!((counts.accepted, counts.bad_cookies, counts.strangers), (0, 2, 1));
    assert!(table.peer(0).is_none());
}

/// A reset needs the connection's number, and the address.
#[test]
fn a_forged_reset_ends_nothing() {
    let mut table = Table::new(true).unwrap();
    let (place, connection) = connect(&mut table, address(1), 5, SECOND);
    let reset = |connection| {
        let mut bytes = vec![0; HEADER_BYTES];
        let header = Header {
            kind: DatagramKind::Reset,
            ends: false,
            gap: false,
            room: 0,
            connection,
            sequence: 0,
            ack: 0,
        };
        header.seal(&mut bytes);
        bytes
    };
    for (number, from) in [(connection ^ (1 << 40), address(1)), (connection, address(2))] {
        assert_eq!(
            say(&mut table, &reset(number), from, SECOND),
            (DatagramMeaning::Nothing, Vec::new())
        );
        assert_eq!(table.peer(place).unwrap().0.end(), None);
    }
    assert_eq!(table.counts().strangers, 2);
    assert_eq!(
        say(&mut table, &reset(connection), address(1), SECOND).0,
        DatagramMeaning::Peer(place)
    );
    assert_eq!(table.peer(place).unwrap().0.end(), Some(EndReason::Reset));
}

#[test]
fn one_peer_too_many_is_told_so_and_half_open_ones_make_room() {
    let mut table = Table::new(true).unwrap();
    for port in 0..PEERS_MAX as u16 {
        // The limit of challenges is one of each second.
        connect(&mut table, address(1 + port), 1, SECOND);
    }
    let mut dial = Dial::new(9, SECOND);
    let from = address(9_999);
    let mut ask = |table: &mut Table, now_ns| {
        let (_, answers) = say(table, &dial.poll(now_ns).unwrap(), from, now_ns);
        dial.receive(Some(&answers[0]), now_ns)
    };
    assert_eq!(ask(&mut table, SECOND), DialStep::Waiting);
    assert_eq!(ask(&mut table, SECOND), DialStep::Full);
    assert_eq!(table.counts().full, 1);
    // They never send anything: the caller learns of it, and removes them.
    let later_ns = SECOND + SILENCE_NS;
    let mut gone = Vec::new();
    table.poll(later_ns, &mut |_, _| (), |place| gone.push(place));
    assert_eq!(gone.len(), PEERS_MAX);
    for place in gone {
        table.remove(place, later_ns, &mut |_, _| ());
    }
    table.poll(later_ns, &mut |_, _| (), |_| ());
    connect(&mut table, from, 10, later_ns);
}

/// A removed peer gets its last bytes, and then its place is free.
#[test]
fn a_removed_peer_stays_until_its_last_bytes_arrived() {
    let mut table = Table::new(true).unwrap();
    let (place, connection) = connect(&mut table, address(1), 5, SECOND);
    let mut client = Peer::new(connection, SECOND);
    let mut to_client: Vec<Vec<u8>> = Vec::new();
    let (peer, _) = table.peer(place).unwrap();
    peer.write(b"last", SECOND, &mut |out| to_client.push(out.to_vec())).unwrap();
    // That datagram is lost.
    to_client.clear();
    table.remove(place, SECOND, &mut |out, _| to_client.push(out.to_vec()));
    to_client.clear();
    let mut now_ns = SECOND;
    let mut buffer = [0; 100];
    let mut read = Vec::new();
    while table.peer(place).is_some() && now_ns < SECOND + LINGER_NS {
        now_ns += 10_000_000;
        table.poll(now_ns, &mut |out, _| to_client.push(out.to_vec()), |_| ());
        let mut to_table: Vec<Vec<u8>> = Vec::new();
        for datagram in to_client.drain(..) {
            let Some(Datagram::Connection(header, payload)) = Datagram::decode(&datagram) else {
                panic!();
            };
            client.receive(&header, payload, now_ns, &mut |out| to_table.push(out.to_vec()));
        }
        while let ReceivedBytes::Bytes { n, .. } = client.read(&mut buffer, now_ns, &mut |_| ()) {
            read.extend_from_slice(&buffer[..n]);
        }
        client.poll(now_ns + 5_000_000, &mut |out| to_table.push(out.to_vec()));
        for datagram in to_table {
            say(&mut table, &datagram, address(1), now_ns + 5_000_000);
        }
    }
    assert_eq!(read, b"last");
    assert_eq!(client.read(&mut buffer, now_ns, &mut |_| ()), ReceivedBytes::End);
    assert!(table.peer(place).is_none(), "its place is free again");
    // A client that is gone itself holds its place for a bounded time.
    let (place, _) = connect(&mut table, address(1), 6, now_ns);
    table.remove(place, now_ns, &mut |_, _| ());
    table.poll(now_ns + LINGER_NS, &mut |_, _| (), |_| ());
    assert!(table.peer(place).is_none());
}
