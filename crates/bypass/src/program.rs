//! The XDP program of a port: redirects packets of claimed flows to the socket of their queue, and
//! passes everything else to the kernel.

use crate::assembler::{
    Assembler, Helper, Instruction, JumpCondition, Label, Register::*, Width, XDP_PASS, be16,
};
use crate::protocol::Protocol;
use std::net::SocketAddrV4;

/// Limit on the flows that a port claims.
pub const FLOWS_MAX: u32 = 1024;
/// Ethernet, IPv4 without options, and the ports.
const HEADS_BYTES: i32 = 14 + 20 + 4;

/// Bytes of a key of the map of flows.
pub(crate) const KEY_BYTES: usize = 8;

/// The key of a flow: address and port of this end as in the packet, the protocol's number, and
/// zero.
pub(crate) fn key(protocol: Protocol, address: SocketAddrV4) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..4].copy_from_slice(&address.ip().octets());
    key[4..6].copy_from_slice(&address.port().to_be_bytes());
    key[6] = protocol.number();
    key
}

/// Goes to `other` unless the packet is IPv4 without options, no fragment, and has `bytes` of
/// headers. Then R6 is the context, R2 the first byte, R3 the one behind the last.
pub(crate) fn expect_ipv4(text: &mut Assembler, bytes: i32, other: Label) {
    text.copy(R6, R1);
    text.load(Width::Four, R2, R1, 0);
    text.load(Width::Four, R3, R1, 4);
    text.copy(R4, R2);
    text.add(R4, bytes);
    text.jump_if_register(R4, JumpCondition::Above, R3, other);
    text.load(Width::Two, R5, R2, 12);
    text.jump_if(R5, JumpCondition::Other, be16(0x0800), other);
    text.load(Width::One, R5, R2, 14);
    text.jump_if(R5, JumpCondition::Other, 0x45, other);
    text.load(Width::Two, R5, R2, 20);
    text.and(R5, be16(0x3fff));
    text.jump_if(R5, JumpCondition::Other, 0, other);
}

/// R0 becomes a pointer to the first value of a map. Goes to `none` if there is none.
pub(crate) fn first_entry(text: &mut Assembler, map: i32, none: Label) {
    text.set(R1, 0);
    text.store(Width::Four, R10, -4, R1);
    text.look_up(map, -4);
    text.jump_if(R0, JumpCondition::Equal, 0, none);
}

/// The program over two maps, given by their descriptors: the flows, and the sockets by queue.
pub(crate) fn capture(flows: i32, sockets: i32) -> Vec<Instruction> {
    const KEY: i16 = -(KEY_BYTES as i16);
    let mut text = Assembler::default();
    let pass = text.label();
    expect_ipv4(&mut text, HEADS_BYTES, pass);
    // The key, on the stack: destination, its port, protocol.
    text.load(Width::Four, R5, R2, 30);
    text.store(Width::Four, R10, KEY, R5);
    text.load(Width::Two, R5, R2, 36);
    text.store(Width::Two, R10, KEY + 4, R5);
    text.load(Width::One, R5, R2, 23);
    text.store(Width::One, R10, KEY + 6, R5);
    text.set(R5, 0);
    text.store(Width::One, R10, KEY + 7, R5);
    text.look_up(flows, KEY.into());
    text.jump_if(R0, JumpCondition::Equal, 0, pass);
    // To the socket of this queue; the packet passes if there is none.
    text.load(Width::Four, R2, R6, 16);
    text.map(R1, sockets);
    text.set(R3, XDP_PASS);
    text.call(Helper::RedirectMap);
    text.exit_with_r0();
    text.place(pass);
    text.exit(XDP_PASS);
    text.finish()
}
