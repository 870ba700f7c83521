//! The reader: its errors with their codes, its stamps, its single buffer.

use proptest::prelude::*;
use wire::frame::{FrameError, Opcode, write_close, write_frame};
use wire::reader::{FrameLimits, Message, MessageReader, READ_BYTES_MIN, Role};

const KEY: [u8; 4] = [1, 2, 3, 4];

fn server(message_bytes_max: usize) -> MessageReader {
    MessageReader::new(Role::Server, FrameLimits { message_bytes_max })
}

fn frame(fin: bool, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_frame(&mut out, fin, opcode, Some(KEY), payload);
    out
}

/// The final error of a server's reader with a limit of 1000 bytes.
fn error_of(stream: &[u8]) -> (FrameError, u16) {
    let mut reader = server(1000);
    assert_eq!(reader.fill_from(stream, 0), stream.len());
    loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error in {stream:?}"),
            Err(error) => return (error, error.close_code()),
        }
    }
}

#[test]
fn every_fault_has_its_close_code() {
    let mut unmasked = Vec::new();
    write_frame(&mut unmasked, true, Opcode::Text, None, b"x");
    assert_eq!(error_of(&unmasked), (FrameError::Unmasked, 1002));
    assert_eq!(error_of(&[0xC1, 0x80]), (FrameError::ReservedBits, 1002));
    assert_eq!(error_of(&[0x87, 0x80]), (FrameError::UnknownOpcode(7), 1002));

    let stray = frame(true, Opcode::Continuation, b"x");
    assert_eq!(error_of(&stray), (FrameError::ContinuationWithoutStart, 1002));
    let twice = [frame(false, Opcode::Text, b"x"), frame(true, Opcode::Text, b"y")].concat();
    assert_eq!(error_of(&twice), (FrameError::MessageWithinMessage, 1002));

    let big = FrameError::MessageTooBig { message_bytes_max: 1000 };
    assert_eq!(error_of(&frame(true, Opcode::Text, &[b'x'; 1001])), (big, 1009));
    // Rejected by its header, without waiting for the rest.
    assert_eq!(error_of(&frame(true, Opcode::Text, &[b'x'; 60_000])[..8]), (big, 1009));
    let parts =
        [frame(false, Opcode::Text, &[b'x'; 600]), frame(true, Opcode::Continuation, &[b'x'; 401])];
    assert_eq!(error_of(&parts.concat()), (big, 1009));

    assert_eq!(error_of(&frame(true, Opcode::Close, &[3])), (FrameError::CloseCode, 1002));
    assert_eq!(error_of(&frame(true, Opcode::Close, &[3, 0xED])), (FrameError::CloseCode, 1002));
    assert_eq!(
        error_of(&frame(true, Opcode::Close, &[3, 0xE8, 0xFF])),
        (FrameError::CloseReason, 1007)
    );

    let mut client = MessageReader::new(Role::Client, FrameLimits::default());
    let masked = frame(true, Opcode::Text, b"x");
    assert_eq!(client.fill_from(&masked, 0), masked.len());
    assert_eq!(client.next(), Err(FrameError::Masked));
    assert_eq!(client.next(), Err(FrameError::Masked), "an error is final");
    assert!(client.space().len() > READ_BYTES_MIN);
}

#[test]
fn a_message_of_exactly_the_limit_is_read_whole_or_in_fragments() {
    let mut reader = server(1000);
    let whole = frame(true, Opcode::Text, &[b'x'; 1000]);
    let parts = [
        frame(false, Opcode::Text, &[b'x'; 999]),
        frame(false, Opcode::Continuation, b""),
        frame(true, Opcode::Ping, &[b'p'; 125]),
        frame(true, Opcode::Continuation, b"x"),
    ];
    for _ in 0..50 {
        let stream = [&whole[..], &parts.concat()].concat();
        assert_eq!(reader.fill_from(&stream, 0), stream.len());
        let mut next = || reader.next().unwrap().unwrap().message == Message::Text(&[b'x'; 1000]);
        assert!(next());
        assert_eq!(reader.next().unwrap().unwrap().message, Message::Ping(&[b'p'; 125]));
        let mut next = || reader.next().unwrap().unwrap().message == Message::Text(&[b'x'; 1000]);
        assert!(next());
        assert_eq!(reader.next(), Ok(None));
    }
}

#[test]
fn nothing_is_read_behind_a_close() {
    let mut stream = Vec::new();
    write_close(&mut stream, 1000, "done", Some(KEY));
    stream.extend(frame(true, Opcode::Text, b"late"));
    let mut reader = server(1000);
    assert_eq!(reader.fill_from(&stream, 5), stream.len());
    let close = Message::Close { code: Some(1000), reason: b"done" };
    assert_eq!(reader.next().unwrap().unwrap().message, close);
    assert_eq!(reader.next(), Ok(None));
    assert_eq!(reader.fill_from(&stream, 6), stream.len());
    assert_eq!(reader.next(), Ok(None));

    let mut reader = server(1000);
    let empty = frame(true, Opcode::Close, b"");
    assert_eq!(reader.fill_from(&empty, 5), empty.len());
    let close = Message::Close { code: None, reason: b"" };
    assert_eq!(reader.next().unwrap().unwrap().message, close);
}

#[test]
fn a_stamp_is_of_the_read_that_brought_the_first_byte() {
    let mut reader = server(1000);
    let mut stamps = |bytes: &[u8], stamp_ns| {
        assert_eq!(reader.fill_from(bytes, stamp_ns), bytes.len());
        let mut stamps = Vec::new();
        while let Some(received) = reader.next().unwrap() {
            stamps.push(received.first_byte_ns);
        }
        stamps
    };
    let message = frame(true, Opcode::Text, b"hello");
    // One read, many messages.
    assert_eq!(stamps(&message.repeat(3), 10), [10, 10, 10]);
    // One message in many reads; the next message begins in the last of them.
    assert_eq!(stamps(&message[..1], 20), [0u64; 0]);
    assert_eq!(stamps(&message[1..4], 30), [0u64; 0]);
    assert_eq!(stamps(&[&message[4..], &message, &message[..2]].concat(), 40), [20, 40]);
    assert_eq!(stamps(&message[2..], 50), [40]);
    // A fragmented message keeps its first fragment's stamp; the ping in between has its own.
    let (first, ping) = (frame(false, Opcode::Text, b"he"), frame(true, Opcode::Ping, b""));
    assert_eq!(stamps(&first, 60), [0u64; 0]);
    assert_eq!(stamps(&ping, 70), [70]);
    assert_eq!(stamps(&frame(true, Opcode::Continuation, b"llo"), 80), [60]);
}

#[test]
fn undrained_reads_fill_the_buffer_and_no_more() {
    let mut reader = server(100);
    let message = frame(true, Opcode::Text, &[b'x'; 100]);
    let (mut taken, mut read) = (0, 0);
    while !reader.space().is_empty() {
        taken += reader.fill_from(&message[taken % message.len()..], 1);
    }
    assert_eq!(reader.fill_from(b"more", 1), 0);
    while let Some(received) = reader.next().unwrap() {
        assert_eq!(received.message, Message::Text(&[b'x'; 100]));
        read += 1;
    }
    assert_eq!(read, taken / message.len());
    assert!(reader.space().len() >= READ_BYTES_MIN);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(300)))]

    /// Streams much longer than the buffer, so that it is compacted at every kind of position.
    #[test]
    fn long_streams_in_any_pieces(
        messages in prop::collection::vec((prop::collection::vec(0..700usize, 1..4), 0..126usize), 1..40),
        pieces in prop::collection::vec(any::<u8>(), 1..20),
        whole in any::<bool>(),
    ) {
        let (mut stream, mut expected) = (Vec::new(), Vec::new());
        for (n, (fragments, ping)) in messages.iter().enumerate() {
            let (start, mut text) = (stream.len() as u64, Vec::new());
            for (i, &bytes) in fragments.iter().enumerate() {
                let part = vec![b'a' + (n + i) as u8 % 26; bytes];
                let opcode = if i == 0 { Opcode::Binary } else { Opcode::Continuation };
                write_frame(&mut stream, i + 1 == fragments.len(), opcode, Some(KEY), &part);
                text.extend(part);
                if i == 0 && fragments.len() > 1 {
                    let (start, ping) = (stream.len() as u64, vec![b'p'; *ping]);
                    write_frame(&mut stream, true, Opcode::Ping, Some(KEY), &ping);
                    expected.push((format!("{:?}", Message::Ping(&ping)), start));
                }
            }
            expected.push((format!("{:?}", Message::Binary(&text)), start));
        }
        // Byte by byte, the stamp is the offset of the message's first byte.
        let (bytewise, error, _) = crate::properties::read_in_pieces(Role::Server, 2100, &stream, &[1]);
        prop_assert_eq!(error, None);
        prop_assert_eq!(bytewise, expected);
        let pieces = if whole { &[][..] } else { &pieces };
        crate::properties::same_in_pieces(Role::Server, 2100, &stream, pieces);
    }
}
