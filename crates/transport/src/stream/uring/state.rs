//! The state of a backend over io_uring: what is requested, and what has completed.

use super::lane::{Request, UringLane};
use super::request::UringRequest;
use super::ring::{Completion, Ring};
use crate::streams::{BELL, Ready, StreamId};
use clock::Clock;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

/// So many calls, and a request that ends at once as a rule has not ended.
pub(super) const CALLS_MAX: u32 = 1000;

pub(super) struct Uring {
    pub(super) clock: Clock,
    pub(super) spins: bool,
    pub(super) ring: Ring,
    pub(super) lanes: Vec<UringLane>,
    pub(super) listener: Option<TcpListener>,
    /// When it is to be polled again after a failed accept.
    pub(super) accept_again_ns: Option<u64>,
    pub(super) bells: Vec<OwnedFd>,
    /// Requests to be made (again), each at most once.
    pub(super) queued: Vec<UringRequest>,
    /// Streams with something to read.
    pub(super) unread: Vec<StreamId>,
    /// Other events that are not reported yet.
    pub(super) found: Vec<Ready>,
    /// How the last write went, when it has completed.
    pub(super) written: Option<i32>,
}

impl Uring {
    pub(super) fn new(clock: Clock, spins: bool) -> io::Result<Uring> {
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

    pub(super) fn socket(&self, id: StreamId) -> io::Result<&TcpStream> {
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
    pub(super) fn enter(&mut self) -> io::Result<()> {
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
    pub(super) fn look(
        &mut self,
        until_ns: u64,
        sleeps: bool,
        ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
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
    pub(super) fn cancel(&mut self, index: u32) -> io::Result<()> {
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
