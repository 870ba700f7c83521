//! A gateway's thread owns sockets, so that the exchange's thread makes no system call for them. It
//! reads into one ring and writes from another.
//!
//! - **If the ring to the exchange is full**, it reads and accepts nothing until the latest read is
//!   in the ring; the kernel's buffers fill, and the clients wait.
//! - **If a client does not read**, at most [`WINDOW_BYTES`] of its answers wait in its lane here.
//!   The exchange's thread counts sent and written bytes, and keeps the rest.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use ipc::ring::{Consumer, Producer};

use crate::connection::Connection;
use crate::gateway::link::{GivenBy, GivenTo, Handover, Link, least_busy};
use crate::gateway::message::{BYTES_MAX, HEAD_BYTES, Head, LinkKind, WINDOW_BYTES};
use crate::streams::{Ready, Sockets, StreamId, StreamRead, Write};

/// Most bytes of one read: a client's burst, or what the exchange's own buffers take at once.
const READ_BYTES: usize = 64 * 1024;
/// Messages from the exchange's thread per turn; a client's answers among them leave in one write.
const ANSWERS_PER_TURN: usize = 64;
/// So many written bytes are told at once: a message for some hundred answers.
const WRITTEN_TOLD_BYTES: u64 = WINDOW_BYTES as u64 / 2;
/// A gateway that spins looks once in this many turns for a listener or streams that it is given.
const TURNS_BETWEEN_GIVEN: u32 = 64;
/// The longest sleep: what a wake-up that never came could cost.
const SLEEP_NS: u64 = 50_000_000;
/// How long a gateway that sleeps rests before it tries a full ring again.
const FULL_RING_REST: Duration = Duration::from_micros(50);

/// State of one stream.
#[derive(Default)]
struct GatewayLane {
    open: bool,
    /// Answers that the socket has not taken.
    out: Vec<u8>,
    /// Bytes that it took and the exchange's thread was not told of.
    written: u64,
    /// In the list of lanes with something to do.
    dirty: bool,
    watched: bool,
    /// The exchange's thread was told that nothing more comes.
    ended: bool,
    /// A write failed: answers are thrown away until the stream is removed.
    broken: bool,
    shutdown: bool,
    removed: bool,
}

/// The part of a read that is not in the ring yet. It lies in the buffer behind room for a head.
struct UnsentPart {
    stream: StreamId,
    stamp_ns: u64,
    start: usize,
    end: usize,
}

pub(crate) struct Gateway {
    clock: Clock,
    streams: Box<dyn Sockets>,
    to_exchange: Producer,
    from_exchange: Consumer,
    index: usize,
    links: Vec<Arc<Link>>,
    given: GivenBy,
    /// Where each gateway is given what was accepted.
    deals: Vec<GivenTo>,
    lanes: Vec<GatewayLane>,
    dirty: Vec<StreamId>,
    ready: Vec<Ready>,
    buffer: Box<[u8]>,
    unsent: Option<UnsentPart>,
    /// Messages for the exchange's thread that follow that.
    untold: VecDeque<Head>,
    /// Something went into the ring since it was woken.
    told: bool,
    turns: u32,
}

/// The parts of a gateway except its sockets, which its own thread makes.
pub(crate) struct GatewayParts {
    pub clock: Clock,
    pub to_exchange: Producer,
    pub from_exchange: Consumer,
    pub index: usize,
    pub links: Vec<Arc<Link>>,
    pub given: GivenBy,
    pub deals: Vec<GivenTo>,
}

impl Gateway {
    pub(crate) fn new(parts: GatewayParts, mut streams: Box<dyn Sockets>) -> io::Result<Gateway> {
        let GatewayParts { clock, to_exchange, from_exchange, index, links, given, deals } = parts;
        streams.wake_by(links[index].bell())?;
        Ok(Gateway {
            clock,
            streams,
            to_exchange,
            from_exchange,
            index,
            links,
            given,
            deals,
            lanes: Vec::new(),
            dirty: Vec::with_capacity(ANSWERS_PER_TURN),
            ready: Vec::with_capacity(1024),
            buffer: vec![0; HEAD_BYTES + READ_BYTES].into_boxed_slice(),
            unsent: None,
            untold: VecDeque::with_capacity(1024),
            told: false,
            turns: 0,
        })
    }

    /// Works until it is stopped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        while !self.links[self.index].is_stopped() {
            self.turn()?;
        }
        // Answers from before the end still leave, as far as the sockets take them.
        while self.take_answers()? {}
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        self.turns = self.turns.wrapping_add(1);
        let sleeps = self.links[self.index].sleeps();
        if sleeps || self.turns.is_multiple_of(TURNS_BETWEEN_GIVEN) {
            self.take_given();
        }
        let busy = self.take_answers()?;
        self.send_on();
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.wait(busy, sleeps, &mut ready);
        for event in ready.drain(..) {
            match event {
                Ready::Readable(id) => self.read(id),
                Ready::Writable(id) => self.flush(id),
                Ready::Incoming => self.accept(),
            }
            // Neither side waits until all sockets are read: a read takes longer than the exchange.
            self.wake_exchange();
            self.take_answers()?;
        }
        self.ready = ready;
        waited
    }

    fn wait(&mut self, busy: bool, sleeps: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        if !sleeps {
            return self.streams.wait(0, ready);
        }
        self.wake_exchange();
        if self.is_held_back() {
            // Sockets that may not be read would end each sleep in epoll at once.
            std::thread::sleep(FULL_RING_REST);
        }
        if self.is_held_back() || busy {
            return self.streams.wait(0, ready);
        }
        let link = self.links[self.index].clone();
        link.falls_asleep();
        self.take_given();
        let late = self.take_answers()? || self.told || link.is_stopped();
        let until_ns = if late { 0 } else { self.clock.now_ns() + SLEEP_NS };
        // It sleeps with a backend that spins, too: nobody uses the exchange then.
        let waited = self.streams.rest(until_ns, ready);
        link.is_awake();
        waited
    }

    fn wake_exchange(&mut self) {
        if std::mem::take(&mut self.told) {
            self.links[self.index].wake_exchange();
        }
    }

    /// Whether something waits for room in the ring.
    fn is_held_back(&self) -> bool {
        self.unsent.is_some() || !self.untold.is_empty()
    }

    /// Sends what waits, as far as there is room: first the bytes read, then everything else.
    fn send_on(&mut self) {
        while let Some(UnsentPart { stream, stamp_ns, start, end }) = &mut self.unsent {
            let head = Head { kind: LinkKind::Received, stream: *stream, value: *stamp_ns };
            // This overwrites the end of the part before, which has been sent.
            self.buffer[*start - HEAD_BYTES..*start].copy_from_slice(&head.encode());
            let part_end = (*end).min(*start + BYTES_MAX);
            if self.to_exchange.try_send(&self.buffer[*start - HEAD_BYTES..part_end]).is_err() {
                return;
            }
            self.told = true;
            *start = part_end;
            if start == end {
                self.unsent = None;
            }
        }
        while let Some(head) = self.untold.front() {
            if self.to_exchange.try_send(&head.encode()).is_err() {
                return;
            }
            self.told = true;
            self.untold.pop_front();
        }
    }

    fn tell(&mut self, kind: LinkKind, stream: StreamId, value: u64) {
        self.untold.push_back(Head { kind, stream, value });
        self.send_on();
    }

    fn is_open(&self, id: StreamId) -> bool {
        self.lanes.get(id.index()).is_some_and(|lane| lane.open)
    }

    fn read(&mut self, id: StreamId) {
        if !self.is_open(id) || self.lanes[id.index()].ended || self.is_held_back() {
            return;
        }
        match self.streams.read(id, &mut self.buffer[HEAD_BYTES..]) {
            StreamRead::Bytes { n, stamp_ns } => {
                let end = HEAD_BYTES + n;
                self.unsent = Some(UnsentPart { stream: id, stamp_ns, start: HEAD_BYTES, end });
                self.send_on();
            }
            StreamRead::Empty => {}
            StreamRead::Closed => self.end(id, 0),
            StreamRead::Failed(error) => self.end(id, number(&error)),
        }
    }

    fn end(&mut self, id: StreamId, errno: u64) {
        self.lanes[id.index()].ended = true;
        self.tell(LinkKind::Ended, id, errno);
    }

    /// Takes what the exchange's thread has sent and writes it; whether there was anything.
    fn take_answers(&mut self) -> io::Result<bool> {
        let Gateway { from_exchange, lanes, dirty, .. } = self;
        let mut broken = false;
        let taken = from_exchange.receive(ANSWERS_PER_TURN, |message| {
            broken |= take(lanes, dirty, message).is_none();
        });
        if broken {
            return Err(io::Error::other("a message of the exchange's thread makes no sense"));
        }
        for index in 0..self.dirty.len() {
            self.flush(self.dirty[index]);
        }
        self.dirty.clear();
        Ok(taken > 0)
    }

    fn flush(&mut self, id: StreamId) {
        if !self.is_open(id) {
            return;
        }
        let lane = &mut self.lanes[id.index()];
        lane.dirty = false;
        if !lane.out.is_empty() {
            match self.streams.write(id, &lane.out) {
                Write::Bytes { n, .. } => {
                    // The common case is that the kernel takes everything, and nothing is moved.
                    lane.out.drain(..n);
                    lane.written += n as u64;
                }
                Write::Failed(error) => {
                    lane.broken = true;
                    lane.out.clear();
                    self.end(id, number(&error));
                }
            }
        }
        let lane = &mut self.lanes[id.index()];
        if lane.removed {
            return self.remove(id);
        }
        let watch = !lane.out.is_empty();
        if watch != lane.watched && self.streams.watch_writable(id, watch).is_ok() {
            lane.watched = watch;
        }
        if lane.out.is_empty() && std::mem::take(&mut lane.shutdown) {
            self.streams.shutdown(id);
        }
        if lane.written >= WRITTEN_TOLD_BYTES {
            let written = std::mem::take(&mut lane.written);
            self.tell(LinkKind::Written, id, written);
        }
    }

    fn remove(&mut self, id: StreamId) {
        self.streams.remove(id);
        self.lanes[id.index()].open = false;
        self.links[self.index].one_less();
    }

    fn take_given(&mut self) {
        while let Ok(given) = self.given.try_recv() {
            // A caller that no longer waits for the outcome has ended.
            match given {
                Handover::Listener(listener, outcome) => {
                    let _ = outcome.send(self.streams.listen(listener));
                }
                Handover::Accepted(stream) => match self.accepted(stream) {
                    Ok(id) => self.tell(LinkKind::Opened, id, 0),
                    Err(error) => self.tell(LinkKind::NotAccepted, StreamId(0), number(&error)),
                },
                Handover::Added(connection, outcome) => {
                    let added = self.added(connection);
                    added.iter().for_each(|id| self.tell(LinkKind::Opened, *id, 0));
                    let _ = outcome.send(added);
                }
            }
        }
    }

    fn accepted(&mut self, stream: TcpStream) -> io::Result<StreamId> {
        let peer = stream.peer_addr().ok();
        let added = self.streams.add_accepted(stream);
        self.adopt(added, peer)
    }

    fn added(&mut self, connection: Connection) -> io::Result<StreamId> {
        let peer = connection.peer_addr().ok();
        let added = self.streams.add(connection);
        self.adopt(added, peer)
    }

    /// Makes room for a stream that was counted among ours as it was dealt.
    fn adopt(
        &mut self,
        added: io::Result<StreamId>,
        peer: Option<SocketAddr>,
    ) -> io::Result<StreamId> {
        let Ok(id) = added else {
            self.links[self.index].one_less();
            return added;
        };
        while self.lanes.len() <= id.index() {
            self.lanes.push(GatewayLane::new());
        }
        self.lanes[id.index()].reset();
        self.links[self.index].set_peer(id, peer);
        Ok(id)
    }

    /// Accepts all waiting connections and deals each to the gateway that has the fewest. The
    /// kernel (SO_REUSEPORT) would deal by a hash; of 16 connections one gateway then gets eleven.
    fn accept(&mut self) {
        while !self.is_held_back() {
            match self.streams.accept_socket() {
                Ok(Some(stream)) => {
                    let to = least_busy(&self.links);
                    self.links[to].one_more();
                    // Fails only if that gateway has ended, and then the exchange ends too.
                    let _ = self.deals[to].send(Handover::Accepted(stream));
                    self.links[to].wake_gateway();
                }
                Ok(None) => break,
                Err(error) => {
                    self.tell(LinkKind::NotAccepted, StreamId(0), number(&error));
                    break;
                }
            }
        }
        self.take_given();
    }
}

impl GatewayLane {
    fn new() -> GatewayLane {
        GatewayLane { out: Vec::with_capacity(WINDOW_BYTES), ..GatewayLane::default() }
    }

    /// For the next stream of this number; the buffer stays.
    fn reset(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        *self = GatewayLane { open: true, out, ..GatewayLane::default() };
    }
}

/// Notes what a message of the exchange's thread asks for; `None` if it makes no sense.
fn take(lanes: &mut [GatewayLane], dirty: &mut Vec<StreamId>, message: &[u8]) -> Option<()> {
    let (Head { kind, stream, .. }, bytes) = Head::decode(message)?;
    let lane = lanes.get_mut(stream.index()).filter(|lane| lane.open)?;
    match kind {
        LinkKind::Write if lane.broken => {}
        LinkKind::Write => lane.out.extend_from_slice(bytes),
        LinkKind::Shutdown => lane.shutdown = true,
        LinkKind::Remove => lane.removed = true,
        _ => return None,
    }
    if !lane.dirty {
        lane.dirty = true;
        dirty.push(stream);
    }
    Some(())
}

/// An error as the number that the other thread makes the same error of.
fn number(error: &io::Error) -> u64 {
    let unknown = rustix::io::Errno::IO.raw_os_error();
    u64::from(error.raw_os_error().unwrap_or(unknown).unsigned_abs())
}
