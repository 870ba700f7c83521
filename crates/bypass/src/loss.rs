//! Loses packets on purpose: an XDP program drops some of the IPv4 packets that an interface
//! receives. Numbered by arrival, from 0, a packet is lost or not by its number and a seed alone.

use crate::assembler::{Assembler, Instruction, JumpCondition, Register::*, XDP_DROP, XDP_PASS};
use crate::bpf::{Link, Map, MapKind};
use crate::error::BypassError;
use crate::install::{Places, install};
use crate::program::{expect_ipv4, first_entry};
use crate::routes::Interface;
use std::os::fd::AsRawFd;

/// Ethernet and IPv4 without options.
const HEADERS_BYTES: i32 = 14 + 20;
/// Bytes of the counts: packets that came, and those of them that were dropped.
const COUNTS_BYTES: usize = 16;
const CAME: i16 = 0;
const DROPPED: i16 = 8;
/// SplitMix64 (Steele, Lea, Flood 2014).
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
const ROUNDS: [(i32, u64); 2] = [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)];

/// Packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// IPv4 packets that came, with the dropped ones.
    pub packets: u64,
    /// Packets that were dropped.
    pub dropped: u64,
}

/// An interface that loses packets until this is dropped, or its process ends in any way.
pub struct Loss {
    interface: String,
    counts: Map<4, COUNTS_BYTES>,
    _link: Link,
}

impl Loss {
    /// Drops `percent` of the IPv4 packets that the interface receives, 0 to 100. The driver must
    /// run the program itself, as that of veth does: later, the kernel may have made one packet of
    /// several. The calling thread must be in the interface's network namespace.
    ///
    /// # Errors
    /// If the kernel, the driver, our rights or another program do not allow it.
    pub fn start(interface: &Interface, percent: f64, seed: u64) -> Result<Loss, BypassError> {
        let name = interface.name.clone();
        let counts = Map::create(MapKind::Array, 1).map_err(|source| BypassError::Kernel {
            interface: name.clone(),
            step: "make the map of lost packets",
            source,
        })?;
        let text = program(counts.descriptor.as_raw_fd(), threshold(percent), seed);
        let (link, _) = install(interface, &text, Places::Native)?;
        Ok(Loss { interface: name, counts, _link: link })
    }

    /// Packets so far.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn counts(&self) -> Result<LossCounts, BypassError> {
        let counts = self.counts.read(&[0; 4]).map_err(|source| BypassError::Kernel {
            interface: self.interface.clone(),
            step: "read the counts",
            source,
        })?;
        let (packets, dropped) = counts.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        Ok(LossCounts { packets: number(packets), dropped: number(dropped) })
    }
}

/// Values of 32 random bits below this are losses.
fn threshold(percent: f64) -> u64 {
    (percent.clamp(0.0, 100.0) / 100.0 * (1_u64 << 32) as f64).round() as u64
}

/// The program over the map of counts.
fn program(counts: i32, threshold: u64, seed: u64) -> Vec<Instruction> {
    let mut text = Assembler::default();
    let (pass, lose) = (text.label(), text.label());
    expect_ipv4(&mut text, HEADERS_BYTES, pass);
    first_entry(&mut text, counts, pass);
    text.set(R1, 1);
    text.add_atomic_and_fetch(R0, CAME, R1);
    // R1: the packet's number. The draw of that number, of a generator that starts from the seed.
    text.set_wide(R2, STEP);
    text.multiply_register(R1, R2);
    text.set_wide(R2, seed.wrapping_add(STEP));
    text.add_register(R1, R2);
    for (bits, factor) in ROUNDS {
        text.copy(R2, R1);
        text.shift_right(R2, bits);
        text.xor_register(R1, R2);
        text.set_wide(R2, factor);
        text.multiply_register(R1, R2);
    }
    text.copy(R2, R1);
    text.shift_right(R2, 31);
    text.xor_register(R1, R2);
    text.shift_right(R1, 32);
    text.set_wide(R2, threshold);
    text.jump_if_register(R2, JumpCondition::Above, R1, lose);
    text.place(pass);
    text.exit(XDP_PASS);
    text.place(lose);
    text.set(R1, 1);
    text.add_atomic(R0, DROPPED, R1);
    text.exit(XDP_DROP);
    text.finish()
}
