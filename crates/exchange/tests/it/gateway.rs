//! Faults of a connection: each gets its answer, and other connections are not affected.

use crate::running::{Client, Running, cancel, config, order, read_to_end, timeless, upgrade};
use std::io::{Read, Write};
use std::time::Duration;
use tungstenite::Message;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::frame::{Frame, FrameHeader};
use wire::frame::{Opcode, write_frame};
use wire::reader::{self, FrameLimits, MessageReader, Role};

const MASK: Option<[u8; 4]> = Some([1, 2, 3, 4]);

/// Another client than the faulty one: its order and cancel work, and nothing else arrives.
fn unharmed(client: &mut Client) {
    assert!(client.ask(&order("mine", "BUY", "1", "1")).contains("BOOKED"));
    assert!(client.ask(&cancel("mine")).contains("CANCELLED"));
}

fn error(reason: &str) -> String {
    format!(r#"{{"type":"ERROR","reason":"{reason}"}}"#)
}

/// The texts and the close code that a connection without a library gets until it ends.
fn texts_and_close(bytes: &[u8]) -> (Vec<String>, Option<u16>) {
    let mut reader = MessageReader::new(Role::Client, FrameLimits::default());
    assert_eq!(reader.fill_from(bytes, 0), bytes.len());
    let (mut texts, mut code_seen) = (Vec::new(), None);
    while let Some(received) = reader.next().unwrap() {
        match received.message {
            reader::Message::Text(text) => {
                texts.push(timeless(std::str::from_utf8(text).unwrap()));
            }
            reader::Message::Close { code, .. } => code_seen = code,
            other => panic!("{other:?}"),
        }
    }
    (texts, code_seen)
}

#[test]
fn unreadable_messages_are_answered_and_the_connection_stays() {
    let running = Running::start(config());
    let mut other = running.login("other");
    let mut client = running.login("3001");
    for (text, reply) in [
        ("{\"type\":", error("malformed JSON at byte 8")),
        ("[]", error("field message is not an object")),
        (r#"{"order":{}}"#, error("field type is missing")),
        (r#"{"type":7}"#, error("field type is not a string")),
        (
            r#"{"type":"MODIFY"}"#,
            error("unknown type; send AUTHENTICATE, SUBSCRIBE, CREATE_ORDER, AMEND_ORDER, CANCEL_ORDER or MASS_CANCEL"),
        ),
        (r#"{"type":"CANCEL_ORDER"}"#, error("field client_id is missing")),
        (
            r#"{"type":"CANCEL_ORDER","client_id":"c"}"#,
            r#"{"type":"REJECTED","client_id":"c","reason":"field instrument_code is missing","time":0,"uid":"3001"}"#.into(),
        ),
        (
            r#"{"type":"CREATE_ORDER","order":{"client_id":"c","price":1}}"#,
            r#"{"type":"REJECTED","client_id":"c","reason":"field order.type is missing","time":0,"uid":"3001"}"#.into(),
        ),
        (
            r#"{"type":"SUBSCRIBE","channels":[{"name":"DEPTH"}]}"#,
            error(r#"unknown channel \"DEPTH\"; there are ORDERS, FEED, BOOK, TRADES and TOP"#),
        ),
    ] {
        assert_eq!(client.ask(text), reply, "{text}");
    }
    unharmed(&mut client);
    unharmed(&mut other);
    let counts = running.stop().0.counts();
    assert_eq!((counts.errors, counts.rejected["unreadable"]), (7, 2));
}

#[test]
fn text_before_authentication_is_rejected_and_ten_times_is_enough() {
    let running = Running::start(config());
    let mut other = running.login("other");
    let mut late = running.connect();
    let rejected = error("not authenticated: send AUTHENTICATE with your api_token first");
    for _ in 0..9 {
        assert_eq!(late.ask(&order("a", "BUY", "1", "1")), rejected);
    }
    late.authenticate("3001");
    unharmed(&mut late);
    let mut never = running.connect();
    for _ in 0..10 {
        assert_eq!(never.ask(&cancel("a")), rejected);
    }
    assert_eq!(never.closed(), 1008);
    unharmed(&mut other);
    assert_eq!(running.stop().0.counts().limits["unauthenticated_messages_max"], 1);
}

#[test]
fn an_unknown_token_is_closed() {
    let tokens = exchange::Tokens::parse("t", "[tokens]\nsecret = \"3001\"").unwrap();
    let running = Running::start(exchange::Config { tokens, ..config() });
    let mut client = running.connect();
    client.authenticate("secret");
    assert!(client.ask(&order("a", "BUY", "1", "1")).contains(r#""uid":"3001""#));
    let mut thief = running.connect();
    let reply = thief.ask(r#"{"type":"AUTHENTICATE","api_token":"3001"}"#);
    assert_eq!(reply, error("unknown api_token"));
    assert_eq!(thief.closed(), 1008);
}

#[test]
fn a_binary_message_is_closed() {
    let running = Running::start(config());
    let mut other = running.login("other");
    let mut client = running.login("3001");
    client.socket.send(Message::binary(vec![1, 2, 3])).unwrap();
    assert_eq!(client.read(), error("binary message; send JSON in a text frame"));
    assert_eq!(client.closed(), 1003);
    unharmed(&mut other);
}

/// With a ping between the fragments, which is answered at once.
#[test]
fn a_fragmented_message_is_one_message() {
    let running = Running::start(config());
    let mut client = running.login("3001");
    let text = order("a", "BUY", "1", "1").into_bytes();
    let parts: Vec<&[u8]> = text.chunks(50).collect();
    for (at, part) in parts.iter().enumerate() {
        let opcode = if at == 0 { Data::Text } else { Data::Continue };
        let (opcode, is_final) = (OpCode::Data(opcode), at + 1 == parts.len());
        let header = FrameHeader { opcode, is_final, ..FrameHeader::default() };
        let frame = Frame::from_payload(header, part.to_vec().into());
        client.socket.send(Message::Frame(frame)).unwrap();
        if at == 1 {
            client.socket.send(Message::Ping(b"still there?".to_vec().into())).unwrap();
        }
    }
    assert_eq!(client.socket.read().unwrap(), Message::Pong(b"still there?".to_vec().into()));
    assert!(client.read().contains("BOOKED"));
}

#[test]
fn an_oversized_message_is_closed() {
    for fragments in [1, 64] {
        let running = Running::start(config());
        let mut other = running.login("other");
        let mut stream = upgrade(&running);
        let payload = vec![b' '; 16 * 1024 / fragments + 1];
        let mut bytes = Vec::new();
        for at in 0..fragments {
            let opcode = if at == 0 { Opcode::Text } else { Opcode::Continuation };
            write_frame(&mut bytes, at + 1 == fragments, opcode, MASK, &payload);
        }
        stream.write_all(&bytes).unwrap();
        let (texts, code) = texts_and_close(&read_to_end(&mut stream));
        let reason = "a message is longer than 16384 bytes (limit message_bytes_max)";
        assert_eq!((texts, code), (vec![error(reason)], Some(1009)));
        unharmed(&mut other);
        assert_eq!(running.stop().0.counts().limits["message_bytes_max"], 1);
    }
}

#[test]
fn a_ping_gets_its_pong_and_a_close_its_echo() {
    let running = Running::start(config());
    // Before authentication too.
    let mut client = running.connect();
    client.socket.send(Message::Ping(b"payload".to_vec().into())).unwrap();
    assert_eq!(client.socket.read().unwrap(), Message::Pong(b"payload".to_vec().into()));
    for (sent, code) in [(&b"\x03\xe9bye"[..], Some(1001)), (&b""[..], None)] {
        let mut stream = upgrade(&running);
        let mut close = Vec::new();
        write_frame(&mut close, true, Opcode::Close, MASK, sent);
        // The exchange does not read past a close.
        write_frame(&mut close, true, Opcode::Ping, MASK, b"ignored");
        stream.write_all(&close).unwrap();
        assert_eq!(texts_and_close(&read_to_end(&mut stream)), (vec![], code));
    }
}

#[test]
fn a_broken_frame_is_closed_with_its_code() {
    let running = Running::start(config());
    let mut other = running.login("other");
    let mut unmasked = Vec::new();
    write_frame(&mut unmasked, true, Opcode::Text, None, b"{}");
    let mut not_utf8 = Vec::new();
    write_frame(&mut not_utf8, true, Opcode::Text, MASK, b"{\"type\":\"\xff\"}");
    for (bytes, expected) in
        [(unmasked, 1002), (b"\xf1\x80\0\0\0\0".to_vec(), 1002), (not_utf8, 1007)]
    {
        let mut stream = upgrade(&running);
        stream.write_all(&bytes).unwrap();
        let (texts, code) = texts_and_close(&read_to_end(&mut stream));
        assert_eq!((texts.len(), code), (1, Some(expected)));
        unharmed(&mut other);
    }
}

#[test]
fn half_a_frame_and_silence_is_closed() {
    let mut config = config();
    config.limits.message_seconds_max = 0.3;
    let running = Running::start(config);
    let mut other = running.login("other");
    let mut whole = Vec::new();
    write_frame(&mut whole, true, Opcode::Text, MASK, cancel("a").as_bytes());
    let mut fragment = Vec::new();
    write_frame(&mut fragment, false, Opcode::Text, MASK, b"{");
    for part in [&whole[..1], &whole[..20], &fragment] {
        let mut stream = upgrade(&running);
        stream.write_all(part).unwrap();
        let (texts, code) = texts_and_close(&read_to_end(&mut stream));
        let reason = "half a message, and the rest did not come (limit message_seconds_max)";
        assert_eq!((texts, code), (vec![error(reason)], Some(1008)));
    }
    // Silence between messages is not a fault.
    unharmed(&mut other);
    assert_eq!(running.stop().0.counts().limits["message_seconds_max"], 3);
}

/// Pings don't extend the time for an incomplete message.
#[test]
fn half_a_message_and_pings_is_closed() {
    let mut config = config();
    config.limits.message_seconds_max = 0.3;
    let running = Running::start(config);
    let mut client = running.connect();
    let header = FrameHeader { is_final: false, ..FrameHeader::default() };
    let header = FrameHeader { opcode: OpCode::Data(Data::Text), ..header };
    let frame = Frame::from_payload(header, b"{".to_vec().into());
    client.socket.send(Message::Frame(frame)).unwrap();
    let mut pongs = 0;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(50));
        // The connection may have ended before a ping.
        let _ = client.socket.send(Message::Ping(b"".to_vec().into()));
        match client.socket.read() {
            Ok(Message::Pong(_)) => pongs += 1,
            Ok(Message::Text(text)) => {
                assert!(text.contains("message_seconds_max"), "{text}");
                assert!(pongs > 0);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("still open");
}

#[test]
fn half_a_head_and_silence_is_closed() {
    let mut config = config();
    config.limits.handshake_seconds_max = 0.3;
    let running = Running::start(config);
    let mut other = running.login("other");
    for part in [&b""[..], b"GET / HTTP/1.1\r\nHost: loc"] {
        let mut stream = running.dial();
        stream.write_all(part).unwrap();
        let answer = String::from_utf8(read_to_end(&mut stream)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
        assert!(answer.contains("limit handshake_seconds_max"), "{answer}");
    }
    unharmed(&mut other);
    assert_eq!(running.stop().0.counts().limits["handshake_seconds_max"], 2);
}

/// The exchange closes a connection that sends nothing.
#[test]
fn who_does_not_authenticate_in_time_is_closed() {
    let mut config = config();
    config.limits.authentication_seconds_max = 0.3;
    let running = Running::start(config);
    let mut other = running.login("other");
    let mut stream = upgrade(&running);
    let (texts, code) = texts_and_close(&read_to_end(&mut stream));
    let reason = "not authenticated in time (limit authentication_seconds_max)";
    assert_eq!((texts, code), (vec![error(reason)], Some(1008)));
    unharmed(&mut other);
    assert_eq!(running.stop().0.counts().limits["authentication_seconds_max"], 1);
}

/// A client closes with half a message sent and replies unread: the kernel resets the connection.
#[test]
fn an_abrupt_close_leaves_the_orders_and_the_others() {
    let running = Running::start(config());
    let mut other = running.login("other");
    for _ in 0..20 {
        let mut client = running.login("3001");
        client.send(&cancel("unknown"));
        client.send(&cancel("unknown"));
        client.socket.get_mut().write_all(&[0x81, 0xff]).unwrap();
    }
    let mut leaving = running.login("3001");
    assert!(leaving.ask(&order("stays", "BUY", "2", "1")).contains("BOOKED"));
    drop(leaving);
    unharmed(&mut other);
    let mut back = running.login("3001");
    assert!(back.ask(&cancel("stays")).contains("CANCELLED"));
}

#[test]
fn plain_requests_share_the_port() {
    let running = Running::start(config());
    let mut stream = running.dial();
    let mut ask = |request: &str, body: &str| {
        stream.write_all(format!("GET {request} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        let mut byte = [0];
        while !answer.ends_with(body) {
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0].into());
        }
        answer
    };
    assert!(ask("/health", "OK").starts_with("HTTP/1.1 200 OK"));
    // The first OK is in the status line.
    assert!(ask("/private/account/user/balances/3001/BTC/10", "none\n").contains("balances"));
    assert!(ask("/nothing", "balances").contains("HTTP/1.1 404 Not Found"));
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", "405"),
        ("HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200"),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "426"),
        ("\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n", "400"),
    ] {
        let mut stream = running.dial();
        stream.write_all(request.as_bytes()).unwrap();
        let answer = String::from_utf8(read_to_end(&mut stream)).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\nDate: "), "{answer}");
        assert_eq!(answer.ends_with("\r\n\r\n"), status == "200", "no body for HEAD: {answer}");
    }
    let mut endless = running.dial();
    endless.write_all(format!("GET /{} HTTP/1.1\r\n", "x".repeat(9000)).as_bytes()).unwrap();
    assert!(String::from_utf8(read_to_end(&mut endless)).unwrap().contains("http_head_bytes_max"));
    assert_eq!(running.stop().0.counts().limits["http_head_bytes_max"], 1);
}

/// A plain request, the upgrade and the first frames in one piece, with a smaller buffer for frames
/// than that.
#[test]
fn what_follows_the_head_in_the_same_read_is_not_lost() {
    let mut config = config();
    config.limits.message_bytes_max = 256;
    let running = Running::start(config);
    let mut bytes = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let key = wire::http::UpgradeKey::from_nonce([9; 16]);
    wire::http::upgrade_request(&mut bytes, "x", "/", &key, &[]);
    let login = br#"{"type":"AUTHENTICATE","api_token":"3001"}"#;
    write_frame(&mut bytes, true, Opcode::Text, MASK, login);
    for n in 0..60 {
        write_frame(&mut bytes, true, Opcode::Text, MASK, cancel(&format!("c{n}")).as_bytes());
    }
    write_frame(&mut bytes, true, Opcode::Close, MASK, b"");
    let mut stream = running.dial();
    stream.write_all(&bytes).unwrap();
    let answer = read_to_end(&mut stream);
    let head = answer.windows(4).rposition(|four| four == b"\r\n\r\n").unwrap() + 4;
    let (texts, _) = texts_and_close(&answer[head..]);
    assert_eq!(texts.len(), 61);
    assert!(texts[60].contains(r#""client_id":"c59""#));
}
