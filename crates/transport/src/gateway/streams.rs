//! The exchange's side of the gateways: all their streams as one set. Its only system calls wake a
//! sleeping gateway, or sleep itself.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use clock::{Clock, Deadline};

use crate::connection::Connection;
use crate::gateway::end::{FEW, GatewayEnd, Stream};
use crate::gateway::hold::{HoldOnEntry, Holder};
use crate::gateway::link::{Handover, Link, PATIENCE, least_busy, told};
use crate::gateway::message::{
    BYTES_MAX, HEAD_BYTES, Head, LinkKind, MESSAGE_BYTES_MAX, WINDOW_BYTES,
};
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};

/// Messages without a stream's bytes that are taken from a gateway before the next one's turn.
const EVENTS_PER_LOOK: usize = 64;
/// While there is always something to read, the gateways are checked once in this many waits.
const WAITS_BETWEEN_CHECKS: u32 = 64;
/// How long a sleeping thread rests before it tries a full ring again.
const FULL_RING_REST_NS: u64 = 100_000;
/// The first sleep of a thread that spun: what it costs if a gateway sends something before it sees
/// that it must wake us.
const FIRST_REST_NS: u64 = 1_000_000;
/// A gateway that is gone. The connections that it had are gone with it.
#[derive(Debug, thiserror::Error)]
#[error("gateway {gateway} of {gateways} is gone, and its connections with it: {why}")]
struct GatewayGone {
    gateway: usize,
    gateways: usize,
    why: String,
}

/// The set of all gateways' streams.
pub(crate) struct Gateways {
    clock: Clock,
    /// The backend's way of waiting.
    sleeps: bool,
    /// A backend that spins sleeps now.
    rests: bool,
    links: Vec<Arc<Link>>,
    ends: Vec<GatewayEnd>,
    streams: Vec<Option<Stream>>,
    incoming: VecDeque<io::Result<StreamId>>,
    short_of_room: Vec<StreamId>,
    /// `None`: what comes is read at once.
    holder: Option<Box<Holder>>,
    /// Where a message is put together.
    message: Box<[u8]>,
    waits: u32,
}

impl Gateways {
    /// Without gateways; waits for none until they are pushed.
    pub(crate) fn new(
        clock: Clock,
        sleeps: bool,
        links: Vec<Arc<Link>>,
        hold: Option<HoldOnEntry>,
    ) -> Gateways {
        Gateways {
            holder: hold.map(|hold| Box::new(Holder::new(hold))),
            clock,
            sleeps,
            rests: false,
            ends: Vec::with_capacity(links.len()),
            links,
            streams: Vec::new(),
            incoming: VecDeque::with_capacity(FEW),
            short_of_room: Vec::with_capacity(FEW),
            message: vec![0; MESSAGE_BYTES_MAX].into_boxed_slice(),
            waits: 0,
        }
    }

    /// The next gateway, of the next link.
    pub(crate) fn push(&mut self, end: GatewayEnd) {
        self.ends.push(end);
    }

    fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(id.index()).and_then(Option::as_mut)
    }

    /// Gives a gateway's stream a number of ours.
    fn take_in(&mut self, gateway: usize, number: StreamId) -> StreamId {
        let index = match self.streams.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                self.streams.push(None);
                self.streams.len() - 1
            }
        };
        let window = WINDOW_BYTES;
        let (watched, short_of_room, ended) = (false, false, None);
        self.streams[index] =
            Some(Stream { gateway, number, window, watched, short_of_room, ended });
        StreamId(index as u32)
    }

    /// Takes what the gateways have sent, from each at most up to the next bytes of a stream. Those
    /// are kept until they are read, with a hold not before they are due; the rest stays in the
    /// ring.
    fn look(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        if !self.incoming.is_empty() {
            ready.push(Ready::Incoming);
        }
        if let Some(holder) = &mut self.holder {
            holder.look(self.clock.now_ns());
        }
        for gateway in 0..self.ends.len() {
            let end = &mut self.ends[gateway];
            end.say();
            if let Some(id) = end.held.stream {
                if self.holder.is_none() {
                    ready.push(Ready::Readable(id));
                }
                continue;
            }
            for _ in 0..EVENTS_PER_LOOK {
                let Some(received) = self.ends[gateway].receive() else {
                    self.ends[gateway].was_empty = true;
                    break;
                };
                let taken = received.and_then(|head| self.take(gateway, head, ready));
                let Some(must_be_read) = taken else {
                    return Err(
                        self.gone(gateway, "it sent a message that makes no sense".to_owned())
                    );
                };
                if must_be_read {
                    break;
                }
            }
        }
        self.release(ready);
        Ok(())
    }

    /// With a hold: reports the next message if it is due.
    #[inline]
    fn release(&mut self, ready: &mut Vec<Ready>) {
        let Gateways { holder: Some(holder), ends, .. } = self else { return };
        if let Some(id) = holder.release(ends).and_then(|gateway| ends[gateway].held.stream) {
            ready.push(Ready::Readable(id));
        }
    }

    /// Whether the message's bytes must be read before the next message; `None` if it can't come
    /// now.
    #[inline]
    fn take(&mut self, gateway: usize, head: Head, ready: &mut Vec<Ready>) -> Option<bool> {
        let Head { kind, stream: number, value } = head;
        let known = self.ends[gateway].numbers.get(number.index()).copied().flatten();
        match (kind, known) {
            (LinkKind::Received, Some(id)) => {
                let end = &mut self.ends[gateway];
                end.held.stream = Some(id);
                (end.held.stamp_ns, end.held.is_released) = (value, false);
                let was_empty = std::mem::take(&mut end.was_empty);
                match &mut self.holder {
                    None => ready.push(Ready::Readable(id)),
                    Some(holder) if was_empty => holder.found(value),
                    Some(_) => {}
                }
                return Some(true);
            }
            (LinkKind::Written, Some(id)) => {
                if let Some(stream) = self.stream(id) {
                    stream.window = (stream.window + value as usize).min(WINDOW_BYTES);
                    if stream.watched {
                        ready.push(Ready::Writable(id));
                    }
                }
            }
            (LinkKind::Ended, Some(id)) => {
                if let Some(stream) = self.stream(id) {
                    stream.ended = Some(value as i32);
                    ready.push(Ready::Readable(id));
                }
            }
            // The stream was removed here, and not yet at the gateway.
            (LinkKind::Received | LinkKind::Written | LinkKind::Ended, None) => {}
            (LinkKind::Opened, None) => {
                if let Some(number) = self.ends[gateway].announced(number) {
                    let id = self.take_in(gateway, number);
                    self.ends[gateway].name(number, id);
                    self.incoming.push_back(Ok(id));
                    ready.push(Ready::Incoming);
                }
            }
            (LinkKind::NotAccepted, _) => {
                self.incoming.push_back(Err(io::Error::from_raw_os_error(value as i32)));
                ready.push(Ready::Incoming);
            }
            _ => return None,
        }
        Some(false)
    }

    /// Lets streams try again that waited for room in a ring.
    fn report_room(&mut self, ready: &mut Vec<Ready>) {
        for index in 0..self.short_of_room.len() {
            let id = self.short_of_room[index];
            let Some(stream) = self.stream(id) else { continue };
            if std::mem::take(&mut stream.short_of_room) && stream.watched {
                ready.push(Ready::Writable(id));
            }
        }
        self.short_of_room.clear();
    }

    fn waits_for_room(&self) -> bool {
        !self.short_of_room.is_empty() || self.ends.iter().any(|end| !end.unsaid.is_empty())
    }

    /// An error if a gateway has ended.
    fn check(&mut self) -> io::Result<()> {
        let Some(gateway) = self.links.iter().position(|link| link.has_ended()) else {
            return Ok(());
        };
        let why = match self.ends[gateway].thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error.to_string(),
            Some(Ok(Ok(()))) | None => "it has ended".to_owned(),
            Some(Err(panic)) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                format!("it panicked: {}", text.unwrap_or_default())
            }
        };
        Err(self.gone(gateway, why))
    }

    fn gone(&self, gateway: usize, why: String) -> io::Error {
        io::Error::other(GatewayGone { gateway, gateways: self.ends.len(), why })
    }

    /// Looks; with `sleeps` and nothing found, sleeps until there is something or until then.
    fn wait_so(&mut self, sleeps: bool, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        let before = ready.len();
        self.look(ready)?;
        self.waits = self.waits.wrapping_add(1);
        let is_idle = ready.len() == before;
        if is_idle || self.waits.is_multiple_of(WAITS_BETWEEN_CHECKS) {
            self.check()?;
        }
        if is_idle && sleeps {
            let mut timeout_ns = until_ns.saturating_sub(self.clock.now_ns());
            if self.waits_for_room() {
                timeout_ns = timeout_ns.min(FULL_RING_REST_NS);
            }
            if let Some(holder) = &self.holder {
                timeout_ns = timeout_ns.min(holder.due_ns().saturating_sub(self.clock.now_ns()));
            }
            if timeout_ns > 0 {
                // A gateway that sends after our look has already unparked us.
                std::thread::park_timeout(Duration::from_nanos(timeout_ns));
                self.look(ready)?;
            }
        }
        if !self.short_of_room.is_empty() {
            self.report_room(ready);
        }
        Ok(())
    }

    fn say(&mut self, id: StreamId, kind: LinkKind) {
        let Some(&mut Stream { gateway, number, .. }) = self.stream(id) else { return };
        let end = &mut self.ends[gateway];
        end.unsaid.push_back(Head { kind, stream: number, value: 0 });
        end.say();
        self.links[gateway].wake_gateway();
    }
}

impl Streams for Gateways {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let gateway = least_busy(&self.links);
        self.links[gateway].one_more();
        let (outcome, added) = channel();
        // Fails only if the gateway has ended; then nobody answers either.
        let _ = self.ends[gateway].given.send(Handover::Added(connection, outcome));
        self.links[gateway].wake_gateway();
        let number = told(&added)?;
        let id = self.take_in(gateway, number);
        self.ends[gateway].added.push_back((number, Some(id)));
        Ok(id)
    }

    fn remove(&mut self, id: StreamId) {
        self.say(id, LinkKind::Remove);
        let Some(stream) = self.streams.get_mut(id.index()).and_then(Option::take) else { return };
        self.ends[stream.gateway].forget(stream.number, id);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.say(id, LinkKind::Shutdown);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        let (outcome, listens) = channel();
        let _ = self.ends[0].given.send(Handover::Listener(listener, outcome));
        self.links[0].wake_gateway();
        told(&listens)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.incoming.pop_front().transpose()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        let stream = self.streams.get(id.index())?.as_ref()?;
        self.links[stream.gateway].peer(stream.number)
    }

    #[inline]
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if std::mem::take(&mut self.rests) {
            self.links.iter().for_each(|link| link.spin());
        }
        self.wait_so(self.sleeps, until_ns, ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.sleeps {
            return self.wait_so(true, until_ns, ready);
        }
        if std::mem::replace(&mut self.rests, true) {
            return self.wait_so(true, until_ns, ready);
        }
        self.links.iter().for_each(|link| link.rest());
        let first_ns = self.clock.now_ns() + FIRST_REST_NS;
        self.wait_so(true, until_ns.min(first_ns), ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        let Some(&mut Stream { gateway, ended, .. }) = self.stream(id) else {
            return StreamRead::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Some(read) = self.ends[gateway].held.read(id, into) {
            return read;
        }
        match ended {
            None => StreamRead::Empty,
            Some(0) => StreamRead::Closed,
            Some(errno) => StreamRead::Failed(io::Error::from_raw_os_error(errno)),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let stream = self.streams.get_mut(id.index()).and_then(Option::as_mut);
        let Some(stream) = stream else {
            return Write::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Some(errno @ 1..) = stream.ended {
            return Write::Failed(io::Error::from_raw_os_error(errno));
        }
        let end = &mut self.ends[stream.gateway];
        let head = Head { kind: LinkKind::Write, stream: stream.number, value: 0 }.encode();
        self.message[..HEAD_BYTES].copy_from_slice(&head);
        let stamp_ns = self.clock.now_ns();
        let wanted = from.len().min(stream.window);
        let mut n = 0;
        // Earlier messages go first.
        while n < wanted && end.unsaid.is_empty() {
            let part = &from[n..wanted.min(n + BYTES_MAX)];
            let message = &mut self.message[..HEAD_BYTES + part.len()];
            message[HEAD_BYTES..].copy_from_slice(part);
            if end.to_gateway.try_send(message).is_err() {
                break;
            }
            n += part.len();
        }
        stream.window -= n;
        if n < wanted && !stream.short_of_room {
            stream.short_of_room = true;
            self.short_of_room.push(id);
        }
        if n > 0 {
            self.links[stream.gateway].wake_gateway();
        }
        Write::Bytes { n, stamp_ns }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        let stream = self.streams.get_mut(id.index()).and_then(Option::as_mut);
        let stream = stream.ok_or(io::ErrorKind::NotConnected)?;
        stream.watched = watch;
        if watch && stream.window > 0 && !stream.short_of_room {
            stream.short_of_room = true;
            self.short_of_room.push(id);
        }
        Ok(())
    }
}

impl Drop for Gateways {
    fn drop(&mut self) {
        self.ends.iter_mut().for_each(GatewayEnd::say);
        self.links.iter().for_each(|link| link.stop());
        let deadline = Deadline::after(PATIENCE);
        for thread in self.ends.iter_mut().filter_map(|end| end.thread.take()) {
            while !thread.is_finished() && !deadline.left().is_zero() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // One that hangs is left to the end of the process.
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}
