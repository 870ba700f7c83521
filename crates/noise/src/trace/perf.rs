//! The kernel's events through `perf_event_open`: one descriptor per event, one ring of memory into
//! which the kernel writes records. All of the crate's `unsafe` about events is here;
//! [`crate::trace::records`] reads the records.
//!
//! Layouts: `include/uapi/linux/perf_event.h`, man perf_event_open(2).

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Smallest data area of a ring. The kernel wants a power of two of pages, and a page is at most 64
/// KiB.
const RING_BYTES_MIN: usize = 64 << 10;

/// An event of the kernel's own, counted by software (`PERF_TYPE_SOFTWARE`).
const TYPE_SOFTWARE: u32 = 1;
/// A tracepoint; its number stands in tracefs (`PERF_TYPE_TRACEPOINT`).
const TYPE_TRACEPOINT: u32 = 2;
/// `PERF_COUNT_SW_PAGE_FAULTS`.
const SOFTWARE_PAGE_FAULTS: u64 = 2;

/// `PERF_SAMPLE_TID`: each record names the process and the thread that it is about.
const SAMPLE_TID: u64 = 1 << 1;
/// `PERF_SAMPLE_TIME`: each record ends (a sample begins) with its time.
const SAMPLE_TIME: u64 = 1 << 2;
/// `PERF_SAMPLE_RAW`: a sample contains the tracepoint's data.
const SAMPLE_RAW: u64 = 1 << 10;
/// `PERF_FORMAT_LOST`: reading the descriptor returns the number of lost records; since Linux 6.0.
const FORMAT_LOST: u64 = 1 << 4;

const FLAG_DISABLED: u64 = 1 << 0;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_USE_CLOCKID: u64 = 1 << 25;
const FLAG_CONTEXT_SWITCH: u64 = 1 << 26;

/// `PERF_FLAG_FD_CLOEXEC`.
const OPEN_CLOEXEC: u64 = 1 << 3;
/// `PERF_EVENT_IOC_ENABLE`, `_DISABLE`, `_SET_OUTPUT`: `_IO('$', n)`, without a size.
const ENABLE: u64 = 0x2400;
const DISABLE: u64 = 0x2401;
const SET_OUTPUT: u64 = 0x2405;

/// The target of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PerfTarget {
    /// Switches of a thread, and its page faults in user mode; allowed for one's own threads at
    /// `perf_event_paranoid` 2.
    Thread(i32),
    /// A tracepoint on a core, for all threads.
    Tracepoint {
        /// Its number in tracefs.
        id: u64,
        /// The core.
        core: usize,
    },
    /// Page faults on a core, for all threads.
    Faults {
        /// The core.
        core: usize,
    },
    /// Every switch of threads and every page fault on a core, with the thread's number.
    Threads {
        /// The core.
        core: usize,
    },
}

/// The timeline of the records.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timeline {
    /// `CLOCK_MONOTONIC`, which other programs stamp with.
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`, that of [`clock`].
    MonotonicRaw,
}

/// `struct perf_event_attr` as far as `clockid` (`PERF_ATTR_SIZE_VER3`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
}

const _: () = assert!(size_of::<Attributes>() == 96);

impl Attributes {
    /// An event that is off at first, and writes each record. The kernel wakes a poller when
    /// `wakeup_bytes` are there.
    fn new(what: PerfTarget, timeline: Timeline, wakeup_bytes: u32) -> Attributes {
        let common = FLAG_DISABLED | FLAG_SAMPLE_ID_ALL | FLAG_USE_CLOCKID | FLAG_WATERMARK;
        let (kind, config, sample_type, flags) = match what {
            PerfTarget::Thread(_) => {
                let flags = FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR | FLAG_CONTEXT_SWITCH;
                (TYPE_SOFTWARE, SOFTWARE_PAGE_FAULTS, SAMPLE_TIME, flags)
            }
            // A sample without a tracepoint's content has four bytes of zero in its place.
            PerfTarget::Faults { .. } => {
                (TYPE_SOFTWARE, SOFTWARE_PAGE_FAULTS, SAMPLE_TIME | SAMPLE_RAW, 0)
            }
            PerfTarget::Threads { .. } => {
                let sample = SAMPLE_TID | SAMPLE_TIME;
                (TYPE_SOFTWARE, SOFTWARE_PAGE_FAULTS, sample, FLAG_CONTEXT_SWITCH)
            }
            PerfTarget::Tracepoint { id, .. } => (TYPE_TRACEPOINT, id, SAMPLE_TIME | SAMPLE_RAW, 0),
        };
        Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            sample_period: 1,
            sample_type,
            read_format: FORMAT_LOST,
            flags: common | flags,
            wakeup_watermark: wakeup_bytes,
            clockid: match timeline {
                Timeline::Monotonic => libc::CLOCK_MONOTONIC,
                Timeline::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            },
            ..Attributes::default()
        }
    }
}

/// One event, open. Closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Event {
    descriptor: OwnedFd,
    counts_lost: bool,
}

impl Event {
    /// Opens an event, switched off.
    ///
    /// # Errors
    /// EACCES and EPERM without permission, ENOSYS and ENOENT if the kernel lacks it, ESRCH if the
    /// thread has ended.
    pub(crate) fn open(
        what: PerfTarget,
        timeline: Timeline,
        wakeup_bytes: u32,
    ) -> io::Result<Event> {
        let mut attributes = Attributes::new(what, timeline, wakeup_bytes);
        let opened = open(&attributes, what);
        if opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL)) {
            // A kernel before 6.0 does not count lost records per event.
            attributes.read_format = 0;
            return Ok(Event { descriptor: open(&attributes, what)?, counts_lost: false });
        }
        Ok(Event { descriptor: opened?, counts_lost: true })
    }

    /// Starts it.
    pub(crate) fn enable(&self) -> io::Result<()> {
        self.control(ENABLE, 0)
    }

    /// Stops it.
    pub(crate) fn disable(&self) -> io::Result<()> {
        self.control(DISABLE, 0)
    }

    /// Writes into the ring of `owner` instead of its own. Both must have the same core or thread,
    /// and the same timeline.
    pub(crate) fn write_to(&self, owner: &Event) -> io::Result<()> {
        self.control(SET_OUTPUT, owner.descriptor.as_raw_fd())
    }

    /// Records lost so far because the ring was full; `None` on a kernel that doesn't count them
    /// per event.
    pub(crate) fn lost(&self) -> Option<u64> {
        if !self.counts_lost {
            return None;
        }
        // The event's count, and the number of lost records.
        let mut bytes = [0; 16];
        let length = rustix::io::read(&self.descriptor, &mut bytes).ok()?;
        (length == 16).then(|| u64::from_ne_bytes(bytes[8..].try_into().expect("eight bytes")))
    }

    fn control(&self, request: u64, argument: RawFd) -> io::Result<()> {
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: the descriptor is open; these requests take a number and touch no memory of ours.
        let result = unsafe { libc::ioctl(descriptor, request as _, argument) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn open(attributes: &Attributes, what: PerfTarget) -> io::Result<OwnedFd> {
    let (thread, core) = match what {
        PerfTarget::Thread(thread) => (thread, -1),
        PerfTarget::Tracepoint { core, .. }
        | PerfTarget::Faults { core }
        | PerfTarget::Threads { core } => {
            (-1, libc::c_int::try_from(core).map_err(|_| io::ErrorKind::InvalidInput)?)
        }
    };
    // SAFETY: the kernel reads `size` bytes at the pointer, which are `attributes`; all other
    // arguments are numbers.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            ptr::from_ref(attributes),
            thread,
            core,
            -1,
            OPEN_CLOEXEC,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just opened it for us, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Offset in `struct perf_event_mmap_page` of the kernel's write position.
const DATA_HEAD: usize = 1024;
/// Offset of our read position.
const DATA_TAIL: usize = 1032;

/// The memory into which an event's records are written. Only this reads it.
#[derive(Debug)]
pub(crate) struct Ring {
    mapping: NonNull<c_void>,
    mapped_bytes: usize,
    data_offset: usize,
}

// SAFETY: only this value has the mapping; the kernel does not care which thread reads.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring for `event` of at most `bytes` (a power of two) of records; smaller if less can be
    /// locked in memory (`RLIMIT_MEMLOCK`, `kernel.perf_event_mlock_kb`).
    ///
    /// # Errors
    /// If not even 64 KiB can be locked.
    pub(crate) fn of(event: &Event, bytes: usize) -> io::Result<Ring> {
        let mut bytes = bytes.next_power_of_two().max(RING_BYTES_MIN);
        loop {
            match Ring::map(event, bytes) {
                Err(error) if bytes == RING_BYTES_MIN => return Err(error),
                Err(_) => bytes /= 2,
                Ok(ring) => return Ok(ring),
            }
        }
    }

    fn map(event: &Event, bytes: usize) -> io::Result<Ring> {
        let data_offset = rustix::param::page_size();
        let mapped_bytes = data_offset + bytes;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses the address, so that nothing of ours is replaced.
        let mapping =
            unsafe { mmap(ptr::null_mut(), mapped_bytes, access, flags, &event.descriptor, 0) }?;
        let mapping = NonNull::new(mapping).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { mapping, mapped_bytes, data_offset })
    }

    /// Its capacity, bytes.
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.mapped_bytes - self.data_offset
    }

    /// Moves all present records to the end of `to`. Returns their length, bytes.
    pub(crate) fn drain(&mut self, to: &mut Vec<u8>) -> usize {
        // Acquire: the records up to it have been written.
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.word(DATA_TAIL).load(Ordering::Relaxed);
        let capacity = self.capacity_bytes();
        let there = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(capacity);
        let from = (tail % capacity as u64) as usize;
        let until_wrap = there.min(capacity - from);
        for (from, length) in [(from, until_wrap), (0, there - until_wrap)] {
            // SAFETY: `from + length <= capacity`, so the byte is in the mapping.
            let start = unsafe { self.mapping.byte_add(self.data_offset + from) };
            // SAFETY: `length` bytes from there are in the mapping, and the kernel writes none of
            // those between tail and head until tail moves.
            let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr().cast(), length) };
            to.extend_from_slice(bytes);
        }
        // Release: they have been read when the kernel sees that it may write there.
        self.word(DATA_TAIL).store(tail + there as u64, Ordering::Release);
        there
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets are in the first page of the mapping.
        let word = unsafe { self.mapping.byte_add(offset) };
        // SAFETY: aligned to eight bytes, alive as long as `self`, and written by both sides whole.
        unsafe { AtomicU64::from_ptr(word.as_ptr().cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.mapping.as_ptr(), self.mapped_bytes) };
    }
}
