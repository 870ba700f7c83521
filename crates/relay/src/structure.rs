//! Who carries the messages. A structure is a row of [`STRUCTURES`] and a pair of ends.

use crate::plan::Told;
use crate::plan::{BadPlan, Plan};
use crate::run::{Link, RelayError, between};
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is under way.
    Yes,
    /// There is no room now.
    Full,
    /// It can't be sent, now or later; [`Sender::complaint`] says why.
    Broken,
}

/// The producer's end.
pub trait Sender: Send {
    /// Sends one message.
    fn send(&mut self, message: &[u8]) -> Sent;

    /// Why a message could not be sent.
    fn complaint(&self) -> String {
        String::new()
    }
}

/// The consumer's end.
pub trait Receiver: Send {
    /// Hands what has come to `take`, a bounded number, and says how many. Never blocks.
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize;

    /// Messages that newer ones replaced before they were read; `None` where nothing is ever replaced.
    fn conflated(&self) -> Option<u64> {
        None
    }
}

/// A structure that this client knows.
pub struct Structure {
    /// As in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    pub(crate) run: fn(&Plan, &mut Link) -> Result<Told, RelayError>,
}

/// All of them.
pub const STRUCTURES: &[Structure] = &[
    Structure {
        name: "rtrb",
        about: "the crate rtrb: wait-free ring of one producer and one consumer",
        run: rtrb,
    },
    Structure {
        name: "crossbeam",
        about: "the crate crossbeam-queue: bounded queue of many producers and consumers",
        run: crossbeam,
    },
];

/// The structure of that name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static Structure, BadPlan> {
    STRUCTURES.iter().find(|structure| structure.name == name).ok_or_else(|| {
        let names: Vec<&str> = STRUCTURES.iter().map(|structure| structure.name).collect();
        BadPlan {
            key: "structure",
            value: name.to_owned(),
            why: format!("this client knows {}", names.join(", ")),
        }
    })
}

/// Calls `$run::<N>` with the plan's length of messages, which these crates must know when they are built.
macro_rules! of_length {
    ($plan:expr, $link:expr, $run:ident, [$($length:literal),*]) => {
        match $plan.message_bytes {
            $($length => $run::<$length>($plan, $link),)*
            other => Err(RelayError::Plan(BadPlan {
                key: "message_bytes",
                value: other.to_string(),
                why: format!(
                    "{} takes messages of {:?} bytes: their length is built into it",
                    $plan.structure,
                    [$($length),*]
                ),
            })),
        }
    };
}

fn rtrb(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    of_length!(plan, link, rtrb_of, [16, 32, 64, 128, 256, 512, 1024])
}

fn rtrb_of<const N: usize>(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    let (producer, consumer) = rtrb::RingBuffer::<[u8; N]>::new(plan.slots);
    between(plan, link, producer, consumer)
}

/// What there is to take at once at most: between two batches the consumer looks at the clock.
const BATCH_MAX: usize = 64;

impl<const N: usize> Sender for rtrb::Producer<[u8; N]> {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        let Ok(message) = <[u8; N]>::try_from(message) else { return Sent::Broken };
        if self.push(message).is_ok() { Sent::Yes } else { Sent::Full }
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

fn crossbeam(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    of_length!(plan, link, crossbeam_of, [16, 32, 64, 128, 256, 512, 1024])
}

fn crossbeam_of<const N: usize>(plan: &Plan, link: &mut Link) -> Result<Told, RelayError> {
    let queue = Arc::new(ArrayQueue::<[u8; N]>::new(plan.slots));
    between(plan, link, Arc::clone(&queue), queue)
}

impl<const N: usize> Sender for Arc<ArrayQueue<[u8; N]>> {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        let Ok(message) = <[u8; N]>::try_from(message) else { return Sent::Broken };
        if self.push(message).is_ok() { Sent::Yes } else { Sent::Full }
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
