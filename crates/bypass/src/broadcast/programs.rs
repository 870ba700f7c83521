//! The two programs of a broadcast in the kernel.
//!
//! `receive` runs on what the interface receives. It takes the datagrams of one flow, tags each
//! with a number in place of the receiver's hardware address, and has the kernel copy it to each
//! entry of a map of interfaces. `leave` runs on each copy as it leaves, and writes the headers of
//! the next receiver.
//!
//! All entries are the same interface, and the kernel does not tell `leave` which of them a copy is
//! for. But it copies a datagram for one entry after the other, on one core, and `leave` sees the
//! copies in that order. So `leave` counts: a new tag is the first receiver's, the same tag once
//! more is the next one's. Where the kernel has no memory for a copy it drops this one and the
//! datagram's later ones, so nobody gets another's.

use super::prepared::slot;
use crate::assembler::{
    Assembler, Helper, Instruction, JumpCondition, Label, Register, Register::*, Width, XDP_DROP,
    XDP_PASS, be16,
};
use crate::program::{expect_ipv4, first_entry};
use crate::protocol::Protocol;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Ethernet, IPv4 without options, and UDP.
const HEADERS_BYTES: i32 = 42;
/// Offsets in such a frame.
const IP: i16 = 14;
const IP_LENGTH: i16 = 16;
const IP_ID: i16 = 18;
const HOPS: i16 = 22;
const PROTOCOL: i16 = 23;
const IP_CHECKSUM: i16 = 24;
const SOURCE: i16 = 26;
const DESTINATION: i16 = 30;
const SOURCE_PORT: i16 = 34;
const DESTINATION_PORT: i16 = 36;
const UDP_LENGTH: i16 = 38;
const UDP_CHECKSUM: i16 = 40;
/// Limit on the hops of a copy, and what follows it: the protocol.
const HOPS_AND_UDP: u16 = 64 << 8 | 17;
/// The flag of a packet that no router may cut.
const DO_NOT_FRAGMENT: u16 = 0x4000;
/// Asks `bpf_redirect_map` for all entries (linux/bpf.h).
const BROADCAST: i32 = 1 << 3;

/// Bytes of each core's state: the latest tag given, the latest seen, and the place of its copy.
pub(crate) const STATE_BYTES: usize = 12;
const GIVEN: i16 = 0;
const SEEN: i16 = 4;
const PLACE: i16 = 8;
/// Bytes of the counts of what was received: datagrams, and bytes of their content.
pub(crate) const RECEIVED_BYTES: usize = 16;

/// Descriptors of the maps.
#[derive(Clone, Copy)]
pub(crate) struct Maps {
    /// The interface, once for each receiver.
    pub(crate) exits: i32,
    /// Headers that `leave` writes, by receiver.
    pub(crate) slots: i32,
    /// Copies that left, by receiver.
    pub(crate) sent: i32,
    pub(crate) state: i32,
    pub(crate) received: i32,
}

/// The program that receives `flow`, from `source` only if that is given.
pub(crate) fn receive(
    flow: SocketAddrV4,
    source: Option<Ipv4Addr>,
    maps: Maps,
) -> Vec<Instruction> {
    let mut text = Assembler::default();
    let pass = text.label();
    expect_ipv4(&mut text, HEADERS_BYTES, pass);
    text.copy(R7, R2);
    let in_packet = |address: Ipv4Addr| u32::from_ne_bytes(address.octets());
    text.load(Width::One, R5, R7, PROTOCOL);
    text.jump_if(R5, JumpCondition::Other, Protocol::Udp.number().into(), pass);
    text.load(Width::Four, R5, R7, DESTINATION);
    text.jump_if_32(R5, JumpCondition::Other, in_packet(*flow.ip()), pass);
    text.load(Width::Two, R5, R7, DESTINATION_PORT);
    text.jump_if(R5, JumpCondition::Other, be16(flow.port()), pass);
    if let Some(source) = source {
        text.load(Width::Four, R5, R7, SOURCE);
        text.jump_if_32(R5, JumpCondition::Other, in_packet(source), pass);
    }
    expect_lengths(&mut text, pass);
    expect_ip_checksum(&mut text, pass);
    // Its counts; R8 is the length of the content.
    first_entry(&mut text, maps.received, pass);
    text.set(R1, 1);
    text.add_atomic(R0, 0, R1);
    text.add_atomic(R0, 8, R8);
    // Its tag.
    first_entry(&mut text, maps.state, pass);
    text.load(Width::Four, R1, R0, GIVEN);
    text.add(R1, 1);
    text.store(Width::Four, R0, GIVEN, R1);
    text.store(Width::Four, R7, 0, R1);
    text.map(R1, maps.exits);
    text.set(R2, 0);
    text.set(R3, BROADCAST);
    text.call(Helper::RedirectMap);
    text.exit_with_r0();
    text.place(pass);
    text.exit(XDP_PASS);
    text.finish()
}

/// Goes to `other` unless the lengths of frame, packet and datagram fit into each other. R8 becomes
/// the length of the content.
fn expect_lengths(text: &mut Assembler, other: Label) {
    // R3: bytes behind the Ethernet header.
    text.subtract_register(R3, R7);
    text.add(R3, -i32::from(IP));
    text.load(Width::Two, R4, R7, IP_LENGTH);
    text.swap_be16(R4);
    text.jump_if_register(R4, JumpCondition::Above, R3, other);
    text.load(Width::Two, R8, R7, UDP_LENGTH);
    text.swap_be16(R8);
    text.copy(R5, R8);
    text.add(R5, 20);
    text.jump_if_register(R5, JumpCondition::Above, R4, other);
    text.set(R5, 8);
    text.jump_if_register(R5, JumpCondition::Above, R8, other);
    text.add(R8, -8);
}

/// Goes to `other` if the IPv4 header is harmed: the copies would have a right one.
fn expect_ip_checksum(text: &mut Assembler, other: Label) {
    text.set(R1, 0);
    for at in (IP..IP + 20).step_by(2) {
        text.load(Width::Two, R5, R7, at);
        text.add_register(R1, R5);
    }
    fold(text, R1);
    text.jump_if(R1, JumpCondition::Other, 0xffff, other);
}

/// Makes a sum one of 16 bits (RFC 1071).
fn fold(text: &mut Assembler, sum: Register) {
    for _ in 0..2 {
        text.copy(R5, sum);
        text.shift_right(R5, 16);
        text.and(sum, 0xffff);
        text.add_register(sum, R5);
    }
}

/// The program that writes a copy's headers. `keeps_checksums`: a datagram's checksum is whole, and
/// stays so. Otherwise copies have none, which IPv4 allows.
pub(crate) fn leave(maps: Maps, keeps_checksums: bool) -> Vec<Instruction> {
    const KEY: i16 = -8;
    let mut text = Assembler::default();
    let (drop, known, counted) = (text.label(), text.label(), text.label());
    text.load(Width::Four, R7, R1, 0);
    text.load(Width::Four, R3, R1, 4);
    text.copy(R4, R7);
    text.add(R4, HEADERS_BYTES);
    text.jump_if_register(R4, JumpCondition::Above, R3, drop);
    // R9: the copy's place among those of its datagram.
    first_entry(&mut text, maps.state, drop);
    text.load(Width::Four, R1, R7, 0);
    text.load(Width::Four, R2, R0, SEEN);
    text.load(Width::Four, R9, R0, PLACE);
    text.add(R9, 1);
    text.jump_if_register(R1, JumpCondition::Equal, R2, known);
    text.set(R9, 0);
    text.store(Width::Four, R0, SEEN, R1);
    text.place(known);
    text.store(Width::Four, R0, PLACE, R9);
    text.store(Width::Four, R10, KEY, R9);
    text.look_up(maps.slots, KEY.into());
    text.jump_if(R0, JumpCondition::Equal, 0, drop);
    text.copy(R8, R0);
    text.load(Width::Four, R1, R8, slot::ACTIVE as i16);
    text.jump_if(R1, JumpCondition::Equal, 0, drop);
    write_udp_checksum(&mut text, keeps_checksums);
    write_headers(&mut text);
    text.look_up(maps.sent, KEY.into());
    text.jump_if(R0, JumpCondition::Equal, 0, counted);
    text.set(R1, 1);
    text.add_atomic(R0, 0, R1);
    text.place(counted);
    text.exit(XDP_PASS);
    text.place(drop);
    text.exit(XDP_DROP);
    text.finish()
}

/// From the packet's old addresses and ports to those of the slot (RFC 1624).
fn write_udp_checksum(text: &mut Assembler, keeps: bool) {
    let (none, write) = (text.label(), text.label());
    text.set(R1, 0);
    if keeps {
        text.load(Width::Two, R1, R7, UDP_CHECKSUM);
        text.jump_if(R1, JumpCondition::Equal, 0, none);
        text.xor(R1, 0xffff);
        for at in [SOURCE, SOURCE + 2, SOURCE_PORT] {
            text.load(Width::Two, R5, R7, at);
            text.xor(R5, 0xffff);
            text.add_register(R1, R5);
        }
        text.load(Width::Four, R5, R8, slot::UDP_CHANGE as i16);
        text.add_register(R1, R5);
        fold(text, R1);
        text.xor(R1, 0xffff);
        text.jump_if(R1, JumpCondition::Other, 0, write);
        // Zero would say that there is none.
        text.set(R1, 0xffff);
    }
    text.place(write);
    text.store(Width::Two, R7, UDP_CHECKSUM, R1);
    text.place(none);
}

fn write_headers(text: &mut Assembler) {
    let copy = |text: &mut Assembler, width, to: i16, from: usize| {
        text.load(width, R1, R8, from as i16);
        text.store(width, R7, to, R1);
    };
    let set = |text: &mut Assembler, width, to: i16, value: i32| {
        text.set(R1, value);
        text.store(width, R7, to, R1);
    };
    for at in [0, 4, 8] {
        copy(text, Width::Four, at as i16, slot::MACS + at);
    }
    set(text, Width::Two, IP, be16(0x4500));
    set(text, Width::Two, IP_ID, 0);
    set(text, Width::Two, IP_ID + 2, be16(DO_NOT_FRAGMENT));
    set(text, Width::Two, HOPS, be16(HOPS_AND_UDP));
    text.load(Width::Four, R1, R8, slot::IP_SUM as i16);
    text.load(Width::Two, R5, R7, IP_LENGTH);
    text.add_register(R1, R5);
    fold(text, R1);
    text.xor(R1, 0xffff);
    text.store(Width::Two, R7, IP_CHECKSUM, R1);
    copy(text, Width::Four, SOURCE, slot::SOURCE);
    copy(text, Width::Four, DESTINATION, slot::SOURCE + 4);
    copy(text, Width::Four, SOURCE_PORT, slot::PORTS);
}
