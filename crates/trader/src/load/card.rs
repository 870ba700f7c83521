//! Stamps of our network card: where a message is between the driver and the wire. They are by the
//! card's own clock, and converted to ours after the run.

use between::ways::KernelTimes;
use clock::Clock;
use clock::phc::PhcCourse;
use clock::recorder::{Drain, Recorder, Series, recorder};
use host::Root;
use host::ptp::{self, CardReader};
use plan::backend;
use plan::process::orders::OrdersPlan;
use plan::segments::CARD_SEGMENTS;
use plan::tables::load::Model;
use plan::tables::network::TWO_CLOCKS_MESSAGES_MAX;
use record::{KernelStamped, Kind};
use transport::stamps;

/// Our card's clock, and where its segments are recorded.
pub(crate) struct Card {
    reader: CardReader,
    recorder: Recorder,
}

/// Reads the clock of our card from now on, and converts it to `clock`, if messages are stamped.
/// `None` also where the way to the target has no card with a clock that this process may read. Its
/// thread belongs on a core that is not measured.
pub(crate) fn reader(plan: &OrdersPlan, clock: Clock) -> Option<CardReader> {
    if plan.load.stamp_every == 0 || backend::is_below(&plan.backend) {
        return None;
    }
    let peer = super::dialler::first_address(&plan.target).ok()?;
    let device = ptp::of_interface(&Root::system(), &stamps::interface_to(peer)?)?;
    CardReader::start(device, clock).ok()
}

/// Stamped messages of a plan, whose times are kept until its end.
pub(crate) fn messages(plan: &OrdersPlan) -> u64 {
    let all = match plan.load.model {
        Model::Open => plan.load.messages(plan.seconds).min(TWO_CLOCKS_MESSAGES_MAX),
        Model::PingPong => TWO_CLOCKS_MESSAGES_MAX,
    };
    all.checked_div(plan.load.stamp_every).map_or(0, |count| count + 1)
}

impl Card {
    /// The drain of its series comes with it.
    pub(crate) fn new(reader: CardReader, seconds: f64) -> (Card, Drain) {
        let series = CARD_SEGMENTS.map(|name| Series::new(name, Kind::Service));
        let (recorder, drain) = recorder(&series, seconds);
        (Card { reader, recorder }, drain)
    }

    /// Records the segments of `kept` from `from_to_ns` on. Returns the card's clock, unless its
    /// stamps can't be converted.
    pub(crate) fn finish(
        self,
        kept: &[KernelTimes],
        stamped: Option<&mut KernelStamped>,
        from_to_ns: (u64, u64),
    ) -> Option<PhcCourse> {
        let course = self.reader.finish();
        record(course.as_ref(), kept, stamped, self.recorder, from_to_ns);
        course
    }
}

fn record(
    course: Option<&PhcCourse>,
    kept: &[KernelTimes],
    stamped: Option<&mut KernelStamped>,
    mut recorder: Recorder,
    (from_ns, to_ns): (u64, u64),
) {
    recorder.start(from_ns);
    // The kernel's stamps from around a step of the wall clock are wrong by the step.
    let steady = stamped.filter(|stamped| stamped.by_card > 0 && stamped.clock_steps == 0);
    if let Some((course, stamped)) = course.zip(steady) {
        stamped.card_bound_ns = Some(course.bound_ns());
        for times in kept {
            let [sent_ns, received_ns] = times.card_ns.map(|card_ns| course.clock_ns(card_ns?));
            if let Some(at_ns) = times.received_ns.or(times.driver_ns) {
                recorder.roll(at_ns);
            }
            let ends = [(times.driver_ns, sent_ns), (received_ns, times.received_ns)];
            for (series, (from, to)) in ends.into_iter().enumerate() {
                if let Some((from, to)) = from.zip(to) {
                    // Both ends are converted: one may seem to precede the other by some ns.
                    recorder.record(series, to.saturating_sub(from));
                }
            }
        }
    }
    recorder.finish(to_ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::phc::PhcReading;
    use std::collections::BTreeMap;

    fn recorded(
        course: Option<&PhcCourse>,
        stamped: &mut KernelStamped,
    ) -> BTreeMap<String, (u64, u64)> {
        let series = CARD_SEGMENTS.map(|name| Series::new(name, Kind::Service));
        let (recorder, drain) = recorder(&series, 1.0);
        // The card is five seconds ahead.
        let kept = [
            KernelTimes {
                sequence: 1,
                driver_ns: Some(100_000),
                received_ns: Some(160_000),
                card_ns: [Some(5_000_101_500), Some(5_000_150_000)],
            },
            KernelTimes {
                sequence: 2,
                driver_ns: Some(170_000),
                received_ns: Some(190_000),
                card_ns: [None, Some(5_000_187_000)],
            },
            // A card like ENA: it stamps nothing on the way out; and after the last reading.
            KernelTimes {
                sequence: 3,
                driver_ns: Some(195_000),
                received_ns: Some(900_000),
                card_ns: [None, Some(5_000_890_000)],
            },
        ];
        record(course, &kept, Some(stamped), recorder, (50_000, 950_000));
        let mut log = Vec::new();
        drain.run("t", &mut log, std::time::SystemTime::now(), 0, &|| ()).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        totals.into_iter().map(|(tag, values)| (tag, (values.len(), values.max()))).collect()
    }

    fn course() -> Option<PhcCourse> {
        let reading = |ns| PhcReading { phc_ns: 5_000_000_000 + ns, wall_ns: ns, bound_ns: 10 };
        PhcCourse::through(vec![reading(1), reading(100_000), reading(200_000)])
    }

    #[test]
    fn segments_between_driver_and_wire_are_on_our_clock() {
        let mut stamped = KernelStamped { messages: 3, by_card: 3, ..KernelStamped::default() };
        let series = recorded(course().as_ref(), &mut stamped);
        assert_eq!(series["t.driver_to_card.service"], (1, 1_500));
        assert_eq!(series["t.card_to_kernel.service"], (2, 10_007), "{series:?}");
        assert_eq!(stamped.card_bound_ns, course().map(|course| course.bound_ns()));
    }

    #[test]
    fn a_card_without_a_clock_and_a_wall_clock_that_was_set_give_none() {
        let of_card = KernelStamped { messages: 3, by_card: 3, ..KernelStamped::default() };
        let mut stepped = KernelStamped { clock_steps: 1, ..of_card.clone() };
        assert!(recorded(course().as_ref(), &mut stepped).is_empty());
        let mut unread = of_card;
        assert!(recorded(None, &mut unread).is_empty());
        assert_eq!((stepped.card_bound_ns, unread.card_bound_ns), (None, None));
    }
}
