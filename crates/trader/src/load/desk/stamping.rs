//! Messages that the kernel stamps: which ones, and where their time goes.

use crate::load::desk::in_flight::{InFlight, Progress};
use crate::load::session::LoadMessage;
use crate::stamped::StampedMessages;
use between::ways::KernelTimes;
use clock::Clock;
use clock::recorder::Recorder;
use record::KernelStamped;
use transport::stamps::KernelStamps;

/// A message by the number of its order.
type NumberedMessage = (u64, LoadMessage);

/// A lane's chosen message; it has one at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ChosenMessage {
    None,
    /// It waits in the lane's buffer.
    Unsent(NumberedMessage),
    /// It was written in one piece.
    Sent(NumberedMessage),
    /// Its reply was read.
    Answered(Round),
}

/// A message from its write to its reply.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    message: NumberedMessage,
    measured: bool,
    sent_ns: u64,
    replied_ns: u64,
}

/// The state of a load's stamped messages.
pub(crate) struct Stamping {
    every: u64,
    messages: StampedMessages,
    /// Number of the first segment's series.
    row: usize,
    lanes: Vec<ChosenMessage>,
    /// Stamps of measured messages, as long as there is room.
    kept: Vec<KernelTimes>,
}

impl Stamping {
    /// Stamps one of `every` orders, and its cancel. Takes 200 ms.
    pub(crate) fn new(every: u64, lanes: usize, row: usize, clock: Clock) -> Stamping {
        Stamping {
            every,
            messages: StampedMessages::new(clock),
            row,
            lanes: vec![ChosenMessage::None; lanes],
            kept: Vec::new(),
        }
    }

    /// Keeps the times of up to `messages` messages for after the run.
    #[must_use]
    pub(crate) fn keeping(mut self, messages: u64) -> Stamping {
        let (driver_ns, received_ns, card_ns) = (Some(1), Some(1), [Some(1); 2]);
        let times = KernelTimes { sequence: 1, driver_ns, received_ns, card_ns };
        // Written to here, not on the measured path.
        self.kept = vec![times; usize::try_from(messages).unwrap_or(0)];
        self.kept.clear();
        self
    }

    /// One of each `every` orders has its turn. Which one moves on, so that each lane has its
    /// share.
    fn has_turn(&self, number: u64) -> bool {
        number % self.every == number / self.every % self.every
    }

    /// Chooses a message that is appended to a lane, if it is its turn and the lane has no other.
    /// Returns whether it did.
    #[inline]
    pub(crate) fn append(
        &mut self,
        lane: usize,
        chosen: NumberedMessage,
        in_flight: &mut InFlight,
    ) -> bool {
        if !self.has_turn(chosen.0) {
            return false;
        }
        let is_free = match self.lanes[lane] {
            ChosenMessage::None => true,
            ChosenMessage::Unsent(_) | ChosenMessage::Answered(_) => false,
            // A datagram whose reply nobody waits for any more.
            ChosenMessage::Sent((number, message)) => in_flight
                .order(number)
                .is_none_or(|order| order.stamps(message).progress != Progress::InFlight),
        };
        if is_free {
            self.lanes[lane] = ChosenMessage::Unsent(chosen);
        }
        is_free
    }

    /// Whether the lane's next write, with these messages, shall be stamped.
    #[inline]
    pub(crate) fn wants(
        &self,
        lane: usize,
        mut written: impl Iterator<Item = NumberedMessage>,
    ) -> bool {
        match self.lanes[lane] {
            ChosenMessage::Unsent(chosen) => written.any(|one| one == chosen),
            _ => false,
        }
    }

    /// A write that was stamped took the messages `whole`. One that took the chosen message in part
    /// stamped only that part.
    pub(crate) fn wrote(&mut self, lane: usize, mut whole: impl Iterator<Item = NumberedMessage>) {
        if let ChosenMessage::Unsent(chosen) = self.lanes[lane] {
            let is_whole = whole.any(|one| one == chosen);
            self.lanes[lane] =
                if is_whole { ChosenMessage::Sent(chosen) } else { ChosenMessage::None };
        }
    }

    /// The reply to a message was read.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        lane: usize,
        answered: NumberedMessage,
        measured: bool,
        (sent_ns, replied_ns): (u64, u64),
    ) {
        if self.lanes[lane] == ChosenMessage::Sent(answered) {
            let round = Round { message: answered, measured, sent_ns, replied_ns };
            self.lanes[lane] = ChosenMessage::Answered(round);
        }
    }

    /// After a read: whether the lane's chosen message has its reply.
    #[inline]
    pub(crate) fn is_answered(&self, lane: usize) -> bool {
        matches!(self.lanes[lane], ChosenMessage::Answered(_))
    }

    /// Records where the chosen message's time went; see [`StampedMessages::take`].
    pub(crate) fn record(
        &mut self,
        lane: usize,
        stamps: KernelStamps,
        ended_read: bool,
        recorder: &mut Recorder,
    ) {
        let ChosenMessage::Answered(round) =
            std::mem::replace(&mut self.lanes[lane], ChosenMessage::None)
        else {
            return;
        };
        self.messages.segments.refresh(round.replied_ns);
        if !round.measured {
            return;
        }
        let lengths = self.messages.take((round.sent_ns, stamps, round.replied_ns), ended_read);
        for (at, ns) in lengths.into_iter().enumerate() {
            ns.into_iter().for_each(|ns| recorder.record(self.row + at, ns));
        }
        let [driver_ns, received_ns] = self.messages.times(&stamps, ended_read);
        let (number, message) = round.message;
        let card_received_ns = stamps.card_received_ns.filter(|_| ended_read);
        if self.kept.len() < self.kept.capacity() {
            self.kept.push(KernelTimes {
                sequence: message.sequence(number),
                driver_ns,
                received_ns,
                card_ns: [stamps.card_sent_ns, card_received_ns],
            });
        }
    }

    /// Counts and the bound, after the run, and the times that were kept.
    pub(crate) fn finish(self) -> (KernelStamped, Vec<KernelTimes>) {
        (self.messages.finish(), self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamped::series;
    use clock::recorder::{Series, recorder};

    fn stamping(every: u64, lanes: usize) -> Stamping {
        Stamping::new(every, lanes, 0, Clock::calibrate())
    }

    /// With 16 accounts on 16 lanes each 64th order is one of the first lane.
    #[test]
    fn each_lane_has_its_share_of_stamps() {
        let stamping = stamping(64, 16);
        let mut of_lanes = [0; 16];
        (0..64 * 64).filter(|number| stamping.has_turn(*number)).for_each(|number| {
            of_lanes[number as usize % 16] += 1;
        });
        assert_eq!(of_lanes, [4; 16]);
    }

    #[test]
    fn a_message_written_in_part_or_answered_by_another_is_not_recorded() {
        let mut stamping = stamping(1, 1);
        let mut in_flight = InFlight::new();
        let [one, other] = [(1, LoadMessage::Order), (1, LoadMessage::Cancel)];
        stamping.append(0, one, &mut in_flight);
        stamping.append(0, other, &mut in_flight);
        assert!(stamping.wants(0, [one, other].into_iter()), "the first one is chosen");
        assert!(!stamping.wants(0, [other].into_iter()));
        stamping.wrote(0, [].into_iter());
        assert!(!stamping.wants(0, [one, other].into_iter()));
        in_flight.open(1, 0, true).unwrap();
        in_flight.order(1).unwrap().order.progress = Progress::InFlight;
        stamping.append(0, one, &mut in_flight);
        stamping.wrote(0, [one].into_iter());
        stamping.answered(0, other, true, (5, 9));
        assert!(!stamping.is_answered(0));
        stamping.append(0, other, &mut in_flight);
        assert!(!stamping.wants(0, [other].into_iter()), "the first one is still waited for");
        in_flight.order(1).unwrap().order.progress = Progress::Lost;
        stamping.append(0, other, &mut in_flight);
        assert!(stamping.wants(0, [other].into_iter()));
    }

    /// A read that brought more than the reply has the stamp of its last byte.
    #[test]
    fn a_reply_that_did_not_end_its_read_has_no_receive_stamp() {
        for ended_read in [true, false] {
            let mut stamping = stamping(1, 1).keeping(1);
            let series: Vec<Series> = series().collect();
            let (mut recorder, drain) = recorder(&series, 1.0);
            recorder.start(0);
            let wall_ns = clock::wall_ns();
            let sent_ns = stamping.messages.segments.wall().clock_ns(wall_ns) - 10_000;
            let message = (4, LoadMessage::Cancel);
            let replied_ns = sent_ns + 100_000;
            stamping.lanes[0] =
                ChosenMessage::Answered(Round { message, measured: true, sent_ns, replied_ns });
            let stamps = KernelStamps {
                queued_ns: Some(wall_ns),
                driver_ns: Some(wall_ns + 2_000),
                received_ns: Some(wall_ns + 50_000),
                card_received_ns: Some(7),
                ..KernelStamps::default()
            };
            stamping.record(0, stamps, ended_read, &mut recorder);
            let times = stamping.kept[0];
            let driver_ns = times.driver_ns.unwrap();
            assert!((sent_ns..sent_ns + 100_000).contains(&driver_ns), "{times:?} {sent_ns}");
            let received_ns = times.received_ns.map(|ns| ns.abs_diff(driver_ns + 48_000) < 100);
            assert_eq!((times.sequence, received_ns), (9, ended_read.then_some(true)));
            assert_eq!(times.card_ns, [None, ended_read.then_some(7)]);
            recorder.finish(1);
            let mut log = Vec::new();
            drain.run("t", &mut log, std::time::SystemTime::now(), 0, &|| ()).unwrap();
            let totals = record::hlog::totals(&log[..]).unwrap();
            let tags: Vec<&str> = totals.keys().map(String::as_str).collect();
            let sent = ["t.application_to_queue.service", "t.queue_to_driver.service"];
            let received = ["t.driver_to_kernel.service", "t.kernel_to_application.service"];
            let has = |tag: &str| tags.contains(&tag);
            assert!(sent.into_iter().all(has), "{tags:?}");
            assert!(received.into_iter().all(|tag| has(tag) == ended_read), "{tags:?}");
            let (counts, kept) = stamping.finish();
            assert_eq!(kept, [times]);
            assert_eq!((counts.messages, counts.by_card, counts.clock_steps), (1, 1, 0));
        }
    }
}
