//! Two ends in memory: records whole and in parts, new keys, and what must not be accepted.

use super::properties::{self, sessions};
use super::record::{HANDSHAKE, NEW_SESSION_TICKET};
use super::session::{KEY_RECORDS_MAX, TakeOutcome};
use super::{RECORD_OVERHEAD_BYTES, RecordError, Session, looks_like_tls};
use proptest::prelude::*;

/// Seals `plain` and gives what goes out.
fn sealed(session: &mut Session, plain: &[u8]) -> Vec<u8> {
    session.seal(plain).unwrap();
    let out = session.out().to_vec();
    assert_eq!(session.written(out.len() - 1), 0, "a record counts when all of it is out");
    assert_eq!(session.written(1), plain.len());
    out
}

fn receive(session: &mut Session, bytes: &[u8]) {
    session.space()[..bytes.len()].copy_from_slice(bytes);
    session.filled(bytes.len(), 1);
}

fn taken(session: &mut Session, room: usize) -> Vec<u8> {
    let mut into = vec![0; room];
    match session.take(&mut into).unwrap() {
        TakeOutcome::Bytes(n) => into[..n].to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_one_end_seals_the_other_opens_whole_or_in_parts() {
    let (mut client, mut server) = sessions();
    let record = sealed(&mut client, b"an order");
    assert_eq!(record.len(), 8 + RECORD_OVERHEAD_BYTES);
    for byte in &record[..record.len() - 1] {
        receive(&mut server, &[*byte]);
        assert_eq!(server.take(&mut [0; 64]).unwrap(), TakeOutcome::NeedsMore);
        assert!(!server.has_more());
    }
    receive(&mut server, &record[record.len() - 1..]);
    assert_eq!(taken(&mut server, 64), b"an order");
    // Two records at once, into less room than they have.
    let two = [sealed(&mut server, b"ack one;"), sealed(&mut server, b"ack two;")].concat();
    receive(&mut client, &two);
    assert_eq!(taken(&mut client, 11), b"ack one;ack");
    assert!(client.has_more());
    assert_eq!(taken(&mut client, 64), b" two;");
    assert!(!client.has_more());
}

/// The kernel's stamp of a read belongs to its last byte: it is the answer's only if nothing lies
/// behind the answer, whole or not, data or a ticket.
#[test]
fn an_answer_ends_its_read_unless_another_record_lies_behind() {
    let (mut client, mut server) = sessions();
    let [one, two] = [b"ack one;", b"ack two;"].map(|plain| sealed(&mut server, plain));
    receive(&mut client, &one);
    assert_eq!(taken(&mut client, 5), b"ack o");
    assert!(!client.ends_read());
    assert_eq!(taken(&mut client, 64), b"ne;");
    assert!(client.ends_read());
    let three = sealed(&mut server, b"ack three");
    receive(&mut client, &[&two[..], &three[..9]].concat());
    assert_eq!(taken(&mut client, 64), b"ack two;");
    assert!(!client.ends_read(), "the next one has begun");
    receive(&mut client, &three[9..]);
    assert_eq!(taken(&mut client, 64), b"ack three");
    assert!(client.ends_read());
    let four = sealed(&mut server, b"ack four");
    let ticket = server.seal_aside(HANDSHAKE, &[NEW_SESSION_TICKET, 0, 0, 2, 7, 7]);
    receive(&mut client, &[four, ticket].concat());
    assert_eq!(taken(&mut client, 64), b"ack four");
    assert!(!client.ends_read(), "a ticket came with it");
}

/// Both ends replace their keys after this many records, again and again.
#[test]
fn keys_are_replaced_before_they_are_worn() {
    assert_eq!(KEY_RECORDS_MAX, 1 << 24, "RFC 8446, 5.5 allows 2^24.5 with AES-GCM");
    let (mut client, mut server) = sessions();
    (client.key_records_max, server.key_records_max) = (3, 2);
    let mut longer = 0;
    for n in 0..20u8 {
        let record = sealed(&mut client, &[n]);
        longer += u32::from(record.len() > 1 + RECORD_OVERHEAD_BYTES);
        receive(&mut server, &record);
        assert_eq!(taken(&mut server, 8), [n]);
        let record = sealed(&mut server, &[n, n]);
        receive(&mut client, &record);
        assert_eq!(taken(&mut client, 8), [n, n]);
    }
    assert!(longer >= 5, "{longer} updates");
}

#[test]
fn the_end_comes_behind_what_was_sent_before() {
    let (mut client, mut server) = sessions();
    let mut bytes = sealed(&mut client, b"last");
    client.close();
    bytes.extend_from_slice(client.out());
    receive(&mut server, &bytes);
    assert_eq!(taken(&mut server, 64), b"last");
    assert!(server.has_more());
    assert_eq!(server.take(&mut [0; 8]).unwrap(), TakeOutcome::Closed);
    // Said once.
    let said = client.out().len();
    client.close();
    assert_eq!(client.out().len(), said);
}

#[test]
fn what_was_changed_repeated_or_left_out_is_not_opened() {
    let open = |change: fn(&mut Vec<Vec<u8>>)| {
        let (mut client, mut server) = sessions();
        let mut records = vec![sealed(&mut client, b"one"), sealed(&mut client, b"two")];
        change(&mut records);
        receive(&mut server, &records.concat());
        let error = server.take(&mut [0; 64]).unwrap_err();
        // The peer is told why, under the keys that it has.
        server.complain(&error);
        let alert = server.out().to_vec();
        if !alert.is_empty() {
            receive(&mut client, &alert);
            assert!(matches!(client.take(&mut [0; 8]), Err(RecordError::Alert(10 | 20 | 22))));
        }
        error.to_string()
    };
    let changed = "can't be decrypted: it was changed on its way";
    assert!(open(|records| records[0][9] ^= 1).contains(changed));
    assert!(open(|records| records.swap(0, 1)).contains(changed));
    assert!(open(|records| drop(records.remove(0))).contains(changed));
    assert!(open(|records| records[1] = records[0].clone()).contains("record 1 can't"));
    let text = open(|records| records[0] = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    assert!(text.contains("bytes came, the protocol allows"), "{text}");
    let plain = open(|records| records[0][0] = 22);
    assert!(plain.contains("a TLS record of type 22 came after the handshake"), "{plain}");
}

/// A server may send tickets, which may be cut into records as it likes.
#[test]
fn tickets_are_skipped_and_other_messages_are_not_accepted() {
    let (mut client, mut server) = sessions();
    let ticket = [&[4, 0, 0, 9][..], b"ticket---"].concat();
    let mut bytes = Vec::new();
    for part in [&ticket[..], &ticket[..6], &ticket[6..]] {
        bytes.extend(server.seal_aside(22, part));
    }
    bytes.extend(sealed(&mut server, b"ack"));
    receive(&mut client, &bytes);
    assert_eq!(taken(&mut client, 64), b"ack");
    let certificate_request = server.seal_aside(22, &[13, 0, 0, 0]);
    receive(&mut client, &certificate_request);
    let error = client.take(&mut [0; 8]).unwrap_err().to_string();
    assert!(error.contains("handshake message 13"), "{error}");
}

/// Faults of a peer after the handshake, and the alert that it gets for each.
#[test]
fn each_fault_gets_the_alert_of_the_rfc() {
    const UNEXPECTED_MESSAGE: u8 = 10;
    const RECORD_OVERFLOW: u8 = 22;
    const ILLEGAL_PARAMETER: u8 = 47;
    let ticket = [&[4, 0, 0, 9][..], b"ticket---"].concat();
    // An inner type comes behind the content, and padding behind that.
    let padded = |padding: usize| [&b"x\x17"[..], &vec![0; padding]].concat();
    for (section, kind, content, alert) in [
        ("4.6.1: only servers send tickets", 22, &ticket[..], UNEXPECTED_MESSAGE),
        ("4.6.3: a key update asks for 0 or 1", 22, &[24, 0, 0, 1, 2], ILLEGAL_PARAMETER),
        ("5.1: no empty handshake record", 22, &[], UNEXPECTED_MESSAGE),
        ("5.4: no empty alert", 21, &[], UNEXPECTED_MESSAGE),
        ("5: change_cipher_spec is never encrypted", 20, &[1], UNEXPECTED_MESSAGE),
        ("5.4: no inner type", 0, &[0, 0], UNEXPECTED_MESSAGE),
        ("5.4: too much padding", 0, &padded((1 << 14) - 1), RECORD_OVERFLOW),
    ] {
        let (mut client, mut server) = sessions();
        let record = client.seal_aside(kind, content);
        receive(&mut server, &record);
        let error = server.take(&mut [0; 8]).expect_err(section);
        server.complain(&error);
        let told = server.out().to_vec();
        receive(&mut client, &told);
        match client.take(&mut [0; 8]) {
            Err(RecordError::Alert(got)) => assert_eq!(got, alert, "{section}: {error}"),
            other => panic!("{section}: {other:?}"),
        }
    }
    // The longest record that is allowed is opened.
    let (mut client, mut server) = sessions();
    let record = client.seal_aside(0, &padded((1 << 14) - 2));
    receive(&mut server, &record);
    assert_eq!(taken(&mut server, 8), b"x");
    // 5.2: more than 2^14 + 256 bytes are not even read.
    receive(&mut server, &[23, 3, 3, 0x41, 1]);
    let error = server.take(&mut [0; 8]).unwrap_err();
    server.complain(&error);
    let told = server.out().to_vec();
    receive(&mut client, &told);
    assert!(matches!(client.take(&mut [0; 8]), Err(RecordError::Alert(RECORD_OVERFLOW))));
}

#[test]
fn a_connection_that_begins_with_a_handshake_is_known() {
    assert!(looks_like_tls(&[22, 3, 1, 2, 0]) && !looks_like_tls(b"GET /") && !looks_like_tls(&[]));
}

proptest! {
    #[test]
    fn a_stranger_gets_no_secure_connection(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        properties::handshake(&bytes);
    }

    #[test]
    fn no_byte_is_opened_that_nobody_sealed(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        properties::records(&bytes);
    }
}
