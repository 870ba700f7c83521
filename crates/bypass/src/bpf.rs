//! The calls of bpf(2) for maps, programs and links. No libbpf.
//!
//! Layouts are those of `union bpf_attr` in linux/bpf.h. A kernel accepts a structure shorter than
//! its own.

use crate::assembler::Instruction;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const PROG_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;
const LINK_DETACH: i32 = 34;

const PROG_TYPE_XDP: u32 = 6;
/// Bytes of the verifier's words about a program that it rejects.
const LOG_BYTES: usize = 64 << 10;
/// No helper that a program calls is for programs under the GPL alone.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// Kinds of maps.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum MapKind {
    Hash = 1,
    Array = 2,
    /// A value for each core. Only programs use it.
    ArrayOfEachCore = 6,
    /// Interfaces, each with a program that runs on what leaves by it.
    Interfaces = 14,
    Sockets = 17,
}

/// Where a program runs (`enum bpf_attach_type`).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Role {
    /// On frames that leave by an entry of a map of interfaces.
    Leave = 33,
    /// On frames that an interface receives.
    Receive = 37,
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
struct MapEntry {
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

#[repr(C)]
struct LinkDetach {
    link: u32,
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
// SAFETY: it has no addresses.
unsafe impl Attributes for LinkDetach {}
// SAFETY: `Map` fills in the addresses of a key and a value of its sizes. The kernel writes only
// into the value of `read`, which is its own.
unsafe impl Attributes for MapEntry {}
// SAFETY: `load` fills in the addresses of its instructions, of a string that ends in zero, and of
// a log that nothing else uses during the call.
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
        bpf(MAP_UPDATE_ELEM, &self.entry(key, value.as_ptr() as u64)).map(|_| ())
    }

    /// The value of a key.
    pub(crate) fn read(&self, key: &[u8; KEY]) -> io::Result<[u8; VALUE]> {
        let mut value = [0; VALUE];
        bpf(MAP_LOOKUP_ELEM, &self.entry(key, value.as_mut_ptr() as u64))?;
        Ok(value)
    }

    /// Removes a key.
    pub(crate) fn remove(&self, key: &[u8; KEY]) -> io::Result<()> {
        bpf(MAP_DELETE_ELEM, &self.entry(key, 0)).map(|_| ())
    }

    fn entry(&self, key: &[u8; KEY], value: u64) -> MapEntry {
        let map = self.descriptor.as_raw_fd() as u32;
        MapEntry { map, padding: 0, key: key.as_ptr() as u64, value, flags: 0 }
    }
}

/// Loads an XDP program. If the verifier rejects it, the error has the verifier's last words.
pub(crate) fn load(instructions: &[Instruction], role: Role) -> io::Result<OwnedFd> {
    let mut attributes = ProgramLoad {
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
        attach_type: role as u32,
    };
    let why = match bpf(PROG_LOAD, &attributes) {
        Ok(number) => return Ok(descriptor(number)),
        Err(why) if matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => why,
        Err(why) => return Err(why),
    };
    let mut log = vec![0_u8; LOG_BYTES];
    (attributes.log_level, attributes.log_bytes) = (1, LOG_BYTES as u32);
    attributes.log = log.as_mut_ptr() as u64;
    if let Ok(number) = bpf(PROG_LOAD, &attributes) {
        return Ok(descriptor(number));
    }
    let said = String::from_utf8_lossy(&log);
    let lines = said.trim_end_matches('\0').lines().map(str::trim);
    // Its statistics come last.
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("processed "));
    Err(lines
        .next_back()
        .map_or(why, |last| io::Error::new(io::ErrorKind::InvalidInput, last.to_owned())))
}

/// A program that is attached to an interface. It goes when this is dropped, or when its process
/// ends in any way.
pub(crate) struct Link {
    pub(crate) descriptor: OwnedFd,
}

impl Drop for Link {
    /// A process that another thread has just forked has a copy of the descriptor until it starts
    /// its program, and closing ours would leave the program attached until then.
    fn drop(&mut self) {
        let link = self.descriptor.as_raw_fd() as u32;
        // It fails where the interface has gone already.
        let _ = bpf(LINK_DETACH, &LinkDetach { link });
    }
}

/// Attaches a program to an interface. `flags` are `XDP_FLAGS_*` (linux/if_link.h).
pub(crate) fn attach(program: BorrowedFd<'_>, interface: u32, flags: u32) -> io::Result<Link> {
    let program = program.as_raw_fd() as u32;
    let attributes = LinkCreate { program, interface, attach_type: Role::Receive as u32, flags };
    bpf(LINK_CREATE, &attributes).map(|number| Link { descriptor: descriptor(number) })
}
