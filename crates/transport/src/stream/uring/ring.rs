//! One io_uring with its registered memory, and which part of that the kernel has now. All `unsafe`
//! of the backend is here.
//!
//! - **Pieces** receive. They are in a ring that the kernel takes them from; a completion gives one
//!   back to us as a [`Piece`], and [`Ring::give_back`] returns it.
//! - **The send buffer** belongs to the kernel from [`Ring::write`] to that write's completion.
//!
//! The kernel runs completions only when this thread enters it (`DEFER_TASKRUN`), so none of them
//! interrupts the thread. It sets a flag in shared memory when there is something to enter it for.

use super::unavailable::UringError;
use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Bytes of a piece: about ten replies.
pub(super) const PIECE_BYTES: usize = 4096;
/// Pieces of a ring; a power of two. The kernel takes them in turn, so that more of them would
/// spread the same messages over more of the cache.
pub(super) const PIECES: u16 = 256;
/// Bytes of one write; more leaves in the next.
pub(super) const SEND_BYTES: usize = 96 * 1024;
/// Requests handed to the kernel by one call.
const SUBMISSIONS: u32 = 256;
/// Completions that fit; past that the kernel keeps them.
const COMPLETIONS: u32 = 4096;
/// The group of the pieces, and the index of the send buffer: there is one of each.
const GROUP: u16 = 0;
const SEND_BUFFER: u16 = 0;
/// How long the end of a ring waits for its cancelled requests, and how often.
const CANCEL_NS: u64 = 10_000_000;
const CANCEL_WAITS: u32 = 100;

/// A piece that the kernel has filled and that is ours until it is given back.
#[derive(Debug)]
pub(super) struct Piece {
    index: u16,
    len: usize,
}

impl Piece {
    /// Bytes received into it.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// The kernel's answer to a request.
#[derive(Debug)]
pub(super) struct Completion {
    /// As it was given with the request.
    pub tag: u64,
    /// As a system call returns it in the kernel: negative is an error's number.
    pub result: i32,
    /// The request goes on.
    pub has_more: bool,
    pub piece: Option<Piece>,
}

pub(super) struct Ring {
    uring: IoUring,
    memory: ManuallyDrop<Memory>,
    /// How many pieces were given to the kernel so far: the tail of their ring.
    tail: u16,
    /// Pieces that are ours now.
    held: u16,
    /// Requests that the kernel has.
    pending: u32,
    /// The write that has the send buffer.
    writing: Option<u64>,
}

impl Ring {
    /// # Errors
    /// If the kernel has no io_uring, not all of it, or forbids it to this process.
    pub(super) fn open() -> Result<Ring, UringError> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)
            .map_err(|error| UringError::of("io_uring_setup", error))?;
        let memory = Memory::new().map_err(|error| UringError::of("mmap", error))?;
        let send = libc::iovec { iov_base: memory.send.start().cast(), iov_len: SEND_BYTES };
        // SAFETY: the memory is unmapped when no request is left, see `drop`.
        unsafe { uring.submitter().register_buffers(&[send]) }
            .map_err(|error| UringError::of("registering the send buffer", error))?;
        let entries = memory.entries.start() as u64;
        // SAFETY: the same; the mapping is aligned to a page and has room for that many entries.
        unsafe { uring.submitter().register_buf_ring_with_flags(entries, PIECES, GROUP, 0) }
            .map_err(|error| UringError::of("registering the receive buffers", error))?;
        let memory = ManuallyDrop::new(memory);
        let mut ring = Ring { uring, memory, tail: 0, held: PIECES, pending: 0, writing: None };
        (0..PIECES).for_each(|index| ring.give_back(Piece { index, len: 0 }));
        Ok(ring)
    }

    /// Whether the kernel has no piece left to receive into.
    pub(super) fn is_out_of_pieces(&self) -> bool {
        self.held == PIECES
    }

    /// The bytes received into a piece.
    pub(super) fn bytes(&self, piece: &Piece) -> &[u8] {
        let start = self.memory.pieces.start().wrapping_add(usize::from(piece.index) * PIECE_BYTES);
        // SAFETY: the piece lies in the mapping, which is initialised. It is ours: `Piece` can't be
        // copied, and the kernel gets its memory again only by `give_back`, which takes it.
        unsafe { std::slice::from_raw_parts(start, piece.len) }
    }

    /// Returns a piece to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self, piece: Piece) {
        let entries = self.memory.entries.start().cast::<BufRingEntry>();
        let start = self.memory.pieces.start().wrapping_add(usize::from(piece.index) * PIECE_BYTES);
        let place = entries.wrapping_add(usize::from(self.tail & (PIECES - 1)));
        // SAFETY: the place is inside the mapping, and the kernel doesn't read it before the tail
        // says so: at most `PIECES` are out. The three fields leave out the tail's own bytes.
        let entry = unsafe { &mut *place };
        entry.set_addr(start as u64);
        entry.set_len(PIECE_BYTES as u32);
        entry.set_bid(piece.index);
        self.tail = self.tail.wrapping_add(1);
        self.held -= 1;
        // SAFETY: `entries` is the address of the first entry.
        let tail = unsafe { BufRingEntry::tail(entries) }.cast_mut();
        // SAFETY: it is aligned, lives as long as the mapping, and is used atomically by all.
        let tail = unsafe { AtomicU16::from_ptr(tail) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Receives from a stream socket until it ends, into pieces.
    ///
    /// # Errors
    /// If the kernel takes no request. [`Ring::submit`] must follow while `socket` is open.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, tag: u64) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fd(socket.as_raw_fd()), GROUP).build();
        // SAFETY: it refers to no memory but the registered pieces.
        unsafe { self.push(entry.user_data(tag)) }
    }

    /// Receives one piece, at most.
    ///
    /// # Errors
    /// As [`Ring::receive`].
    pub(super) fn receive_piece(&mut self, socket: BorrowedFd<'_>, tag: u64) -> io::Result<()> {
        let fd = Fd(socket.as_raw_fd());
        let entry = opcode::Recv::new(fd, std::ptr::null_mut(), PIECE_BYTES as u32)
            .buf_group(GROUP)
            .build()
            .flags(squeue::Flags::BUFFER_SELECT);
        // SAFETY: it refers to no memory but the registered pieces.
        unsafe { self.push(entry.user_data(tag)) }
    }

    /// Completes when `file` is ready for `events`, once or each time.
    ///
    /// # Errors
    /// As [`Ring::receive`].
    pub(super) fn poll(
        &mut self,
        file: BorrowedFd<'_>,
        events: PollFlags,
        repeats: bool,
        tag: u64,
    ) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(file.as_raw_fd()), u32::from(events.bits()));
        // SAFETY: it refers to no memory.
        unsafe { self.push(entry.multi(repeats).build().user_data(tag)) }
    }

    /// Ends the request with that tag early; its last completion still comes.
    ///
    /// # Errors
    /// As [`Ring::receive`].
    pub(super) fn cancel(&mut self, of: u64, tag: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(of).build();
        // SAFETY: it refers to no memory.
        unsafe { self.push(entry.user_data(tag)) }
    }

    /// Writes the first [`SEND_BYTES`] of `from`, or what the socket takes of them at once.
    ///
    /// # Errors
    /// As [`Ring::receive`], and if the last write is not completed.
    #[inline]
    pub(super) fn write(
        &mut self,
        socket: BorrowedFd<'_>,
        from: &[u8],
        tag: u64,
    ) -> io::Result<()> {
        if self.writing.is_some() {
            return Err(io::Error::other("the kernel did not complete the last write"));
        }
        let len = from.len().min(SEND_BYTES);
        let send = self.memory.send.start();
        // SAFETY: the buffer is as long and is ours, since no write has it; `from` is not in it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), send, len) };
        let fd = Fd(socket.as_raw_fd());
        let entry = opcode::WriteFixed::new(fd, send, len as u32, SEND_BUFFER)
            .rw_flags(libc::RWF_NOWAIT)
            .build();
        // SAFETY: the buffer lives as long as the request, and `writing` keeps us out of it.
        unsafe { self.push(entry.user_data(tag)) }?;
        self.writing = Some(tag);
        Ok(())
    }

    /// # Safety
    /// The memory that the entry refers to must live until its last completion.
    #[inline]
    unsafe fn push(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's.
        let mut pushed = unsafe { self.uring.submission().push(&entry) };
        if pushed.is_err() {
            self.submit()?;
            // SAFETY: the caller's.
            pushed = unsafe { self.uring.submission().push(&entry) };
        }
        pushed.map_err(|_| io::Error::from(Errno::BUSY))?;
        self.pending += 1;
        Ok(())
    }

    /// Whether to enter the kernel: there are requests for it, or it has something for us. Makes no
    /// system call.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        let submission = self.uring.submission();
        let is_due = submission.taskrun() || submission.cq_overflow() || !submission.is_empty();
        drop(submission);
        is_due || !self.uring.completion().is_empty()
    }

    /// Enters the kernel without waiting: hands it the requests, takes what is complete.
    ///
    /// # Errors
    /// The error of the system call.
    #[inline]
    pub(super) fn submit(&mut self) -> io::Result<()> {
        passed(self.uring.submit())
    }

    /// The same, and sleeps until a request completes or the time is over.
    ///
    /// # Errors
    /// The error of the system call.
    pub(super) fn sleep(&mut self, timeout_ns: u64) -> io::Result<()> {
        let (seconds, fraction) = (timeout_ns / 1_000_000_000, timeout_ns % 1_000_000_000);
        let timeout = Timespec::new().sec(seconds).nsec(fraction as u32);
        let arguments = SubmitArgs::new().timespec(&timeout);
        passed(self.uring.submitter().submit_with_args(1, &arguments))
    }

    /// The next completion that is here.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Completion> {
        let entry = self.uring.completion().next()?;
        let (tag, result, flags) = (entry.user_data(), entry.result(), entry.flags());
        let has_more = cqueue::more(flags);
        if !has_more {
            self.pending -= 1;
            // No other request has this tag.
            self.writing = self.writing.filter(|writing| *writing != tag);
        }
        let piece = cqueue::buffer_select(flags).map(|index| {
            self.held += 1;
            Piece { index, len: usize::try_from(result).unwrap_or(0).min(PIECE_BYTES) }
        });
        Some(Completion { tag, result, has_more, piece })
    }

    /// Cancels every request and waits until none is left.
    fn cancel_all(&mut self) -> io::Result<()> {
        let everything = io_uring::types::CancelBuilder::any();
        let entry = opcode::AsyncCancel2::new(everything).build();
        // SAFETY: it refers to no memory.
        unsafe { self.push(entry) }?;
        for _ in 0..CANCEL_WAITS {
            self.sleep(CANCEL_NS)?;
            while self.next().is_some() {}
            if self.pending == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Closing the ring would cancel them too, but later, by a thread of the kernel's: until
        // then it may write into the pieces, and sockets stay open.
        let _ = self.cancel_all();
        if self.pending == 0 {
            // SAFETY: nothing uses it after this, and no request refers to it any more. Where one
            // does, the memory is left to the process's end.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// A wait that ends, and a kernel that wants its completions to be taken first, are no errors.
#[inline]
fn passed(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Ok(_) => Ok(()),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            _ => Err(error),
        },
    }
}

struct Memory {
    entries: Pages,
    pieces: Pages,
    send: Pages,
}

impl Memory {
    fn new() -> io::Result<Memory> {
        Ok(Memory {
            entries: Pages::new(usize::from(PIECES) * size_of::<BufRingEntry>())?,
            pieces: Pages::new(usize::from(PIECES) * PIECE_BYTES)?,
            send: Pages::new(SEND_BYTES)?,
        })
    }
}

/// Private memory of whole pages, zeroed and present.
struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

impl Pages {
    fn new(bytes: usize) -> io::Result<Pages> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new mapping at a place that the kernel chooses touches nothing that exists.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::NOMEM)?;
        Ok(Pages { start, bytes })
    }

    fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and whole; its users have ended, see `Ring::drop`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
