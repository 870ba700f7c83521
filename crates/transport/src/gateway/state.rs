//! The state of all gateways: what they have sent, and which of them are gone.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use clock::Clock;

use crate::gateway::end::{FEW, GatewayEnd, Stream};
use crate::gateway::hold::{HoldOnEntry, Holder};
use crate::gateway::link::Link;
use crate::gateway::message::{Head, LinkKind, MESSAGE_BYTES_MAX, WINDOW_BYTES};
use crate::streams::{Ready, StreamId};

/// Messages without a stream's bytes that are taken from a gateway before the next one's turn.
const EVENTS_PER_LOOK: usize = 64;
/// While there is always something to read, the gateways are checked once in this many waits.
const WAITS_BETWEEN_CHECKS: u32 = 64;
/// How long a sleeping thread rests before it tries a full ring again.
const FULL_RING_REST_NS: u64 = 100_000;

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
    pub(super) clock: Clock,
    /// The backend's way of waiting.
    pub(super) sleeps: bool,
    /// A backend that spins sleeps now.
    pub(super) rests: bool,
    pub(super) links: Vec<Arc<Link>>,
    pub(super) ends: Vec<GatewayEnd>,
    pub(super) streams: Vec<Option<Stream>>,
    pub(super) incoming: VecDeque<io::Result<StreamId>>,
    pub(super) short_of_room: Vec<StreamId>,
    /// `None`: what comes is read at once.
    holder: Option<Box<Holder>>,
    /// Where a message is put together.
    pub(super) message: Box<[u8]>,
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

    pub(super) fn stream(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(id.index()).and_then(Option::as_mut)
    }

    /// Gives a gateway's stream a number of ours.
    pub(super) fn take_in(&mut self, gateway: usize, number: StreamId) -> StreamId {
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
    pub(super) fn wait_so(
        &mut self,
        sleeps: bool,
        until_ns: u64,
        ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
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

    pub(super) fn say(&mut self, id: StreamId, kind: LinkKind) {
        let Some(&mut Stream { gateway, number, .. }) = self.stream(id) else { return };
        let end = &mut self.ends[gateway];
        end.unsaid.push_back(Head { kind, stream: number, value: 0 });
        end.say();
        self.links[gateway].wake_gateway();
    }
}
