//! The work of the two threads. A message carries its due time and its lateness, so that the
//! consumer needs no table: `due_ns` (8 bytes, from the start), `index` (4), `lateness_ns` (4),
//! then payload.

use crate::samples::Sample;
use crate::structure::ends::{Receiver, SendResult, Sender};
use clock::Clock;
use plan::process::ipc::IpcPlan;
use plan::tables::ipc::MESSAGE_BYTES_MAX;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long the consumer waits for missing messages.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Empty polls before a consumer checks its time limit: some milliseconds. The producer, which may
/// be another process, reports when it has sent all; otherwise this limit ends the wait.
const POLLS_BEFORE_LOOK: u32 = 1 << 20;

/// State shared by both threads.
pub(crate) struct SharedState<'a> {
    pub clock: Clock,
    /// Due time of message 0.
    pub start_ns: u64,
    /// A thread that still runs at this time stops.
    pub deadline_ns: u64,
    /// Set from outside to end the run.
    pub stop: &'a AtomicBool,
    /// The producer has sent all; set by itself, or from outside if it is another process.
    pub all_sent: &'a AtomicBool,
}

/// Result of the producer.
#[derive(Debug, Default)]
pub(crate) struct ProducerResult {
    /// Including the warm-up.
    pub sent: u64,
    /// In the measured part.
    pub held_back: u64,
    pub blocks_late: u64,
    pub failure: Option<String>,
}

/// Sends every message when it is due, or at once if it is late.
pub(crate) fn produce(
    plan: &IpcPlan,
    common: &SharedState,
    sender: &mut impl Sender,
) -> ProducerResult {
    let mut buffer = [0x5a; MESSAGE_BYTES_MAX];
    let message = &mut buffer[..plan.message_bytes];
    let mut schedule = plan.schedule();
    let mut produced = ProducerResult::default();
    while schedule.index() < plan.messages_all() {
        let due_ns = schedule.offset_ns();
        let mut now_ns = common.clock.now_ns();
        while now_ns < common.start_ns + due_ns && !common.stop.load(Ordering::Relaxed) {
            now_ns = common.clock.now_ns();
        }
        // A producer that is always late never waits above, but must end too.
        if is_over(common, now_ns) {
            break;
        }
        message[..8].copy_from_slice(&due_ns.to_le_bytes());
        message[8..12].copy_from_slice(&(schedule.index() as u32).to_le_bytes());
        let mut attempt = |now_ns: u64| {
            let lateness_ns = now_ns - common.start_ns - due_ns;
            let lateness_ns = u32::try_from(lateness_ns).unwrap_or(u32::MAX);
            message[12..16].copy_from_slice(&lateness_ns.to_le_bytes());
            sender.send(message)
        };
        let mut sent = attempt(now_ns);
        if sent == SendResult::Full {
            produced.held_back += u64::from(schedule.index() >= plan.warm_up_messages);
            while sent == SendResult::Full && !is_over(common, now_ns) {
                now_ns = common.clock.now_ns();
                sent = attempt(now_ns);
            }
        }
        match sent {
            SendResult::Yes => {}
            SendResult::Full => break,
            SendResult::Broken => {
                produced.failure = Some(sender.complaint());
                break;
            }
        }
        schedule.advance();
    }
    produced.sent = schedule.index();
    produced.blocks_late = sender.blocks_late();
    common.all_sent.store(true, Ordering::Release);
    produced
}

/// Whether the run was interrupted or takes too long.
fn is_over(common: &SharedState, now_ns: u64) -> bool {
    common.stop.load(Ordering::Relaxed) || now_ns > common.deadline_ns
}

/// The consumer's result for the measured part.
#[derive(Debug)]
pub(crate) struct ConsumerResult {
    pub samples: Vec<Sample>,
    pub received: u64,
    pub duplicated: u64,
    pub out_of_order: u64,
    pub conflated: Option<u64>,
    pub blocks_late: u64,
    pub failure: Option<String>,
    pub end_monotonic_ns: u64,
}

/// Receives and stamps every message.
pub(crate) fn consume(
    plan: &IpcPlan,
    common: &SharedState,
    receiver: &mut impl Receiver,
    samples: Vec<Sample>,
) -> ConsumerResult {
    let mut arrivals = Arrivals {
        warm_up: plan.warm_up_messages,
        start_ns: common.start_ns,
        highest: None,
        consumed: ConsumerResult {
            samples,
            received: 0,
            duplicated: 0,
            out_of_order: 0,
            conflated: None,
            blocks_late: 0,
            failure: None,
            end_monotonic_ns: 0,
        },
    };
    let mut scratch = [0; MESSAGE_BYTES_MAX];
    let last = plan.messages_all() - 1;
    let mut idle_since_ns = None;
    let mut idle_polls = 0u32;
    while arrivals.highest != Some(last) {
        let taken = receiver.receive(&mut |bytes| {
            let now_ns = common.clock.now_ns();
            let copy = &mut scratch[..plan.message_bytes];
            copy.copy_from_slice(bytes);
            arrivals.note(black_box(copy), now_ns);
        });
        if taken > 0 {
            idle_since_ns = None;
            idle_polls = 0;
        } else if let Some(why) = receiver.complaint() {
            arrivals.consumed.failure = Some(why);
            break;
        } else if common.all_sent.load(Ordering::Acquire) {
            // Messages sent before that was set are here now, unless they are lost. One more look
            // would be enough; this waits for a second.
            let now_ns = common.clock.now_ns();
            let since_ns = *idle_since_ns.get_or_insert(now_ns);
            let patience_ns = match common.stop.load(Ordering::Relaxed) {
                true => PATIENCE_NS / 10,
                false => PATIENCE_NS,
            };
            if now_ns - since_ns > patience_ns {
                break;
            }
        } else {
            idle_polls = idle_polls.wrapping_add(1);
            if idle_polls.is_multiple_of(POLLS_BEFORE_LOOK)
                && common.clock.now_ns() > common.deadline_ns + PATIENCE_NS
            {
                break;
            }
        }
    }
    arrivals.consumed.conflated = receiver.conflated();
    arrivals.consumed.blocks_late = receiver.blocks_late();
    arrivals.consumed.end_monotonic_ns = clock::monotonic_ns();
    arrivals.consumed
}

/// Notes of the received messages.
struct Arrivals {
    warm_up: u64,
    start_ns: u64,
    highest: Option<u64>,
    consumed: ConsumerResult,
}

impl Arrivals {
    #[inline]
    fn note(&mut self, message: &[u8], now_ns: u64) {
        let word = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("8 bytes"));
        let (due_ns, packed) = (word(0), word(8));
        let (index, lateness_ns) = (packed & 0xffff_ffff, packed >> 32);
        let is_later = self.highest.is_none_or(|highest| index > highest);
        if is_later {
            self.highest = Some(index);
        }
        let Some(measured) = index.checked_sub(self.warm_up) else { return };
        let Some(sample) = self.consumed.samples.get_mut(measured as usize) else { return };
        if *sample != Sample::NEVER {
            self.consumed.duplicated += 1;
            return;
        }
        let response_ns = now_ns.saturating_sub(self.start_ns + due_ns);
        let service_ns = response_ns.saturating_sub(lateness_ns);
        // The longest time must differ from "never".
        let short = |ns: u64| ns.min(u64::from(u32::MAX - 1)) as u32;
        *sample = Sample { response_ns: short(response_ns), service_ns: short(service_ns) };
        self.consumed.received += 1;
        self.consumed.out_of_order += u64::from(!is_later);
    }
}
