//! Properties of connections and sessions that speak SBE. `tests/it/sbe_any.rs` feeds them from
//! proptest, the target `sbe_sessions` in `fuzz/` from libFuzzer.

use super::small::{NEIGHBOUR, SMALL, STRANGER};
use crate::driven::Driven;
use crate::driven::sbe::{SbeClient, id, limit};
use wire::request::Side;
use wire::sbe::client::{encode_cancel_order, encode_new_order};

/// The bytes as one connection's stream, before and after its logon, in one piece and byte by byte:
/// no panic, the same well-formed answers, and the neighbour goes on.
pub fn sbe_stream(stream: &[u8]) {
    for is_logged_on in [false, true] {
        let whole = answers(is_logged_on, stream, usize::MAX);
        assert!(whole == answers(is_logged_on, stream, 1), "portions matter");
    }
}

/// The answers to the stranger, and the final state of the engine.
fn answers(is_logged_on: bool, stream: &[u8], portion_bytes: usize) -> (Vec<u8>, u64) {
    let mut driven = Driven::new(SMALL.clone());
    let mut neighbour = SbeClient::new(&mut driven, NEIGHBOUR, "neighbour");
    neighbour.order(&mut driven, "resting", Side::Buy, "10", "1");
    let mut stranger = match is_logged_on {
        true => SbeClient::new(&mut driven, STRANGER, "stranger"),
        false => {
            driven.open(STRANGER);
            // Frames begin with a zero; other bytes are those of `gateway`.
            driven.feed(STRANGER, &[0]);
            SbeClient::stranger(STRANGER, "stranger")
        }
    };
    for portion in stream.chunks(portion_bytes) {
        driven.feed(STRANGER, portion);
    }
    let answers = driven.answers(STRANGER).clone();
    stranger.told(&mut driven);
    assert!(!(stranger.is_terminated && driven.is_open(STRANGER)), "terminated, but not closed");
    driven.disconnect(STRANGER);

    neighbour.told(&mut driven);
    // The stranger may have traded with the order.
    let told = neighbour.cancel(&mut driven, "resting");
    assert_eq!((told.len(), driven.is_open(NEIGHBOUR)), (1, true));
    assert_eq!(driven.exchange.replay_check().equal, Some(true));
    (answers, driven.exchange.state_hash())
}

/// Two clients trade, and lose their connections at any byte in either direction. Each gets each of
/// its reports once, in order, and no request is executed twice.
pub fn sbe_losses(steps: &[u8]) {
    let mut driven = Driven::new(SMALL.clone());
    let mut clients =
        [SbeClient::new(&mut driven, 0, "left"), SbeClient::new(&mut driven, 1, "right")];
    // The exchange logs this many inputs for its replay; a longer log is not judged.
    for step in steps.chunks_exact(2).take(SMALL.replay_inputs_max / 2) {
        let (what, how) = (step[0], usize::from(step[1]));
        let client = &mut clients[usize::from(what & 1)];
        let name = format!("{}-{}", client.account, how % 6);
        let side = if what & 2 == 0 { Side::Buy } else { Side::Sell };
        let mut request = Vec::new();
        match what & 4 {
            0 => {
                let order = limit(&name, side, "100", "1");
                encode_new_order(&mut request, client.sent + 1, 0, &order);
            }
            _ => encode_cancel_order(&mut request, client.sent + 1, 0, &id(&name)),
        }
        // Half of the connections are lost: some before the whole request is there, and some
        // before the client has read all of the answer.
        let loses = what & 8 != 0;
        let arrives = if loses { (how * 7) % (request.len() + 1) } else { request.len() };
        driven.feed(client.stream, &request[..arrives]);
        client.sent += u64::from(arrives == request.len());
        if !loses {
            client.told(&mut driven);
            continue;
        }
        read_some(client, &mut driven, how);
        driven.disconnect(client.stream);
        let (sent, next) = (client.sent, client.seen + 1);
        let told = client.log_on(&mut driven, false);
        assert_eq!(client.sent, sent, "another session");
        assert_eq!(told[0], format!("ACCEPTED received={sent} next={next} lost=0"));
    }
    assert_eq!(driven.exchange.replay_check().equal, Some(true));
    assert_eq!(driven.exchange.counts().rejected.get("sbe_terminated"), None);
}

/// The client reads whole frames up to some byte; the rest is lost with the connection.
fn read_some(client: &mut SbeClient, driven: &mut Driven, how: usize) {
    let bytes = std::mem::take(driven.answers(client.stream));
    let until = (how * 13) % (bytes.len() + 1);
    let mut whole = 0;
    while let Ok(Some((_, frame_bytes))) = wire::sbe::split(&bytes[whole..until]) {
        whole += frame_bytes;
    }
    client.read(&bytes[..whole]);
}
