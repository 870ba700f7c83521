//! The structures of `ipc`, in files below the plan's directory.

use crate::report::ClientReport;
use crate::run::{IpcBenchError, Link, between};
use crate::structure::ends::{BATCH_MAX, Receiver, SendResult, Sender};
use ipc::distributor::{self, Distributor, PublishError};
use ipc::queue::{self, AHEAD_BLOCKS_MAX, BlockMaker, Start};
use ipc::region::RegionBacking;
use ipc::ring::{self, Producers, Ring, SendError, Shape};
use plan::process::ipc::IpcPlan;
use std::path::Path;

/// Largest overhead of a record: its word, and the rest of its last cache line.
const RECORD_OVERHEAD_BYTES_MAX: u64 = 72;

fn failed(plan: &IpcPlan, why: impl ToString) -> IpcBenchError {
    IpcBenchError::Structure { structure: plan.structure.clone(), why: why.to_string() }
}

pub(crate) fn ring(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    ring_for(plan, link, Producers::One)
}

pub(crate) fn ring_many(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    ring_for(plan, link, Producers::Many)
}

fn ring_for(
    plan: &IpcPlan,
    link: &mut Link,
    producers: Producers,
) -> Result<ClientReport, IpcBenchError> {
    let shape = Shape {
        slots: u32::try_from(plan.slots).unwrap_or(u32::MAX),
        message_bytes_max: plan.message_bytes,
        producers,
        // Both ends spin.
        may_sleep: false,
    };
    let path = Path::new(&plan.directory).join("ring");
    let failed = |why| failed(plan, why);
    let ring = match plan.ends.sends() {
        true => Ring::create(RegionBacking::File(&path), shape),
        false => Ring::open(&path),
    };
    let ring = ring.map_err(failed)?;
    let producer = plan.ends.sends().then(|| ring.producer()).transpose().map_err(failed)?;
    let consumer = plan.ends.receives().then(|| ring.consumer()).transpose().map_err(failed)?;
    between(plan, link, producer, consumer)
}

impl Sender for ring::Producer {
    #[inline]
    fn send(&mut self, message: &[u8]) -> SendResult {
        match self.try_send(message) {
            Ok(()) => SendResult::Yes,
            Err(SendError::Full | SendError::Contended) => SendResult::Full,
            Err(SendError::TooLong) => SendResult::Broken,
        }
    }
}

impl Receiver for ring::Consumer {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        self.receive(BATCH_MAX, take)
    }
}

pub(crate) fn queue(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    queue_with(plan, link, true)
}

pub(crate) fn queue_unchecked(
    plan: &IpcPlan,
    link: &mut Link,
) -> Result<ClientReport, IpcBenchError> {
    queue_with(plan, link, false)
}

/// Makes, maps and touches all blocks before the run, as the peers do. Making one takes the kernel
/// tens of milliseconds; on two cores, that would take one of the measured cores.
fn queue_with(
    plan: &IpcPlan,
    link: &mut Link,
    checked: bool,
) -> Result<ClientReport, IpcBenchError> {
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
        ahead: BlockMaker::Caller,
        ..queue::Options::default()
    };
    let failed = |error: queue::QueueError| failed(plan, error);
    let appending = || {
        let mut writer = queue::Writer::open(&path, options)?;
        for _ in 1..blocks {
            writer.prepare_next()?;
        }
        Ok(QueueSender { writer, complaint: String::new() })
    };
    let reading = || {
        let mut reader = queue::Reader::open(&path, Start::Oldest, BlockMaker::Caller)?;
        while reader.prepare_next()? {}
        Ok(QueueReceiver { reader, complaint: None })
    };
    let writer = plan.ends.sends().then(appending).transpose().map_err(failed)?;
    let reader = plan.ends.receives().then(reading).transpose().map_err(failed)?;
    between(plan, link, writer, reader)
}

struct QueueSender {
    writer: queue::Writer,
    complaint: String,
}

impl Sender for QueueSender {
    #[inline]
    fn send(&mut self, message: &[u8]) -> SendResult {
        match self.writer.append(message) {
            Ok(_) => SendResult::Yes,
            Err(error) => {
                self.complaint = error.to_string();
                SendResult::Broken
            }
        }
    }

    fn complaint(&self) -> String {
        self.complaint.clone()
    }

    fn blocks_late(&self) -> u64 {
        self.writer.blocks_late()
    }
}

struct QueueReceiver {
    reader: queue::Reader,
    complaint: Option<String>,
}

impl Receiver for QueueReceiver {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        match self.reader.read(BATCH_MAX, |_, bytes| take(bytes)) {
            Ok(read) => read,
            Err(error) => {
                // A reader that fell behind continues; the messages that it missed count as lost.
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

    fn blocks_late(&self) -> u64 {
        self.reader.blocks_late()
    }
}

pub(crate) fn distributor(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    let narrow = |wide: usize| u32::try_from(wide).unwrap_or(u32::MAX);
    let shape = distributor::Shape {
        keys: narrow(plan.keys),
        slots: narrow(plan.slots),
        value_bytes_max: plan.message_bytes,
        may_sleep: false,
    };
    let path = Path::new(&plan.directory).join("distributor");
    let failed = |why| failed(plan, why);
    let distributor = match plan.ends.sends() {
        true => Distributor::create(RegionBacking::File(&path), shape),
        false => Distributor::open(&path),
    };
    let distributor = distributor.map_err(failed)?;
    let writer = plan.ends.sends().then(|| distributor.writer()).transpose().map_err(failed)?;
    let publishing = writer.map(|writer| DistributorSender { writer, key: 0, keys: shape.keys });
    let reader = plan.ends.receives().then(|| distributor.reader());
    let following = reader.map(|reader| DistributorReceiver { reader, missed: 0 });
    between(plan, link, publishing, following)
}

/// Messages go to the keys in turn.
struct DistributorSender {
    writer: distributor::Writer,
    key: u32,
    keys: u32,
}

impl Sender for DistributorSender {
    #[inline]
    fn send(&mut self, message: &[u8]) -> SendResult {
        match self.writer.publish(self.key, message) {
            Ok(()) => {
                self.key = if self.key + 1 == self.keys { 0 } else { self.key + 1 };
                SendResult::Yes
            }
            Err(PublishError::NoSuchKey | PublishError::TooLong) => SendResult::Broken,
        }
    }
}

struct DistributorReceiver {
    reader: distributor::Reader,
    missed: u64,
}

impl Receiver for DistributorReceiver {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is prepared, so each block is late, for the writer and for the reader.
    #[test]
    fn a_block_that_was_not_ready_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let options = queue::Options {
            block_bytes: queue::BLOCK_BYTES_MIN,
            ahead: BlockMaker::Caller,
            ..queue::Options::default()
        };
        let writer = queue::Writer::open(directory.path(), options).unwrap();
        let reader =
            queue::Reader::open(directory.path(), Start::Oldest, BlockMaker::Caller).unwrap();
        let mut appending = QueueSender { writer, complaint: String::new() };
        let mut reading = QueueReceiver { reader, complaint: None };
        let message = [7; 1000];
        for _ in 0..3 * queue::BLOCK_BYTES_MIN / message.len() {
            assert_eq!(Sender::send(&mut appending, &message), SendResult::Yes);
            assert_eq!(Receiver::receive(&mut reading, &mut |_| ()), 1);
        }
        assert!(appending.blocks_late() >= 2, "{}", appending.blocks_late());
        assert!(reading.blocks_late() >= 2, "{}", reading.blocks_late());
    }
}
