//! The XDP program: redirects packets of claimed flows to the socket of their queue, and passes
//! everything else to the kernel. Written as instructions, so that nothing needs clang.
//!
//! Encoding: Documentation/bpf/standardization/instruction-set.rst.

use crate::port::Protocol;
use std::net::SocketAddrV4;

/// Limit on the flows that a port claims.
pub const FLOWS_MAX: u32 = 1024;
/// Verdict of an XDP program: the kernel gets the packet (linux/bpf.h, `enum xdp_action`).
const XDP_PASS: i32 = 2;
/// Helpers by number (linux/bpf.h).
const MAP_LOOKUP_ELEM: i32 = 1;
const REDIRECT_MAP: i32 = 51;
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

/// One instruction.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high half.
    registers: u8,
    offset: i16,
    value: i32,
}

/// Width of a load or store.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Width {
    Four = 0x00,
    Two = 0x08,
    One = 0x10,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    Instruction { code, registers: to | from << 4, offset, value }
}

const fn copy(to: u8, from: u8) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, to, 0, 0, value)
}

const fn add(to: u8, value: i32) -> Instruction {
    instruction(0x07, to, 0, 0, value)
}

const fn load(width: Width, to: u8, from: u8, offset: i16) -> Instruction {
    instruction(0x61 | width as u8, to, from, offset, 0)
}

const fn store(width: Width, to: u8, offset: i16, from: u8) -> Instruction {
    instruction(0x63 | width as u8, to, from, offset, 0)
}

const fn call(helper: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, helper)
}

const EXIT: Instruction = instruction(0x95, 0, 0, 0, 0);
/// Jumps to the end, which passes the packet; their offsets are filled in last.
const PASS_UNLESS_ZERO: u8 = 0x55;
const PASS_IF_ZERO: u8 = 0x15;
const PASS_IF_GREATER: u8 = 0x2d;
/// The offset of a jump that is still to be filled in.
const TO_PASS: i16 = i16::MAX;

/// A pointer to a map takes two instructions.
fn map(to: u8, descriptor: i32) -> [Instruction; 2] {
    const IS_A_MAP: u8 = 1;
    [instruction(0x18, to, IS_A_MAP, 0, descriptor), instruction(0, 0, 0, 0, 0)]
}

/// The program over two maps, given by their descriptors: the flows, and the sockets by queue.
pub(crate) fn capture(flows: i32, sockets: i32) -> Vec<Instruction> {
    let be16 = |value: u16| i32::from(u16::from_ne_bytes(value.to_be_bytes()));
    let mut program = vec![
        // r6: context; r2: first byte; r3: behind the last byte.
        copy(6, 1),
        load(Width::Four, 2, 1, 0),
        load(Width::Four, 3, 1, 4),
        copy(4, 2),
        add(4, HEADS_BYTES),
        instruction(PASS_IF_GREATER, 4, 3, TO_PASS, 0),
        // IPv4, without options, not a fragment.
        load(Width::Two, 5, 2, 12),
        instruction(PASS_UNLESS_ZERO, 5, 0, TO_PASS, be16(0x0800)),
        load(Width::One, 5, 2, 14),
        instruction(PASS_UNLESS_ZERO, 5, 0, TO_PASS, 0x45),
        load(Width::Two, 5, 2, 20),
        instruction(0x57, 5, 0, 0, be16(0x3fff)),
        instruction(PASS_UNLESS_ZERO, 5, 0, TO_PASS, 0),
        // The key, on the stack: destination, its port, protocol.
        load(Width::Four, 5, 2, 30),
        store(Width::Four, 10, -8, 5),
        load(Width::Two, 5, 2, 36),
        store(Width::Two, 10, -4, 5),
        set(5, 0),
        store(Width::Two, 10, -2, 5),
        load(Width::One, 5, 2, 23),
        store(Width::One, 10, -2, 5),
    ];
    program.extend(map(1, flows));
    program.extend([
        copy(2, 10),
        add(2, -8),
        call(MAP_LOOKUP_ELEM),
        instruction(PASS_IF_ZERO, 0, 0, TO_PASS, 0),
        // To the socket of this queue; the packet passes if there is none.
        load(Width::Four, 2, 6, 16),
    ]);
    program.extend(map(1, sockets));
    program.extend([set(3, XDP_PASS), call(REDIRECT_MAP), EXIT]);
    let end = program.len();
    for (at, one) in program.iter_mut().enumerate().filter(|(_, one)| one.offset == TO_PASS) {
        one.offset = (end - at - 1) as i16;
    }
    program.extend([set(0, XDP_PASS), EXIT]);
    program
}
