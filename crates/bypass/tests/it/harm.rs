//! Frames that are harmed on their way, at rates and by a seed that a test chooses.

use bypass::Frames;
use bypass::frame::{Checksums, ETHERNET_BYTES, check_segment, packet, sum};
use clock::Deadline;
use clock::random::SplitMix64;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Limit on the time by which a frame comes late, us: more than the kernel's time-out.
const LATE_US_MAX: u32 = 30_000;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;

/// Harm to the frames of one direction, whatever they carry: how many of a thousand, or how many it
/// was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harm {
    pub lost: u32,
    pub doubled: u32,
    /// Frames that come after their successor.
    pub swapped: u32,
    /// Frames that come some milliseconds later.
    pub late: u32,
    /// Frames with one other byte, behind the Ethernet header: a card checks that one.
    pub corrupted: u32,
}

impl Harm {
    pub const NONE: Harm = Harm { lost: 0, doubled: 0, swapped: 0, late: 0, corrupted: 0 };
    pub const SILENCE: Harm = Harm { lost: 1000, ..Harm::NONE };
}

/// Frames that are harmed on their way in and out.
pub struct Harmed<F> {
    frames: F,
    pub inbound: Way,
    pub outbound: Way,
    is_completed: bool,
}

pub struct Way {
    random: SplitMix64,
    pub harm: Harm,
    /// Harm that was done.
    pub done: Harm,
    /// Frames that came here, harmed or not.
    pub count: u64,
    /// Frames to deliver, in their order.
    next: VecDeque<Vec<u8>>,
    /// A frame that waits for its successor.
    held: Option<Vec<u8>>,
    late: Vec<(Deadline, Vec<u8>)>,
}

impl Way {
    fn new(seed: u64, harm: Harm) -> Way {
        Way {
            random: SplitMix64::new(seed),
            harm,
            done: Harm::NONE,
            count: 0,
            next: VecDeque::new(),
            held: None,
            late: Vec::new(),
        }
    }

    fn hits(&mut self, of_thousand: u32) -> bool {
        of_thousand > 0 && self.random.below(1000) < of_thousand
    }

    /// A frame comes.
    fn pass(&mut self, mut frame: Vec<u8>) {
        let harm = self.harm;
        self.count += 1;
        if self.hits(harm.lost) {
            self.done.lost += 1;
            return;
        }
        if self.hits(harm.doubled) {
            self.done.doubled += 1;
            self.next.push_back(frame.clone());
        }
        if self.hits(harm.corrupted) {
            self.done.corrupted += 1;
            let at = self.random.below((frame.len() - ETHERNET_BYTES) as u32) as usize;
            frame[ETHERNET_BYTES + at] ^= 1 + self.random.below(255) as u8;
        }
        if self.hits(harm.late) {
            self.done.late += 1;
            let time = Duration::from_micros(self.random.below(LATE_US_MAX).into());
            self.late.push((Deadline::after(time), frame));
        } else if self.held.is_none() && self.hits(harm.swapped) {
            self.done.swapped += 1;
            self.held = Some(frame);
        } else {
            self.next.push_back(frame);
            self.next.extend(self.held.take());
        }
    }

    /// The next frame to deliver now.
    fn pop(&mut self) -> Option<Vec<u8>> {
        let is_due = |(until, _): &(Deadline, _)| until.left().is_zero();
        match self.late.iter().position(is_due) {
            Some(at) => Some(self.late.swap_remove(at).1),
            None => self.next.pop_front(),
        }
    }

    /// Frames that were not delivered yet.
    pub fn waiting(&self) -> usize {
        self.next.len() + self.late.len() + usize::from(self.held.is_some())
    }
}

impl<F> Harmed<F> {
    /// With the harm on the way in and on the way out. Where there is some, the checksums of what
    /// comes are completed, and a stack can ask for whole ones.
    pub fn new(frames: F, seed: u64, harm: [Harm; 2]) -> Harmed<F> {
        let [inbound, outbound] = harm;
        let (inbound, outbound) = (Way::new(seed, inbound), Way::new(!seed, outbound));
        Harmed { frames, inbound, outbound, is_completed: harm != [Harm::NONE; 2] }
    }
}

/// Completes the checksum of a segment, as a card does: over veth the kernel leaves it partial, and
/// then nothing would show that a byte is another one.
fn complete(frame: &mut [u8]) {
    let Ok(packet) = packet(frame) else { return };
    if check_segment(packet, Checksums::Whole).is_ok() {
        return;
    }
    let at = ETHERNET_BYTES + packet.bytes.len() - packet.content.len() + TCP_CHECKSUM;
    // The sum over the pseudo-header stands there already.
    let whole = !sum(packet.content);
    frame[at..at + 2].copy_from_slice(&whole.to_be_bytes());
}

impl<F: Frames> Frames for Harmed<F> {
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let frame = loop {
            if let Some(frame) = self.inbound.pop() {
                break frame;
            }
            let mut came = None;
            if !self.frames.receive(|frame| came = Some(frame.to_vec())) {
                // No successor came by now.
                let Some(held) = self.inbound.held.take() else { return false };
                break held;
            }
            let mut frame = came.unwrap();
            if self.is_completed {
                complete(&mut frame);
            }
            self.inbound.pass(frame);
        };
        take(&frame);
        true
    }

    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let mut frame = vec![0; bytes];
        fill(&mut frame);
        self.outbound.pass(frame);
        self.send_waiting();
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_waiting();
        self.outbound.held.take().into_iter().for_each(|frame| self.send_one(&frame));
        self.frames.flush()
    }
}

impl<F: Frames> Harmed<F> {
    fn send_waiting(&mut self) {
        while let Some(frame) = self.outbound.pop() {
            self.send_one(&frame);
        }
    }

    /// Where there is no room, the frame is lost.
    fn send_one(&mut self, frame: &[u8]) {
        self.frames.send(frame.len(), |to| to.copy_from_slice(frame));
    }
}
