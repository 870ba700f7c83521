//! Compares our frames with tungstenite's, in both directions.

use proptest::prelude::*;
use std::io::{Cursor, Read, Write};
use tungstenite::protocol::{Role as TheirRole, WebSocket, WebSocketConfig};
use tungstenite::{Bytes, Message as Theirs};
use wire::frame::{
    FrameError, Opcode, decode_header, mask_in_place, write_close, write_frame, write_frame_with,
    write_header,
};
use wire::reader::{FrameLimits, Message, MessageReader, Role};

/// The key of the golden files.
const KEY: [u8; 4] = [0xa1, 0xb2, 0xc3, 0xd4];

macro_rules! vector {
    ($name:literal) => {
        include_bytes!(concat!("../../../../clients/vectors/", $name)).as_slice()
    };
}

/// Bytes to read on one side, bytes written on the other.
#[derive(Default)]
struct Pipe {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn tungstenite_reads(stream: Vec<u8>, role: TheirRole, count: usize) -> Vec<Theirs> {
    let pipe = Pipe { input: Cursor::new(stream), output: Vec::new() };
    let mut socket = WebSocket::from_raw_socket(pipe, role, Some(WebSocketConfig::default()));
    (0..count).map(|_| socket.read().expect("a valid frame")).collect()
}

/// Payload sizes, mostly near the limits of the length forms.
fn size() -> impl Strategy<Value = usize> {
    let edges = [0, 1, 7, 8, 9, 124, 125, 126, 127, 128, 65_534, 65_535, 65_536, 65_537];
    prop_oneof![3 => prop::sample::select(edges.to_vec()), 1 => 0..2_000usize]
}

fn payload(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|i| b'a' + ((i as u8).wrapping_mul(31) ^ seed) % 26).collect()
}

proptest! {
    #[test]
    fn tungstenite_reads_our_fragments(
        sizes in prop::collection::vec(size(), 1..5),
        pings in prop::collection::vec(0..=125usize, 0..3),
        mask in any::<Option<[u8; 4]>>(),
    ) {
        // The pings follow the first fragment.
        let (mut stream, mut text) = (Vec::new(), Vec::new());
        for (i, &bytes) in sizes.iter().enumerate() {
            let fragment = payload(bytes, i as u8);
            let opcode = if i == 0 { Opcode::Text } else { Opcode::Continuation };
            write_frame(&mut stream, i + 1 == sizes.len(), opcode, mask, &fragment);
            text.extend(fragment);
            for &bytes in pings.iter().filter(|_| i == 0) {
                write_frame(&mut stream, true, Opcode::Ping, mask, &payload(bytes, 1));
            }
        }
        let role = if mask.is_some() { TheirRole::Server } else { TheirRole::Client };
        let read = tungstenite_reads(stream.clone(), role, 1 + pings.len());
        let text = Theirs::text(String::from_utf8(text).unwrap());
        prop_assert_eq!(read.iter().filter(|message| **message == text).count(), 1);
        prop_assert_eq!(read.iter().filter(|message| message.is_ping()).count(), pings.len());

        // Our own reader must return the same in the same order.
        let role = if mask.is_some() { Role::Server } else { Role::Client };
        let mut ours = Vec::new();
        our_reader_reads(&stream, role, &mut ours);
        prop_assert_eq!(ours, read);
    }

    #[test]
    fn we_read_tungstenites_messages(sizes in prop::collection::vec(size(), 1..5), client in any::<bool>()) {
        let role = if client { TheirRole::Client } else { TheirRole::Server };
        let mut socket = WebSocket::from_raw_socket(Pipe::default(), role, None);
        let mut sent = Vec::new();
        for (i, &bytes) in sizes.iter().enumerate() {
            let payload = payload(bytes, i as u8);
            sent.push(match i % 3 {
                0 => Theirs::text(String::from_utf8(payload).unwrap()),
                1 => Theirs::binary(payload),
                _ => Theirs::Ping(Bytes::from(payload[..bytes.min(125)].to_vec())),
            });
            socket.write(sent[i].clone()).unwrap();
        }
        socket.flush().unwrap();
        let stream = socket.get_mut().output.clone();
        let mut ours = Vec::new();
        our_reader_reads(&stream, if client { Role::Server } else { Role::Client }, &mut ours);
        prop_assert_eq!(ours, sent);
    }

    #[test]
    fn header_round_trips_and_waits_for_its_last_byte(
        fin in any::<bool>(),
        mask in any::<Option<[u8; 4]>>(),
        bytes in prop_oneof![size(), any::<u32>().prop_map(|n| n as usize)],
    ) {
        let mut encoded = Vec::new();
        write_header(&mut encoded, fin, Opcode::Binary, mask, bytes);
        for end in 0..encoded.len() {
            prop_assert_eq!(decode_header(&encoded[..end]), Ok(None));
        }
        let header = decode_header(&encoded).unwrap().unwrap();
        prop_assert_eq!((header.fin, header.opcode, header.mask), (fin, Opcode::Binary, mask));
        prop_assert_eq!(header.payload_bytes, bytes as u64);
        prop_assert_eq!(header.header_bytes, encoded.len());
    }

    #[test]
    fn masking_is_the_rfcs_loop_and_its_own_inverse(
        mut bytes in prop::collection::vec(any::<u8>(), 0..70),
        key in any::<[u8; 4]>(),
    ) {
        let original = bytes.clone();
        let expected: Vec<u8> = bytes.iter().enumerate().map(|(i, b)| b ^ key[i % 4]).collect();
        mask_in_place(&mut bytes, key);
        prop_assert_eq!(&bytes, &expected);
        mask_in_place(&mut bytes, key);
        prop_assert_eq!(bytes, original);
    }

    #[test]
    fn both_ways_to_write_a_frame_agree(
        bytes in size(),
        mask in any::<Option<[u8; 4]>>(),
        before in 0..20usize,
    ) {
        let payload = payload(bytes, 5);
        let (mut one, mut other) = (vec![7; before], vec![7; before]);
        write_frame(&mut one, true, Opcode::Text, mask, &payload);
        write_frame_with(&mut other, Opcode::Text, mask, |out| out.extend_from_slice(&payload));
        prop_assert_eq!(one, other);
    }
}

fn our_reader_reads(stream: &[u8], role: Role, messages: &mut Vec<Theirs>) {
    let limits = FrameLimits { message_bytes_max: 400_000 };
    let mut reader = MessageReader::new(role, limits);
    let mut rest = stream;
    while !rest.is_empty() {
        let taken = reader.fill_from(rest, 0);
        rest = &rest[taken..];
        while let Some(received) = reader.next().expect("a valid frame") {
            messages.push(match received.message {
                Message::Text(text) => Theirs::text(std::str::from_utf8(text).unwrap()),
                Message::Binary(bytes) => Theirs::binary(bytes.to_vec()),
                Message::Ping(bytes) => Theirs::Ping(bytes.to_vec().into()),
                Message::Pong(bytes) => Theirs::Pong(bytes.to_vec().into()),
                Message::Close { .. } => Theirs::Close(None),
            });
        }
    }
}

#[test]
fn a_close_says_why_and_is_cut_where_a_character_ends() {
    let reason = "ü".repeat(100);
    let mut stream = Vec::new();
    write_close(&mut stream, 1009, &reason, Some(KEY));
    let read = tungstenite_reads(stream, TheirRole::Server, 1);
    let [Theirs::Close(Some(close))] = &read[..] else { panic!("{read:?}") };
    assert_eq!(u16::from(close.code), 1009);
    assert_eq!(close.reason.as_str(), "ü".repeat(61));
}

#[test]
fn headers_are_rejected_at_their_second_byte() {
    let rejected = |bytes: &[u8]| decode_header(bytes).unwrap_err();
    assert_eq!(rejected(&[0xC1, 0x80]), FrameError::ReservedBits);
    assert_eq!(rejected(&[0x83, 0x80]), FrameError::UnknownOpcode(3));
    assert_eq!(rejected(&[0x89, 0xFE]), FrameError::ControlTooLong);
    assert_eq!(rejected(&[0x09, 0x80]), FrameError::ControlFragmented);
    assert_eq!(rejected(&[0x81, 126, 0, 125]), FrameError::LengthForm);
    assert_eq!(rejected(&[0x81, 127, 0, 0, 0, 0, 0, 0, 255, 255]), FrameError::LengthForm);
    assert_eq!(rejected(&[0x81, 127, 128, 0, 0, 0, 0, 1, 0, 0]), FrameError::LengthForm);
}

#[test]
fn frames_have_their_golden_bytes() {
    for (opcode, mask, payload, golden) in [
        (
            Opcode::Text,
            Some(KEY),
            vector!("create_order.json"),
            vector!("create_order.client.frame"),
        ),
        (
            Opcode::Text,
            Some(KEY),
            vector!("cancel_order.json"),
            vector!("cancel_order.client.frame"),
        ),
        (Opcode::Text, None, vector!("booked.json"), vector!("booked.server.frame")),
        (Opcode::Ping, Some(KEY), b"tick", vector!("ping.client.frame")),
        (Opcode::Pong, None, b"tick", vector!("pong.server.frame")),
    ] {
        let mut out = Vec::new();
        write_frame_with(&mut out, opcode, mask, |out| out.extend_from_slice(payload));
        assert_eq!(out, golden);
    }
    let mut out = Vec::new();
    write_close(&mut out, 1000, "done", Some(KEY));
    assert_eq!(out, vector!("close.client.frame"));
}
