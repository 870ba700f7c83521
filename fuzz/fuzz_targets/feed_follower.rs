//! A follower of the real engine over any network: it gets in sync, and while it says that it is,
//! its books are the engine's.
#![no_main]

#[path = "../../crates/engine/tests/it/commands/decode.rs"]
mod decode;
#[path = "../../crates/feed/tests/it/exchange/mod.rs"]
mod exchange;
#[path = "../../crates/feed/tests/it/following/mod.rs"]
mod following;
#[path = "../../crates/feed/tests/it/network/mod.rs"]
mod network;

use exchange::Exchange;
use feed::{DATAGRAM_BYTES_MIN, PublisherSettings};

/// Past this an input only takes time.
const COMMANDS_MAX: usize = 200;
/// A command, a step and the fate of a datagram.
const BYTES: usize = decode::COMMAND_BYTES + 2;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [datagram_bytes, replay_packets, data @ ..] = data else { return };
    let Some((limits, data)) = data.split_first_chunk() else { return };
    let limits = decode::decode_limits(limits);
    let (chunks, _) = data.as_chunks::<BYTES>();
    let chunks = &chunks[..chunks.len().min(COMMANDS_MAX)];
    let [fates, steps] = [0, 1].map(|at| chunks.iter().map(|bytes| bytes[at]).collect::<Vec<u8>>());
    let commands: Vec<_> = chunks.iter().filter_map(|bytes| bytes[2..].try_into().ok()).collect();
    let datagram_bytes_max = DATAGRAM_BYTES_MIN + usize::from(*datagram_bytes);
    let settings = PublisherSettings {
        replay_packets_max: 2 + usize::from(*replay_packets % 40),
        ..Exchange::settings(limits, following::INSTRUMENTS, datagram_bytes_max)
    };
    let inputs = decode::decode_inputs(&commands);
    following::follows(limits, &settings, &inputs, &fates, &steps);
});
