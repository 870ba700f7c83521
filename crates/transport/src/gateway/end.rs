//! One gateway as the exchange's thread sees it: its ends of the rings, and its streams.

use std::collections::VecDeque;
use std::io;
use std::thread::JoinHandle;

use ipc::ring::{Consumer, Producer};

use crate::gateway::link::GivenTo;
use crate::gateway::message::{BYTES_MAX, Head};
use crate::streams::{StreamId, StreamRead};

/// First capacity of the lists that are empty most of the time.
pub(crate) const FEW: usize = 64;

/// The bytes that were received last and not read yet.
pub(crate) struct Remainder {
    pub stream: Option<StreamId>,
    pub stamp_ns: u64,
    /// With a hold: whether they may be read.
    pub is_released: bool,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

/// This thread's end of one gateway.
pub(crate) struct GatewayEnd {
    pub to_gateway: Producer,
    from_gateway: Consumer,
    pub held: Remainder,
    /// The last look found its ring empty.
    pub was_empty: bool,
    /// Messages that found no room in the ring; while there are any, nothing is written either. At
    /// most one end of our side and one removal per stream.
    pub unsaid: VecDeque<Head>,
    /// Our number of the gateway's streams, of those that it has announced.
    pub numbers: Vec<Option<StreamId>>,
    /// Streams given to the gateway that it has not announced: its number, and ours unless removed
    /// meanwhile. Messages before the announcement belong to the number's previous stream.
    pub added: VecDeque<(StreamId, Option<StreamId>)>,
    pub given: GivenTo,
    /// `None` once it was found to have ended.
    pub thread: Option<JoinHandle<io::Result<()>>>,
}

pub(crate) struct Stream {
    pub gateway: usize,
    /// The gateway's number of it.
    pub number: StreamId,
    /// Bytes that the gateway still takes.
    pub window: usize,
    pub watched: bool,
    /// In the list of those that wait for room in the ring.
    pub short_of_room: bool,
    /// The error's number, 0 for an orderly end.
    pub ended: Option<i32>,
}

impl GatewayEnd {
    pub(crate) fn new(
        to_gateway: Producer,
        from_gateway: Consumer,
        given: GivenTo,
        thread: JoinHandle<io::Result<()>>,
    ) -> GatewayEnd {
        let bytes = vec![0; BYTES_MAX].into_boxed_slice();
        GatewayEnd {
            to_gateway,
            from_gateway,
            held: Remainder {
                stream: None,
                stamp_ns: 0,
                is_released: false,
                bytes,
                start: 0,
                end: 0,
            },
            was_empty: false,
            unsaid: VecDeque::with_capacity(FEW),
            numbers: Vec::new(),
            added: VecDeque::new(),
            given,
            thread: Some(thread),
        }
    }

    /// The gateway has announced a stream. Gives its number if it is not one that was added here.
    pub(crate) fn announced(&mut self, number: StreamId) -> Option<StreamId> {
        let Some(at) = self.added.iter().position(|(added, _)| *added == number) else {
            return Some(number);
        };
        if let Some((_, Some(id))) = self.added.remove(at) {
            self.name(number, id);
        }
        None
    }

    /// From now on what is said of `number` is of our `id`.
    pub(crate) fn name(&mut self, number: StreamId, id: StreamId) {
        if self.numbers.len() <= number.index() {
            self.numbers.resize(number.index() + 1, None);
        }
        self.numbers[number.index()] = Some(id);
    }

    /// Forgets a stream of ours.
    pub(crate) fn forget(&mut self, number: StreamId, id: StreamId) {
        if let Some(named) = self.numbers.get_mut(number.index()) {
            *named = named.filter(|named| *named != id);
        }
        for (_, added) in &mut self.added {
            *added = added.filter(|added| *added != id);
        }
        self.held.stream = self.held.stream.filter(|held| *held != id);
    }

    /// Says what waits, as much as there is room for.
    pub(crate) fn say(&mut self) {
        while let Some(head) = self.unsaid.front() {
            if self.to_gateway.try_send(&head.encode()).is_err() {
                return;
            }
            self.unsaid.pop_front();
        }
    }

    /// The next message; its bytes are held. The outer `None`: there is none. The inner `None`: it
    /// is malformed.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<Option<Head>> {
        let GatewayEnd { from_gateway, held, .. } = self;
        let mut received = None;
        from_gateway.receive(1, |message| {
            received =
                Some(Head::decode(message).filter(|(_, bytes)| bytes.len() <= BYTES_MAX).map(
                    |(head, bytes)| {
                        held.bytes[..bytes.len()].copy_from_slice(bytes);
                        (held.start, held.end) = (0, bytes.len());
                        head
                    },
                ));
        });
        received
    }
}

impl Remainder {
    /// Gives the bytes of `id`, if they are what is held.
    #[inline]
    pub(crate) fn read(&mut self, id: StreamId, into: &mut [u8]) -> Option<StreamRead> {
        if self.stream != Some(id) {
            return None;
        }
        let n = into.len().min(self.end - self.start);
        into[..n].copy_from_slice(&self.bytes[self.start..self.start + n]);
        self.start += n;
        if self.start == self.end {
            self.stream = None;
        }
        Some(StreamRead::Bytes { n, stamp_ns: self.stamp_ns })
    }
}
