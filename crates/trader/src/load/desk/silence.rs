//! The longest time without an answer, where the exchange stays and what it waits for is lost.

use record::Outage;

/// Notes it in the measured part.
pub(crate) struct Silence {
    /// Time that the exchange may be silent, ns.
    pub(crate) ns_max: u64,
    /// When the measured part began, and when the last answer came since then.
    times_ns: Option<(u64, u64)>,
    longest: Outage,
    /// The last message that was sent before the longest silence ended.
    last_sequence: u64,
}

/// An answer among the messages of the desk.
pub(super) struct Answer {
    pub at_ns: u64,
    pub is_rejection: bool,
    /// The sequence number of its message.
    pub sequence: u64,
    /// The sequence number of the last message so far.
    pub last_sequence: u64,
    /// Messages without an answer before this one came.
    pub unanswered: u64,
}

impl Silence {
    pub(crate) fn new(ms_max: u64) -> Silence {
        let longest = Outage { exchange_stayed: true, ..Outage::default() };
        Silence { ns_max: ms_max * 1_000_000, times_ns: None, longest, last_sequence: 0 }
    }

    /// Begins the measured part.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.times_ns = Some((now_ns, now_ns));
    }

    /// Notes an answer. It ends a silence; all that were in flight then are counted as they are
    /// answered.
    pub(super) fn answered(&mut self, answer: &Answer) {
        let Some((began_ns, answered_ns)) = &mut self.times_ns else { return };
        let before_ns = std::mem::replace(answered_ns, answer.at_ns.max(*answered_ns));
        let silence_ns = answer.at_ns.saturating_sub(before_ns);
        if silence_ns > self.longest.silence_ns {
            self.last_sequence = answer.last_sequence;
            self.longest = Outage {
                lost_ns: before_ns.saturating_sub(*began_ns),
                silence_ns,
                unanswered: answer.unanswered,
                exchange_stayed: true,
                ..Outage::default()
            };
        }
        if answer.sequence <= self.last_sequence {
            let Outage { rejected, accepted_late, .. } = &mut self.longest;
            *if answer.is_rejection { rejected } else { accepted_late } += 1;
        }
    }

    /// The longest silence; `None` if no answer came.
    pub(super) fn longest(self) -> Option<Outage> {
        (self.longest.silence_ns > 0).then_some(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages 1 to 9, of which message `sequence` is answered at that time.
    fn answered(silence: &mut Silence, sequence: u64, at_ns: u64, is_rejection: bool) {
        let answer =
            Answer { at_ns, is_rejection, sequence, last_sequence: 9, unanswered: 10 - sequence };
        silence.answered(&answer);
    }

    #[test]
    fn the_longest_silence_has_all_messages_that_waited_for_its_end() {
        let mut silence = Silence::new(5);
        answered(&mut silence, 1, 50, false);
        silence.begin(100);
        for (sequence, at_ns) in [(2, 101), (3, 103), (4, 110), (5, 110), (6, 950)] {
            answered(&mut silence, sequence, at_ns, false);
        }
        answered(&mut silence, 7, 950, true);
        answered(&mut silence, 8, 951, false);
        answered(&mut silence, 9, 951, false);
        // One that is sent afterwards.
        let later = Answer {
            at_ns: 990,
            is_rejection: false,
            sequence: 10,
            last_sequence: 10,
            unanswered: 1,
        };
        silence.answered(&later);
        let expected = Outage {
            lost_ns: 10,
            silence_ns: 840,
            unanswered: 4,
            accepted_late: 3,
            rejected: 1,
            exchange_stayed: true,
            ..Outage::default()
        };
        assert_eq!(silence.longest(), Some(expected));
    }

    #[test]
    fn a_load_without_an_answer_has_no_silence_that_ended() {
        let mut silence = Silence::new(5);
        answered(&mut silence, 1, 50, false);
        silence.begin(100);
        assert_eq!(silence.longest(), None);
    }
}
