//! The structures of `ipc`, in files below the plan's directory.

use crate::ends::{BATCH_MAX, Receiver, Sender, Sent};
use crate::plan::{Plan, Told};
use crate::run::{Link, RelayError, between};
use ipc::distributor::{self, Distributor, Unpublished};
use ipc::queue::{self, AHEAD_BLOCKS_MAX, Ahead, Start};
use ipc::region::Place;
use ipc::ring::{self, Producers, Refused, Ring, Shape};
use std::path::Path;

/// What a record takes beside its message, at most: its word, and what is left of its last cache line.
const RECORD_OVERHEAD_BYTES_MAX: u64 = 72;

fn failed(plan: &Plan, why: impl ToString) -> RelayError {
    RelayError::Structure { structure: plan.structure.clone(), why: why.to_string() }
}

pub(crate) fn ring(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    ring_for(plan, link, Producers::One)
}

pub(crate) fn ring_many(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    ring_for(plan, link, Producers::Many)
}

fn ring_for(plan: &Plan, link: &mut Link, producers: Producers) -> Result<Told, RelayError> {
    let shape = Shape {
        slots: u32::try_from(plan.slots).unwrap_or(u32::MAX),
        message_bytes_max: plan.message_bytes,
        producers,
        // Both ends spin.
        may_sleep: false,
    };
    let path = Path::new(&plan.directory).join("ring");
    let failed = |why| failed(plan, why);
    let ring = Ring::create(Place::File(&path), shape).map_err(failed)?;
    between(plan, link, ring.producer().map_err(failed)?, ring.consumer().map_err(failed)?)
}

impl Sender for ring::Producer {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        match self.try_send(message) {
            Ok(()) => Sent::Yes,
            Err(Refused::Full | Refused::Contended) => Sent::Full,
            Err(Refused::TooLong) => Sent::Broken,
        }
    }
}

impl Receiver for ring::Consumer {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        self.receive(BATCH_MAX, take)
    }
}

pub(crate) fn queue(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    queue_with(plan, link, true)
}

pub(crate) fn queue_unchecked(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    queue_with(plan, link, false)
}

/// All blocks of the run are made, mapped and touched before it, as the peers do: making one takes the
/// kernel tens of milliseconds, and on two cores whoever made it meanwhile would take one of the measured ones.
fn queue_with(plan: &Plan, link: &mut Link, checked: bool) -> Result<Told, RelayError> {
    let path = Path::new(&plan.directory).join("queue");
    let bytes = plan.messages_all() * (plan.message_bytes as u64 + RECORD_OVERHEAD_BYTES_MAX);
    let blocks = bytes.div_ceil(plan.block_bytes.max(1)) as usize + 1;
    if blocks > AHEAD_BLOCKS_MAX {
        let why = format!(
            "{} messages take {blocks} blocks, and {AHEAD_BLOCKS_MAX} can be made before a run; \
             larger blocks, or more and shorter runs",
            plan.messages_all()
        );
        return Err(failed(plan, why));
    }
    let options = queue::Options {
        block_bytes: plan.block_bytes as usize,
        keep_blocks: blocks + 1,
        checked,
        ahead: Ahead::Caller,
        ..queue::Options::default()
    };
    let failed = |error: queue::QueueError| failed(plan, error);
    let mut writer = queue::Writer::open(&path, options).map_err(failed)?;
    for _ in 1..blocks {
        writer.prepare_next().map_err(failed)?;
    }
    let mut reader = queue::Reader::open(&path, Start::Oldest, Ahead::Caller).map_err(failed)?;
    while reader.prepare_next().map_err(failed)? {}
    let writer = Appending { writer, complaint: String::new() };
    between(plan, link, writer, Reading { reader, complaint: None })
}

struct Appending {
    writer: queue::Writer,
    complaint: String,
}

impl Sender for Appending {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        match self.writer.append(message) {
            Ok(_) => Sent::Yes,
            Err(error) => {
                self.complaint = error.to_string();
                Sent::Broken
            }
        }
    }

    fn complaint(&self) -> String {
        self.complaint.clone()
    }
}

struct Reading {
    reader: queue::Reader,
    complaint: Option<String>,
}

impl Receiver for Reading {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        match self.reader.read(BATCH_MAX, |_, bytes| take(bytes)) {
            Ok(read) => read,
            Err(error) => {
                // Who fell behind what is kept goes on; what he missed is counted as lost.
                if !matches!(error, queue::QueueError::FellBehind { .. }) {
                    self.complaint = Some(error.to_string());
                }
                0
            }
        }
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

pub(crate) fn distributor(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    let narrow = |wide: usize| u32::try_from(wide).unwrap_or(u32::MAX);
    let shape = distributor::Shape {
        keys: narrow(plan.keys),
        slots: narrow(plan.slots),
        value_bytes_max: plan.message_bytes,
        may_sleep: false,
    };
    let path = Path::new(&plan.directory).join("distributor");
    let failed = |why| failed(plan, why);
    let distributor = Distributor::create(Place::File(&path), shape).map_err(failed)?;
    let following = Following { reader: distributor.reader(), missed: 0 };
    let writer = distributor.writer().map_err(failed)?;
    between(plan, link, Publishing { writer, key: 0, keys: shape.keys }, following)
}

/// The keys take turns.
struct Publishing {
    writer: distributor::Writer,
    key: u32,
    keys: u32,
}

impl Sender for Publishing {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        match self.writer.publish(self.key, message) {
            Ok(()) => {
                self.key = if self.key + 1 == self.keys { 0 } else { self.key + 1 };
                Sent::Yes
            }
            Err(Unpublished::NoSuchKey | Unpublished::TooLong) => Sent::Broken,
        }
    }
}

struct Following {
    reader: distributor::Reader,
    missed: u64,
}

impl Receiver for Following {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        let mut missed = 0;
        let shown = self.reader.poll(|_, value, before| {
            take(value);
            missed += before;
        });
        self.missed += missed;
        shown
    }

    fn conflated(&self) -> Option<u64> {
        Some(self.missed)
    }
}
