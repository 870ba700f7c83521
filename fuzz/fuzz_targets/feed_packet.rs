//! Any bytes are decoded as a datagram or rejected; encoding the result gives the same bytes, as
//! far as this version knows them.
#![no_main]

use feed::{Fault, Packet, PacketHeader, encode_packet};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(packet) = Packet::decode(data) else { return };
    let read: Vec<_> = packet.messages().collect();
    assert!(read.len() <= usize::from(packet.header().count) + 1, "messages from nowhere");
    let refused = read
        .iter()
        .position(|message| matches!(message, Err(fault) if *fault != Fault::UnknownTemplate));
    assert!(refused.is_none_or(|at| at + 1 == read.len()), "it goes on behind a fault");
    let messages: Vec<_> = read.into_iter().flatten().collect();
    let header = PacketHeader { count: messages.len() as u16, ..*packet.header() };
    let mut bytes = vec![0; data.len()];
    // A later version's block may be longer, never shorter.
    let length = encode_packet(&mut bytes, &header, &messages).expect("it takes no more room");
    let again = Packet::decode(&bytes[..length]).expect("it was written by us");
    assert_eq!(again.header(), &header);
    assert!(again.messages().eq(messages.into_iter().map(Ok)));
});
