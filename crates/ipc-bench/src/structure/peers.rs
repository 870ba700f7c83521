//! Commonly used structures between threads, each used as its authors recommend.

use crate::report::ClientReport;
use crate::run::{IpcBenchError, Link, between};
use crate::structure::ends::{BATCH_MAX, Receiver, SendResult, Sender};
use crossbeam_queue::ArrayQueue;
use plan::process::ipc::IpcPlan;
use plan::range::OutOfRange;
use std::sync::Arc;

/// Calls `$run::<N>` with the plan's length of messages, which must be known at compile time.
macro_rules! of_length {
    ($plan:expr, $link:expr, $run:ident, [$($length:literal),*]) => {
        match $plan.message_bytes {
            $($length => $run::<$length>($plan, $link),)*
            other => Err(IpcBenchError::Plan(OutOfRange::new(
                "message_bytes",
                other,
                format!(
                    "{} takes messages of {:?} bytes: their length is built into it",
                    $plan.structure,
                    [$($length),*]
                ),
            ))),
        }
    };
}

pub(crate) fn rtrb(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    of_length!(plan, link, rtrb_of, [16, 32, 64, 128, 256, 512, 1024])
}

fn rtrb_of<const N: usize>(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    let (producer, consumer) = rtrb::RingBuffer::<[u8; N]>::new(plan.slots);
    between(plan, link, Some(producer), Some(consumer))
}

impl<const N: usize> Sender for rtrb::Producer<[u8; N]> {
    #[inline]
    fn send(&mut self, message: &[u8]) -> SendResult {
        let Ok(message) = <[u8; N]>::try_from(message) else { return SendResult::Broken };
        if self.push(message).is_ok() { SendResult::Yes } else { SendResult::Full }
    }
}

impl<const N: usize> Receiver for rtrb::Consumer<[u8; N]> {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        let mut taken = 0;
        while taken < BATCH_MAX
            && let Ok(message) = self.pop()
        {
            take(&message);
            taken += 1;
        }
        taken
    }
}

pub(crate) fn crossbeam(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    of_length!(plan, link, crossbeam_of, [16, 32, 64, 128, 256, 512, 1024])
}

fn crossbeam_of<const N: usize>(
    plan: &IpcPlan,
    link: &mut Link,
) -> Result<ClientReport, IpcBenchError> {
    let queue = Arc::new(ArrayQueue::<[u8; N]>::new(plan.slots));
    between(plan, link, Some(Arc::clone(&queue)), Some(queue))
}

impl<const N: usize> Sender for Arc<ArrayQueue<[u8; N]>> {
    #[inline]
    fn send(&mut self, message: &[u8]) -> SendResult {
        let Ok(message) = <[u8; N]>::try_from(message) else { return SendResult::Broken };
        if self.push(message).is_ok() { SendResult::Yes } else { SendResult::Full }
    }
}

impl<const N: usize> Receiver for Arc<ArrayQueue<[u8; N]>> {
    #[inline]
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize {
        let mut taken = 0;
        while taken < BATCH_MAX
            && let Some(message) = self.pop()
        {
            take(&message);
            taken += 1;
        }
        taken
    }
}
