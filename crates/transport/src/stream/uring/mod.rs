//! The backends over io_uring: `io_uring` sleeps until a request completes, `io_uring_spin` reads a
//! flag in shared memory. They differ in [`Streams::wait`] alone.
//!
//! - **Receiving**: one multishot request a stream, into registered pieces of memory. Bytes arrive
//!   while this thread is in the kernel, and [`Streams::read`] copies them out of the pieces. All
//!   that one call brought has one stamp, taken first thing after it returned.
//! - **Writing**: from a registered buffer, completed within its own call (`RWF_NOWAIT`), so that
//!   its stamp and a partial write mean what they mean with the other backends.
//! - **Everything else** (new connections, streams that take bytes again, bells) is polled.
//!
//! A request that has ended and is still wanted is made again by the next wait, in the order in
//! which they ended. A stream that takes more than its share of the pieces gets them one at a time,
//! since a multishot request takes as many as its peer can fill, and other streams then get none.
//!
//! See docs/decisions/019-backends-over-io-uring.md.

mod lane;
#[allow(unsafe_code)]
mod ring;
mod unavailable;

use crate::connection::Connection;
use crate::stream::socket::{ACCEPT_AGAIN_NS, prepare, wake_on_time, would_block};
use crate::streams::{BELL, Ready, Sockets, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use lane::{Request, UringLane};
use ring::{Completion, Ring};
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// So many calls, and a request that ends at once as a rule has not ended.
const CALLS_MAX: u32 = 1000;

pub(crate) fn spin(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    Ok(Box::new(Uring::new(clock, true)?))
}

pub(crate) fn sleep(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    let uring = Uring::new(clock, false)?;
    wake_on_time()?;
    Ok(Box::new(uring))
}

/// A request to the kernel, with the number that its answer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UringRequest {
    Receive(u32),
    Writable(u32),
    Listener,
    /// The bell of that number.
    Bell(u32),
    Write,
    Cancel(u32),
}

impl UringRequest {
    fn tag(self) -> u64 {
        let (kind, lane) = match self {
            UringRequest::Receive(lane) => (0, lane),
            UringRequest::Writable(lane) => (1, lane),
            UringRequest::Listener => (2, 0),
            UringRequest::Bell(number) => (3, number),
            UringRequest::Write => (4, 0),
            UringRequest::Cancel(lane) => (5, lane),
        };
        u64::from(lane) << 3 | kind
    }

    fn of(tag: u64) -> UringRequest {
        let lane = (tag >> 3) as u32;
        match tag & 7 {
            0 => UringRequest::Receive(lane),
            1 => UringRequest::Writable(lane),
            2 => UringRequest::Listener,
            3 => UringRequest::Bell(lane),
            4 => UringRequest::Write,
            _ => UringRequest::Cancel(lane),
        }
    }
}

struct Uring {
    clock: Clock,
    spins: bool,
    ring: Ring,
    lanes: Vec<UringLane>,
    listener: Option<TcpListener>,
    /// When it is to be polled again after a failed accept.
    accept_again_ns: Option<u64>,
    bells: Vec<OwnedFd>,
    /// Requests to be made (again), each at most once.
    queued: Vec<UringRequest>,
    /// Streams with something to read.
    unread: Vec<StreamId>,
    /// Other events that are not reported yet.
    found: Vec<Ready>,
    /// How the last write went, when it has completed.
    written: Option<i32>,
}

impl Uring {
    fn new(clock: Clock, spins: bool) -> io::Result<Uring> {
        Ok(Uring {
            clock,
            spins,
            ring: Ring::open()?,
            lanes: Vec::new(),
            listener: None,
            accept_again_ns: None,
            bells: Vec::new(),
            queued: Vec::with_capacity(64),
            unread: Vec::with_capacity(64),
            found: Vec::with_capacity(64),
            written: None,
        })
    }

    fn socket(&self, id: StreamId) -> io::Result<&TcpStream> {
        self.lanes
            .get(id.index())
            .and_then(|lane| lane.socket.as_ref())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the stream was removed"))
    }

    /// Makes the requests that are queued, as far as that makes sense now.
    fn arm_queued(&mut self) -> io::Result<()> {
        let mut kept = 0;
        for index in 0..self.queued.len() {
            let about = self.queued[index];
            if !self.arm(about)? {
                self.queued[kept] = about;
                kept += 1;
            }
        }
        self.queued.truncate(kept);
        Ok(())
    }

    /// Whether the request need not stay queued.
    fn arm(&mut self, about: UringRequest) -> io::Result<bool> {
        let Uring { ring, lanes, listener, bells, .. } = self;
        let tag = about.tag();
        match about {
            // It would end at once; the streams that have the pieces are read first.
            UringRequest::Receive(_) if ring.is_out_of_pieces() => return Ok(false),
            UringRequest::Receive(index) => {
                let lane = &mut lanes[index as usize];
                if lane.has_its_share() && lane.wants_request() {
                    return Ok(false);
                }
                lane.receive = Request::Off;
                if let Some(socket) = lane.socket.as_ref().filter(|_| lane.wants_request()) {
                    match lane.rationed {
                        false => ring.receive(socket.as_fd(), tag)?,
                        true => ring.receive_piece(socket.as_fd(), tag)?,
                    }
                    lane.receive = Request::Armed;
                }
            }
            UringRequest::Writable(index) => {
                let lane = &mut lanes[index as usize];
                lane.poll = Request::Off;
                if let Some(socket) = lane.socket.as_ref().filter(|_| lane.watched) {
                    ring.poll(socket.as_fd(), PollFlags::OUT, false, tag)?;
                    lane.poll = Request::Armed;
                }
            }
            UringRequest::Listener => {
                if self.accept_again_ns.is_some_and(|again_ns| self.clock.now_ns() < again_ns) {
                    return Ok(false);
                }
                self.accept_again_ns = None;
                if let Some(listener) = listener {
                    ring.poll(listener.as_fd(), PollFlags::IN, false, tag)?;
                }
            }
            UringRequest::Bell(number) => {
                ring.poll(bells[number as usize].as_fd(), PollFlags::IN, true, tag)?;
            }
            UringRequest::Write | UringRequest::Cancel(_) => {}
        }
        Ok(true)
    }

    /// Enters the kernel and takes what is complete.
    #[inline]
    fn enter(&mut self) -> io::Result<()> {
        let entered = self.ring.submit();
        let stamp_ns = self.clock.now_ns();
        self.take_completions(stamp_ns);
        entered
    }

    fn sleep(&mut self, until_ns: u64) -> io::Result<()> {
        let until_ns = until_ns.min(self.accept_again_ns.unwrap_or(u64::MAX));
        let slept = self.ring.sleep(until_ns.saturating_sub(self.clock.now_ns()));
        let stamp_ns = self.clock.now_ns();
        self.take_completions(stamp_ns);
        slept
    }

    #[inline]
    fn take_completions(&mut self, stamp_ns: u64) {
        while let Some(completion) = self.ring.next() {
            match UringRequest::of(completion.tag) {
                UringRequest::Receive(index) => self.received(index, completion, stamp_ns),
                UringRequest::Writable(index) => self.writable(index),
                UringRequest::Listener => {
                    self.find(Ready::Incoming);
                    self.queued.push(UringRequest::Listener);
                }
                UringRequest::Bell(number) => {
                    self.find(Ready::Readable(BELL));
                    if !completion.has_more {
                        self.queued.push(UringRequest::Bell(number));
                    }
                }
                UringRequest::Write => self.written = Some(completion.result),
                UringRequest::Cancel(index) => self.lanes[index as usize].cancelling = false,
            }
        }
    }

    #[inline]
    fn look(&mut self, until_ns: u64, sleeps: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.strike_read();
        self.arm_queued()?;
        let is_idle = self.unread.is_empty() && self.found.is_empty();
        if is_idle && sleeps && until_ns > self.clock.now_ns() {
            self.sleep(until_ns)?;
        } else if self.ring.is_due() {
            self.enter()?;
        }
        ready.append(&mut self.found);
        ready.extend(self.unread.iter().copied().map(Ready::Readable));
        Ok(())
    }

    fn find(&mut self, ready: Ready) {
        if !self.found.contains(&ready) {
            self.found.push(ready);
        }
    }

    fn received(&mut self, index: u32, completion: Completion, stamp_ns: u64) {
        let lane = &mut self.lanes[index as usize];
        let has_ended = !completion.has_more;
        lane.completed(completion, stamp_ns, &mut self.ring);
        if has_ended {
            lane.receive = Request::Off;
            if lane.wants_request() {
                lane.receive = Request::Queued;
                self.queued.push(UringRequest::Receive(index));
            }
        } else if lane.rationed && !lane.cancelling {
            // Without a place in the queue the next completion tries again.
            let tags = (UringRequest::Receive(index).tag(), UringRequest::Cancel(index).tag());
            lane.cancelling = self.ring.cancel(tags.0, tags.1).is_ok();
        }
        if !lane.listed && lane.is_readable() {
            lane.listed = true;
            self.unread.push(StreamId(index));
        }
    }

    fn writable(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        lane.poll = Request::Off;
        if lane.socket.is_some() && lane.watched {
            self.found.push(Ready::Writable(StreamId(index)));
            lane.poll = Request::Queued;
            self.queued.push(UringRequest::Writable(index));
        }
    }

    /// Takes streams off the list of which everything was read.
    #[inline]
    fn strike_read(&mut self) {
        let lanes = &mut self.lanes;
        self.unread.retain(|id| {
            let lane = &mut lanes[id.index()];
            lane.listed = lane.is_readable();
            lane.listed
        });
    }

    /// Cancels the requests of a stream that is removed, and waits for their ends: until then the
    /// kernel keeps the socket open.
    fn cancel(&mut self, index: u32) -> io::Result<()> {
        let lane = &self.lanes[index as usize];
        let (receives, polls) = (lane.receive == Request::Armed, lane.poll == Request::Armed);
        if receives {
            self.ring
                .cancel(UringRequest::Receive(index).tag(), UringRequest::Cancel(index).tag())?;
        }
        if polls {
            self.ring
                .cancel(UringRequest::Writable(index).tag(), UringRequest::Cancel(index).tag())?;
        }
        for _ in 0..CALLS_MAX {
            if self.lanes[index as usize].is_vacant() {
                return Ok(());
            }
            self.enter()?;
        }
        Err(Errno::TIMEDOUT.into())
    }
}

impl Streams for Uring {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let stream = connection.into_plain()?;
        prepare(&stream)?;
        // io_uring waits by itself; on a socket that does not block its requests give up at once.
        stream.set_nonblocking(false)?;
        let index = match self.lanes.iter().position(UringLane::is_vacant) {
            Some(index) => index,
            None => {
                self.lanes.push(UringLane::default());
                // Each stream has at most two requests and is found at most once for each.
                self.queued.reserve(2 * self.lanes.len());
                self.unread.reserve(self.lanes.len());
                self.found.reserve(self.lanes.len());
                self.lanes.len() - 1
            }
        };
        let lane = &mut self.lanes[index];
        lane.open(stream);
        if lane.receive == Request::Off {
            lane.receive = Request::Queued;
            self.queued.push(UringRequest::Receive(index as u32));
        }
        Ok(StreamId(index as u32))
    }

    fn remove(&mut self, id: StreamId) {
        let Some(lane) = self.lanes.get_mut(id.index()) else { return };
        let Some(socket) = lane.socket.take() else { return };
        lane.clear(&mut self.ring);
        if self.cancel(id.0).is_err() {
            // The kernel still has it; its peer is told nevertheless.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        if let Ok(socket) = self.socket(id) {
            // A stream that is already broken is found by the next read.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listener = Some(listener);
        self.queued.push(UringRequest::Listener);
        Ok(())
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.accept_socket()?.map(|stream| self.add(stream.into())).transpose()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.socket(id).ok()?.peer_addr().ok()
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.look(until_ns, !self.spins, ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.look(until_ns, true, ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        match self.lanes.get_mut(id.index()) {
            Some(lane) if lane.socket.is_some() => lane.read(into, &mut self.ring),
            _ => StreamRead::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let Uring { ring, lanes, .. } = self;
        let Some(socket) = lanes.get(id.index()).and_then(|lane| lane.socket.as_ref()) else {
            return Write::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Err(error) = ring.write(socket.as_fd(), from, UringRequest::Write.tag()) {
            return Write::Failed(error);
        }
        self.written = None;
        let stamp_ns = self.clock.now_ns();
        for _ in 0..CALLS_MAX {
            if let Err(error) = self.enter() {
                return Write::Failed(error);
            }
            if let Some(result) = self.written {
                return outcome(result, stamp_ns);
            }
        }
        Write::Failed(Errno::TIMEDOUT.into())
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.socket(id)?;
        let lane = &mut self.lanes[id.index()];
        lane.watched = watch;
        if watch && lane.poll == Request::Off {
            lane.poll = Request::Queued;
            self.queued.push(UringRequest::Writable(id.0));
        }
        Ok(())
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.socket(id)?;
        let lane = &mut self.lanes[id.index()];
        lane.paused = !watch;
        match lane.receive {
            Request::Off if watch => {
                lane.receive = Request::Queued;
                self.queued.push(UringRequest::Receive(id.0));
            }
            // Its last completion comes with a later call, and makes no new request while paused.
            Request::Armed if !watch => {
                self.ring
                    .cancel(UringRequest::Receive(id.0).tag(), UringRequest::Cancel(id.0).tag())?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn outcome(result: i32, stamp_ns: u64) -> Write {
    if let Ok(n) = usize::try_from(result) {
        return Write::Bytes { n, stamp_ns };
    }
    let error = io::Error::from_raw_os_error(-result);
    match would_block(&error) {
        true => Write::Bytes { n: 0, stamp_ns },
        false => Write::Failed(error),
    }
}

impl Sockets for Uring {
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        let Some(listener) = &self.listener else { return Ok(None) };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if would_block(&error) => Ok(None),
            // The peer was gone before we came to it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => {
                self.accept_again_ns = Some(self.clock.now_ns() + ACCEPT_AGAIN_NS);
                Err(error)
            }
        }
    }

    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        if !self.spins {
            self.queued.push(UringRequest::Bell(self.bells.len() as u32));
            self.bells.push(bell.try_clone_to_owned()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
