//! The calls of bpf(2) that a port needs: two maps, a program, a link. No libbpf.
//!
//! Layouts are those of `union bpf_attr` in linux/bpf.h. A kernel accepts a structure shorter than
//! its own.

use crate::program::Instruction;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_UPDATE_ELEM: i32 = 2;
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;

const PROG_TYPE_XDP: u32 = 6;
/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;
/// No helper that the program calls is for programs under the GPL alone.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// Kinds of maps.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum MapKind {
    Hash = 1,
    Sockets = 17,
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries_max: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions_count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// A structure for a command of bpf(2).
///
/// # Safety
/// The kernel may follow the addresses in it: they must be those of memory that is valid during the
/// call and as long as the structure says.
unsafe trait Attributes {}

// SAFETY: it has no addresses.
unsafe impl Attributes for MapCreate {}
// SAFETY: it has no addresses.
unsafe impl Attributes for LinkCreate {}
// SAFETY: `update` fills in the addresses of a key and a value of the map's sizes.
unsafe impl Attributes for MapUpdate {}
// SAFETY: `load` fills in the addresses of its instructions and of a string that ends in zero.
unsafe impl Attributes for ProgramLoad {}

fn bpf<T: Attributes>(command: i32, attributes: &T) -> io::Result<i32> {
    let bytes = size_of::<T>();
    // SAFETY: the structure is as long as is said, and its addresses are valid (see the trait).
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, attributes as *const T, bytes) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done as i32) }
}

fn descriptor(number: i32) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// A map of the kernel, with the sizes of its keys and values.
pub(crate) struct Map<const KEY: usize, const VALUE: usize> {
    pub(crate) descriptor: OwnedFd,
}

impl<const KEY: usize, const VALUE: usize> Map<KEY, VALUE> {
    pub(crate) fn create(kind: MapKind, entries_max: u32) -> io::Result<Map<KEY, VALUE>> {
        let attributes = MapCreate {
            kind: kind as u32,
            key_bytes: KEY as u32,
            value_bytes: VALUE as u32,
            entries_max,
            flags: 0,
        };
        Ok(Map { descriptor: descriptor(bpf(MAP_CREATE, &attributes)?) })
    }

    /// Sets the value of a key.
    pub(crate) fn update(&self, key: &[u8; KEY], value: &[u8; VALUE]) -> io::Result<()> {
        let attributes = MapUpdate {
            map: self.descriptor.as_raw_fd() as u32,
            padding: 0,
            key: key.as_ptr() as u64,
            value: value.as_ptr() as u64,
            flags: 0,
        };
        bpf(MAP_UPDATE_ELEM, &attributes).map(|_| ())
    }
}

/// Loads an XDP program.
pub(crate) fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = ProgramLoad {
        kind: PROG_TYPE_XDP,
        instructions_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: *b"tickpath_flows\0\0",
        interface: 0,
        attach_type: ATTACH_XDP,
    };
    bpf(PROG_LOAD, &attributes).map(descriptor)
}

/// Attaches a program to an interface for as long as the descriptor lives. `flags` are
/// `XDP_FLAGS_*` (linux/if_link.h).
pub(crate) fn attach(program: BorrowedFd<'_>, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd() as u32;
    let attributes = LinkCreate { program, interface, attach_type: ATTACH_XDP, flags };
    bpf(LINK_CREATE, &attributes).map(descriptor)
}
