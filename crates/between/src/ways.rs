//! The two directions of requests whose ends read different clocks: kept while measuring, recorded
//! after the run.

use crate::offsets::{Offset, Offsets};
use crate::probes::Probes;
use clock::phc::PhcCourse;
use clock::recorder::{Recorder, histogram};
use clock::time_base::one_way;
use hdrhistogram::Histogram;
use plan::tables::one_way::OneWay;
use record::between::HostClocks;
use std::collections::HashMap;
use sync::{NearerStamps, Probe, Reply};
use transport::echo::datagrams::{EchoStamps, ReplyLeft};

/// Our kernel's stamps of a message and its reply, on our clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTimes {
    /// The request's sequence.
    pub sequence: u64,
    /// When the driver got the request.
    pub driver_ns: Option<u64>,
    /// When the kernel had the reply.
    pub received_ns: Option<u64>,
    /// When the card sent the request and received the reply, on the card's clock.
    pub card_ns: [Option<u64>; 2],
}

/// A request and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The request's sequence.
    pub sequence: u64,
    /// When it was due.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When the echo had it and when it replied, on the echo's clock; 0 if it was lost.
    pub echo_ns: [u64; 2],
    /// When the echo's kernel had it, on the echo's clock; 0: not stamped.
    pub echo_kernel_ns: u64,
    /// When the reply was read, or no longer waited for.
    pub ended_ns: u64,
}

impl Way {
    fn is_lost(&self) -> bool {
        self.echo_ns == [0; 2]
    }

    fn probe(&self) -> Probe {
        let [sent_ns, received_ns, replied_ns, ended_ns] =
            [self.sent_ns, self.echo_ns[0], self.echo_ns[1], self.ended_ns].map(signed);
        let reply = Reply { sent_ns: replied_ns, received_ns: ended_ns };
        Probe { sent_ns, received_ns, reply: Some(reply) }
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Largest errors of the kernel's stamps on our clock and on the echo's, ns; `None`: they are not
/// to be used.
pub type KernelErrors = [Option<u64>; 2];

/// The directions of one run.
pub struct Ways {
    kept: Vec<Way>,
    /// Ways that found no room.
    pub unkept: u64,
    /// Departures of replies from the echo, as long as there is room.
    left: Vec<ReplyLeft>,
}

/// Room whose memory is written to here, not on the measured path.
fn room<T: Clone>(value: T, count: u64) -> Vec<T> {
    let mut kept = vec![value; usize::try_from(count).unwrap_or(0)];
    kept.clear();
    kept
}

impl Ways {
    /// With room for `messages`, of which the kernel stamps one of `stamp_every` (0: none).
    pub fn with_room(messages: u64, stamp_every: u64) -> Ways {
        let way = Way {
            sequence: 1,
            intended_ns: 1,
            sent_ns: 1,
            echo_ns: [1; 2],
            echo_kernel_ns: 1,
            ended_ns: 1,
        };
        let stamped = messages.checked_div(stamp_every).map_or(0, |count| count + 1);
        Ways {
            kept: room(way, messages),
            unkept: 0,
            left: room(ReplyLeft { sequence: 1, driver_ns: 1 }, stamped),
        }
    }

    /// Keeps request `sequence`, due, sent and ended at these times; without the echo's stamps it
    /// was lost.
    #[inline]
    pub fn keep(
        &mut self,
        sequence: u64,
        [intended_ns, sent_ns, ended_ns]: [u64; 3],
        echo: Option<EchoStamps>,
    ) {
        if self.kept.len() == self.kept.capacity() {
            self.unkept += 1;
            return;
        }
        let echo = echo.unwrap_or_default();
        let echo_ns = [echo.received_ns, echo.sent_ns];
        let echo_kernel_ns = echo.kernel_received_ns.unwrap_or(0);
        self.kept.push(Way { sequence, intended_ns, sent_ns, echo_ns, echo_kernel_ns, ended_ns });
        // The echo repeats it until it has another one.
        let is_new = |left: &ReplyLeft| self.left.last() != Some(left);
        if let Some(left) = echo.left.filter(is_new)
            && self.left.len() < self.left.capacity()
        {
            self.left.push(left);
        }
    }

    /// The latest stamp of the echo, on its clock.
    pub fn last_echo_ns(&self) -> u64 {
        self.kept.iter().map(|way| way.echo_ns[1]).max().unwrap_or(0)
    }

    /// The probes that they are, with our kernel's stamps of some, and our card's clock if it is
    /// known. The figures stay those of the application's stamps.
    pub fn probes(
        &self,
        [ours_ns, theirs_ns]: KernelErrors,
        kernel: &[KernelTimes],
        card: Option<&PhcCourse>,
    ) -> Probes {
        let ours: HashMap<u64, &KernelTimes> =
            kernel.iter().map(|times| (times.sequence, times)).collect();
        let left: HashMap<u64, u64> =
            self.left.iter().map(|left| (left.sequence, left.driver_ns)).collect();
        let mut probes = Probes::default();
        for way in self.kept.iter().filter(|way| !way.is_lost()) {
            let all_times = ours.get(&way.sequence);
            let times = all_times.filter(|_| ours_ns.is_some());
            let echo = |ns: u64| Some(signed(ns)).filter(|ns| theirs_ns.is_some() && *ns > 0);
            let nearer = NearerStamps {
                sent_ns: times.and_then(|times| times.driver_ns).map(signed),
                received_ns: echo(way.echo_kernel_ns),
                replied_ns: left.get(&way.sequence).and_then(|ns| echo(*ns)),
                returned_ns: times.and_then(|times| times.received_ns).map(signed),
                error_ns: [ours_ns, theirs_ns].map(|ns| signed(ns.unwrap_or(0))),
            };
            probes.add(way.probe(), &nearer, &by_card(all_times.copied(), card));
        }
        probes
    }

    /// Records them, each direction unless `shown` leaves it out. `tags` are those of the
    /// recorder's series: response and service time of a request's way, and service time of a
    /// reply's.
    pub fn record(
        &self,
        offsets: Offsets,
        shown: OneWay,
        tags: [String; 3],
        mut recorder: Recorder,
        (from_ns, to_ns): (u64, u64),
    ) -> HostClocks {
        let mut totals: [Histogram<u64>; 3] = std::array::from_fn(|_| histogram());
        let (mut worst, mut unknown): (Option<(u64, u64)>, u64) = (None, 0);
        for way in &self.kept {
            let Some(Converted { lengths_ns, widest }) = converted(way, &offsets) else {
                unknown += 1;
                continue;
            };
            let is_wider = |one: &(u64, u64)| worst.is_none_or(|(_, error_ns)| one.1 > error_ns);
            worst = widest.filter(is_wider).or(worst);
            for (total, ns) in totals.iter_mut().zip(lengths_ns) {
                total.saturating_record(ns);
            }
        }
        let why = |total: &Histogram<u64>| match worst {
            _ if unknown > 0 => Some(format!(
                "at {unknown} of {} requests the offset of the clocks is unknown: a clock was set, \
                 or drifts by more than 200 ppm",
                self.kept.len()
            )),
            Some((_, error_ns)) if shown == OneWay::Tenth => {
                one_way(total.value_at_quantile(0.5), Some(error_ns))
                    .err()
                    .map(|why| why.to_string())
            }
            Some(_) => None,
            None => Some("no request was answered".to_owned()),
        };
        let reasons = [0, 1, 2].map(|series| why(&totals[series]));
        recorder.start(from_ns);
        for way in &self.kept {
            recorder.roll(way.ended_ns);
            let Some(Converted { lengths_ns, .. }) = converted(way, &offsets) else { continue };
            for (series, ns) in lengths_ns.into_iter().enumerate() {
                if reasons[series].is_none() {
                    recorder.record(series, ns);
                }
            }
        }
        recorder.finish(to_ns);
        let mut between = offsets.into_record(worst);
        for (tag, why) in tags.into_iter().zip(reasons) {
            match (why, worst) {
                (Some(why), _) => drop(between.withheld.insert(tag, why)),
                (None, Some((_, error_ns))) => drop(between.errors_ns.insert(tag, error_ns)),
                (None, None) => {}
            }
        }
        between
    }
}

/// Our card's stamps on our clock.
fn by_card(times: Option<&KernelTimes>, course: Option<&PhcCourse>) -> NearerStamps {
    let Some((times, course)) = times.zip(course) else { return NearerStamps::default() };
    let [sent_ns, returned_ns] =
        times.card_ns.map(|ns| ns.and_then(|ns| course.clock_ns(ns)).map(signed));
    let error_ns = [signed(course.bound_ns()), 0];
    NearerStamps { sent_ns, returned_ns, error_ns, ..NearerStamps::default() }
}

/// The lengths of both directions.
struct Converted {
    /// From due to arrived, from sent to arrived, from replied to read.
    lengths_ns: [u64; 3],
    /// The instant with the widest offset of those that were used, and its error.
    widest: Option<(u64, u64)>,
}

/// `None` if the offset is unknown. A loss has the time that was waited in both directions.
fn converted(way: &Way, offsets: &Offsets) -> Option<Converted> {
    let Way { intended_ns, sent_ns, echo_ns, ended_ns, .. } = *way;
    if way.is_lost() {
        let waited = [intended_ns, sent_ns, sent_ns].map(|ns| ended_ns.saturating_sub(ns));
        return Some(Converted { lengths_ns: waited, widest: None });
    }
    let ours_ns =
        |theirs_ns: u64, offset: Offset| theirs_ns.saturating_add_signed(-offset.middle_ns);
    // The offset at the instant of the echo's stamp, which that of ours beside it leads to.
    let at_echo =
        |theirs_ns: u64, beside_ns: u64| offsets.at(ours_ns(theirs_ns, offsets.at(beside_ns)?));
    let (there, back) = (at_echo(echo_ns[0], sent_ns)?, at_echo(echo_ns[1], ended_ns)?);
    let (came_ns, left_ns) = (ours_ns(echo_ns[0], there), ours_ns(echo_ns[1], back));
    let lengths_ns =
        [(came_ns, intended_ns), (came_ns, sent_ns), (ended_ns, left_ns)].map(|(to, from)| {
            // A length below zero is one within the error of zero.
            to.saturating_sub(from)
        });
    let is_there = there.error_ns >= back.error_ns;
    let widest = if is_there { (came_ns, there.error_ns) } else { (left_ns, back.error_ns) };
    Some(Converted { lengths_ns, widest: Some(widest) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::phc::PhcReading;

    const ECHO: EchoStamps = EchoStamps {
        received: 1,
        received_ns: 1_000_000,
        sent_ns: 1_005_000,
        kernel_received_ns: Some(998_000),
        left: None,
    };

    /// Two requests. Both kernels stamped the first one, whose reply's departure came with the
    /// second one, twice.
    fn ways() -> Ways {
        let mut ways = Ways::with_room(3, 2);
        ways.keep(4, [90_000, 100_000, 140_000], Some(ECHO));
        let left = Some(ReplyLeft { sequence: 4, driver_ns: 1_006_000 });
        let second = EchoStamps {
            received: 2,
            received_ns: 2_000_000,
            sent_ns: 2_005_000,
            kernel_received_ns: None,
            left,
        };
        for (sequence, sent_ns) in [(5, 1_100_000), (6, 1_200_000)] {
            ways.keep(sequence, [sent_ns, sent_ns, sent_ns + 40_000], Some(second));
        }
        assert_eq!(ways.left.len(), 1);
        ways
    }

    /// Our kernel's and our card's.
    const OURS: KernelTimes = KernelTimes {
        sequence: 4,
        driver_ns: Some(102_000),
        received_ns: Some(135_000),
        card_ns: [None, Some(5_000_130_000)],
    };

    fn narrowed(sent_ns: i64, received_ns: i64, replied_ns: i64, returned_ns: i64) -> Probe {
        let reply = Some(Reply { sent_ns: replied_ns, received_ns: returned_ns });
        Probe { sent_ns, received_ns, reply }
    }

    #[test]
    fn stamps_of_both_kernels_find_their_request() {
        let both = ways().probes([Some(50), Some(200)], &[OURS], None);
        assert_eq!((both.kernel, both.card, both.whole.len()), ([1; 4], [0; 2], 1));
        assert_eq!(both.narrowed[0], narrowed(101_950, 998_200, 1_005_800, 135_050));
        assert_eq!(both.narrowed[1..], both.own[1..]);
        assert_eq!(both.own[0], narrowed(100_000, 1_000_000, 1_005_000, 140_000));
        let ours = ways().probes([Some(50), None], &[OURS], None);
        assert_eq!((ours.kernel, ours.whole.len()), ([1, 0, 0, 1], 0));
        let theirs = ways().probes([None, Some(200)], &[OURS], None);
        assert_eq!(theirs.narrowed[0], narrowed(100_000, 998_200, 1_005_800, 140_000));
    }

    /// The card had the reply 5 us before the kernel, give or take 20 ns.
    #[test]
    fn the_cards_stamp_narrows_further() {
        let reading =
            |wall_ns| PhcReading { phc_ns: 5_000_000_000 + wall_ns, wall_ns, bound_ns: 10 };
        let course = PhcCourse::through(vec![reading(1), reading(100_000), reading(200_000)]);
        let all = ways().probes([Some(50), Some(200)], &[OURS], course.as_ref());
        assert_eq!((all.kernel, all.card), ([1; 4], [0, 1]));
        assert_eq!(all.narrowed[0], narrowed(101_950, 998_200, 1_005_800, 130_020));
        assert_eq!(all.whole[0], narrowed(101_950, 998_200, 1_005_800, 135_050));
    }
}
