//! DPDK by way of `shim.c`: the one place where its pointers are held.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};
use std::slice;

/// Packets that are taken from or given to the device at a time.
const BURST: usize = 32;

/// `struct rte_mbuf`, which only DPDK looks into.
#[repr(C)]
struct Packet {
    _opaque: [u8; 0],
}

/// `struct rte_mempool`.
#[repr(C)]
struct Pool {
    _opaque: [u8; 0],
}

#[repr(C)]
struct Step {
    name: *const c_char,
}

unsafe extern "C" {
    fn tp_dpdk_start(argc: c_int, argv: *mut *mut c_char) -> c_int;
    fn tp_dpdk_version() -> *const c_char;
    fn tp_dpdk_open(
        device: *const c_char,
        mtu: u16,
        longest: u16,
        port: *mut u16,
        pool: *mut *mut Pool,
        step: *mut Step,
    ) -> c_int;
    fn tp_dpdk_socket(family: c_int) -> c_int;
    fn tp_dpdk_packet_drops(socket: c_int) -> u32;
    fn tp_dpdk_close(port: u16);
    fn tp_dpdk_register_thread() -> c_int;
    fn tp_dpdk_receive(port: u16, into: *mut *mut Packet, most: u16) -> u16;
    fn tp_dpdk_send(port: u16, packets: *mut *mut Packet, count: u16) -> u16;
    fn tp_dpdk_bytes(packet: *const Packet, length: *mut u16) -> *const u8;
    fn tp_dpdk_make(pool: *mut Pool, length: u16, bytes: *mut *mut u8) -> *mut Packet;
    fn tp_dpdk_free(packet: *mut Packet);
    fn tp_dpdk_missed(port: u16) -> u64;
}

/// A step that failed, and DPDK's reason.
pub(super) struct Failure(pub(super) String, pub(super) io::Error);

fn failure(step: &str, code: c_int) -> Failure {
    Failure(step.to_owned(), io::Error::from_raw_os_error(code.saturating_neg()))
}

/// Starts DPDK in this process, which can be done once. It moves the calling thread to a core.
pub(super) fn start(arguments: &[String]) -> Result<(), Failure> {
    let invalid = |_| failure("read its arguments", -libc::EINVAL);
    let words: Vec<CString> = arguments
        .iter()
        .map(|word| CString::new(word.as_str()))
        .collect::<Result<_, _>>()
        .map_err(invalid)?;
    // DPDK keeps pointers to some of them.
    let mut pointers: Vec<*mut c_char> = words.into_iter().map(CString::into_raw).collect();
    let count = pointers.len() as c_int;
    // SAFETY: `pointers` names `count` texts that end with a zero and are never freed.
    match unsafe { tp_dpdk_start(count, pointers.as_mut_ptr()) } {
        0 => Ok(()),
        code => Err(failure("start DPDK", code)),
    }
}

/// DPDK's name and version.
pub(super) fn version() -> String {
    // SAFETY: a call without arguments.
    let text = unsafe { tp_dpdk_version() };
    // SAFETY: it is a constant text that ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The driver's socket of a family, such as `AF_XDP`, once the device is open.
pub(super) fn socket(family: c_int) -> Result<RawFd, Failure> {
    // SAFETY: the call takes any number.
    let found = unsafe { tp_dpdk_socket(family) };
    if found < 0 { Err(failure("find the driver's socket", -libc::ENOENT)) } else { Ok(found) }
}

/// Frames that the kernel dropped since the last call because a packet socket's ring was full.
pub(super) fn packet_drops(socket: RawFd) -> u64 {
    // SAFETY: the call takes any number, and fails for what is no packet socket.
    unsafe { tp_dpdk_packet_drops(socket) }.into()
}

/// One queue each way of an open device.
pub(super) struct Queue {
    port: u16,
    pool: NonNull<Pool>,
    /// Received packets; those from `next` up to `received` were not taken yet.
    inbound: [*mut Packet; BURST],
    next: usize,
    received: usize,
    /// Written packets that the device has not taken.
    outbound: [*mut Packet; BURST],
    written: usize,
}

// SAFETY: nothing of DPDK's port, pool and packets belongs to a thread; a thread that registered
// keeps packets of the pool for itself, which is its own store and not the queue's.
unsafe impl Send for Queue {}

impl Queue {
    /// Opens the device of that name. `longest`: bytes of the longest frame that may come; `None`:
    /// as long as the MTU allows.
    pub(super) fn open(device: &str, mtu: u16, longest: Option<u16>) -> Result<Queue, Failure> {
        let device = CString::new(device).map_err(|_| failure("find the device", -libc::EINVAL))?;
        let (mut port, mut pool, mut step) =
            (0, ptr::null_mut(), Step { name: c"open the device".as_ptr() });
        let longest = longest.unwrap_or(0);
        // SAFETY: all pointers are to live values of the types that `shim.c` declares.
        let code =
            unsafe { tp_dpdk_open(device.as_ptr(), mtu, longest, &mut port, &mut pool, &mut step) };
        // SAFETY: `step` names a constant text that ends with a zero.
        let step = unsafe { CStr::from_ptr(step.name) }.to_string_lossy();
        let pool = NonNull::new(pool).filter(|_| code == 0);
        let pool = pool.ok_or_else(|| failure(&step, code.min(-1)))?;
        // SAFETY: a call without arguments. Without room for one more thread it only costs time.
        let _ = unsafe { tp_dpdk_register_thread() };
        let none = [ptr::null_mut(); BURST];
        Ok(Queue { port, pool, inbound: none, next: 0, received: 0, outbound: none, written: 0 })
    }

    /// Passes the next frame to `take`; false if there is none.
    #[inline]
    pub(super) fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        if self.next == self.received {
            // SAFETY: `inbound` has room for `BURST` pointers, none of which is in use.
            let received =
                unsafe { tp_dpdk_receive(self.port, self.inbound.as_mut_ptr(), BURST as u16) };
            (self.next, self.received) = (0, usize::from(received));
            if received == 0 {
                return false;
            }
        }
        let packet = self.inbound[self.next];
        self.next += 1;
        let mut length = 0;
        // SAFETY: the packet is ours until it is freed below, and `length` is a live number.
        let start = unsafe { tp_dpdk_bytes(packet, &mut length) };
        // SAFETY: `length` bytes from `start` on are of the packet, and nobody writes them now.
        let bytes = unsafe { slice::from_raw_parts(start, usize::from(length)) };
        take(bytes);
        // SAFETY: it is freed once, and `bytes` is not used any more.
        unsafe { tp_dpdk_free(packet) };
        true
    }

    /// Writes a frame; false if there is no room.
    #[inline]
    pub(super) fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.written == BURST {
            self.flush();
        }
        let Some(length) = u16::try_from(bytes).ok().filter(|_| self.written < BURST) else {
            return false;
        };
        let mut start = ptr::null_mut();
        // SAFETY: the pool lives as long as DPDK, and `start` is a live pointer.
        let packet = unsafe { tp_dpdk_make(self.pool.as_ptr(), length, &mut start) };
        if packet.is_null() {
            return false;
        }
        // SAFETY: the new packet has `length` bytes from `start` on, and nobody else knows it. They
        // are initialised: the pool's memory was zeroed when it was mapped.
        fill(unsafe { slice::from_raw_parts_mut(start, bytes) });
        self.outbound[self.written] = packet;
        self.written += 1;
        true
    }

    /// Gives written frames to the device; those that it has no room for stay.
    #[inline]
    pub(super) fn flush(&mut self) {
        if self.written == 0 {
            return;
        }
        // SAFETY: the first `written` pointers are packets of ours; the device owns those that it
        // takes from then on, which are the first ones.
        let sent =
            unsafe { tp_dpdk_send(self.port, self.outbound.as_mut_ptr(), self.written as u16) };
        self.outbound.copy_within(usize::from(sent)..self.written, 0);
        self.written -= usize::from(sent);
    }

    /// Frames that the device dropped.
    pub(super) fn missed(&self) -> u64 {
        // SAFETY: the port is open.
        unsafe { tp_dpdk_missed(self.port) }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let waiting = self.inbound[self.next..self.received].iter();
        for packet in waiting.chain(&self.outbound[..self.written]) {
            // SAFETY: these packets are ours, and each is freed once.
            unsafe { tp_dpdk_free(*packet) };
        }
        // SAFETY: the port is open, and nobody uses it after this.
        unsafe { tp_dpdk_close(self.port) };
    }
}
