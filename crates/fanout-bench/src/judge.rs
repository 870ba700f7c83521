//! From arrivals to latencies, ranks and losses.

use crate::arrivals::{Arrivals, CertainRanks, Message};
use clock::recorder::{self, INTERVAL_NS, Interval, Series, write_log};
use fair::hold::{self, Cost};
use hdrhistogram::Histogram;
use plan::process::fan_out::{
    ARRIVAL, FIRST, HOP_1, HOP_2, LAST, LATE, MEDIAN, RELEASE, RELEASE_SPREAD, REPLICATOR, SPREAD,
    series_of,
};
use record::Kind;
use record::fan_out::{FanOutHeld, FanOutRun, FanOutSubscriber};
use std::io::{self, Write};
use std::time::SystemTime;

/// The series of a message as a whole; behind them follow those of each subscriber.
const SERIES: [Series; 13] = [
    Series::new(LAST, Kind::Response),
    Series::new(LAST, Kind::Service),
    Series::new(MEDIAN, Kind::Service),
    Series::new(FIRST, Kind::Service),
    Series::new(ARRIVAL, Kind::Service),
    Series::new(SPREAD, Kind::Stage),
    Series::new(HOP_1, Kind::Stage),
    Series::new(REPLICATOR, Kind::Stage),
    Series::new(HOP_2, Kind::Stage),
    Series::new("send", Kind::Lateness),
    Series::new(RELEASE, Kind::Service),
    Series::new(RELEASE_SPREAD, Kind::Stage),
    Series::new(LATE, Kind::Stage),
];

/// A run beside its arrivals.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub subject: &'a str,
    /// The share of messages that is to reach everybody at once.
    pub fair: f64,
    /// The hold that was applied.
    pub held: Option<FanOutHeld>,
}

/// The result of a run, without its counts of messages.
pub(crate) struct Judgement {
    pub run: FanOutRun,
    pub lateness: Histogram<u64>,
}

/// Writes the latencies to `log`, and counts ranks, losses and late copies.
///
/// # Errors
/// If the log can't be written.
pub(crate) fn judge(
    arrivals: &Arrivals,
    Question { subject, fair, held: applied }: Question<'_>,
    started: SystemTime,
    log: &mut dyn Write,
) -> io::Result<Judgement> {
    let own = (1..=arrivals.subscribers())
        .map(|number| Series { name: series_of(number).into(), kind: Kind::Service });
    let series: Vec<Series> = SERIES.into_iter().chain(own).collect();
    let hold_ns = applied.and_then(|applied| applied.hold_ns);
    let mut ranks = Ranks::new(arrivals.subscribers(), applied);
    let mut lateness = recorder::histogram();
    let mut messages = arrivals.messages().peekable();
    let mut scratch = Vec::with_capacity(arrivals.subscribers());
    let mut next = |written: Option<Box<Interval>>| {
        let start_ns = messages.peek()?.due_ns;
        let end_ns = start_ns - start_ns % INTERVAL_NS + INTERVAL_NS;
        let mut interval = written.unwrap_or_else(|| {
            let histograms = series.iter().map(|_| recorder::histogram()).collect();
            Box::new(Interval { start_ns, end_ns, histograms })
        });
        interval.histograms.iter_mut().for_each(Histogram::reset);
        (interval.start_ns, interval.end_ns) = (start_ns, end_ns);
        while let Some(message) = messages.next_if(|one| one.due_ns < end_ns) {
            record(&mut interval.histograms, &message, hold_ns, &mut scratch);
            lateness.saturating_record(message.lateness_ns);
            ranks.count(&message);
        }
        Some(interval)
    };
    write_log(&series, subject, log, started, 0, &|| (), &mut next)?;
    let held = held(arrivals, fair);
    Ok(Judgement { run: ranks.into_run(fair, held), lateness })
}

/// Records one message. `scratch` is room for its arrivals.
fn record(
    histograms: &mut [Histogram<u64>],
    message: &Message<'_>,
    hold_ns: Option<u64>,
    scratch: &mut Vec<u64>,
) {
    let mut put = |series: usize, ns: u64| histograms[series].saturating_record(ns);
    put(9, message.lateness_ns);
    scratch.clear();
    for (subscriber, ns) in message.copies() {
        put(4, ns);
        put(SERIES.len() + subscriber, ns);
        scratch.push(ns);
        if let Some(resent_ns) = message.resent_ns {
            put(8, ns.saturating_sub(resent_ns));
        }
    }
    if let (Some(received_ns), Some(resent_ns)) = (message.received_ns, message.resent_ns) {
        put(6, received_ns);
        put(7, resent_ns.saturating_sub(received_ns));
    }
    if let Some(hold_ns) = hold_ns {
        message.releases().for_each(|ns| put(10, ns));
        late(message, hold_ns).for_each(|ns| put(12, ns - hold_ns));
    }
    // Without the copy that was lost nobody knows how late the last one was.
    if !message.is_whole() {
        return;
    }
    if let (Some(first), Some(last)) = (message.releases().min(), message.releases().max()) {
        put(11, last - first);
    }
    scratch.sort_unstable();
    let (first, last) = (scratch[0], scratch[scratch.len() - 1]);
    put(0, last + message.lateness_ns);
    put(1, last);
    put(2, scratch[(scratch.len() - 1) / 2]);
    put(3, first);
    put(5, last - first);
}

/// Arrivals of the copies that came after their release, ns after sending.
fn late<'a>(message: &'a Message<'_>, hold_ns: u64) -> impl Iterator<Item = u64> + 'a {
    let arrivals = message.copies().map(|(_, ns)| ns);
    arrivals.filter(move |ns| hold::release(0, hold_ns, *ns).is_late)
}

/// The smallest hold with which a share `fair` of the messages reaches everybody at once, ns.
pub(crate) fn smallest_hold(arrivals: &Arrivals, fair: f64) -> Option<u64> {
    let last = |message: Message<'_>| {
        message.is_whole().then(|| message.copies().map(|(_, ns)| ns).max()).flatten()
    };
    let mut last_ns: Vec<Option<u64>> = arrivals.messages().map(last).collect();
    hold::smallest_hold(&mut last_ns, fair)
}

/// The smallest hold that is fair enough, and its cost.
fn held(arrivals: &Arrivals, fair: f64) -> Option<(u64, Cost)> {
    let hold_ns = smallest_hold(arrivals, fair)?;
    let copies = arrivals
        .messages()
        .flat_map(|message| message.copies().map(|(_, ns)| ns).collect::<Vec<u64>>());
    Some((hold_ns, hold::cost(copies, hold_ns)))
}

/// How often each subscriber was first and last, in messages that reached all, and how many of
/// these were released to all at once.
struct Ranks {
    messages: u64,
    whole: u64,
    applied: Option<FanOutHeld>,
    subscribers: Vec<FanOutSubscriber>,
}

impl Ranks {
    fn new(subscribers: usize, applied: Option<FanOutHeld>) -> Ranks {
        let subscribers = vec![FanOutSubscriber::default(); subscribers];
        Ranks { messages: 0, whole: 0, applied, subscribers }
    }

    fn count(&mut self, message: &Message<'_>) {
        self.messages += 1;
        message.copies().for_each(|(subscriber, _)| self.subscribers[subscriber].received += 1);
        if let Some(FanOutHeld { hold_ns: Some(hold_ns), simultaneous, late, .. }) =
            &mut self.applied
        {
            let late_here = self::late(message, *hold_ns).count() as u64;
            *late += late_here;
            *simultaneous += u64::from(message.is_whole() && late_here == 0);
        }
        if !message.is_whole() {
            return;
        }
        self.whole += 1;
        let CertainRanks { first, last } = message.ranks();
        first.into_iter().for_each(|first| self.subscribers[first].first += 1);
        last.into_iter().for_each(|last| self.subscribers[last].last += 1);
    }

    fn into_run(mut self, fair: f64, held: Option<(u64, Cost)>) -> FanOutRun {
        let messages = self.messages;
        self.subscribers.iter_mut().for_each(|one| one.lost = messages - one.received);
        FanOutRun {
            messages,
            whole: self.whole,
            fair,
            hold_ns: held.map(|(hold_ns, _)| hold_ns),
            held_ns_mean: held.map(|(_, cost)| cost.held_ns_mean),
            late: held.map(|(_, cost)| cost.late),
            held: self.applied,
            subscribers: self.subscribers,
            ..FanOutRun::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanout::tunnel::Stamps;
    use record::hlog;

    const HOLD_NS: u64 = 35_000;

    /// A thousand messages to three subscribers, one each millisecond: arrivals 20, 30 and 40 us
    /// after sending, in turn for another subscriber. Message 7 never reaches the last one. Each
    /// copy is handed on 35 us after sending or as it comes, 0.1 us after the one before.
    fn arrivals() -> Arrivals {
        let mut arrivals = Arrivals::new(1_000, 3, true);
        for number in 0..1_000_usize {
            let due_ns = number as u64 * 1_000_000;
            arrivals.sent(number, due_ns, due_ns + 500);
            let sent_ns = 1_000_000_000 + due_ns;
            let (received_ns, resent_ns) = (sent_ns + 9_000, sent_ns + 10_000);
            let stamps = Stamps { sequence: 0, sent_ns, received_ns, resent_ns };
            for copy in 0..3_usize {
                let subscriber = (number + copy) % 3;
                if (number, copy) != (7, 2) {
                    let arrival_ns = sent_ns + 20_000 + 10_000 * copy as u64;
                    arrivals.came(number, subscriber, &stamps, Some(arrival_ns));
                    let released_ns = arrival_ns.max(sent_ns + HOLD_NS) + 100 * copy as u64;
                    arrivals.handed_on((number, subscriber), sent_ns, released_ns);
                }
            }
        }
        arrivals
    }

    fn judged(fair: f64) -> (Judgement, hlog::Totals) {
        judged_with(fair, None)
    }

    fn judged_with(fair: f64, held: Option<FanOutHeld>) -> (Judgement, hlog::Totals) {
        let mut log = Vec::new();
        let started = SystemTime::UNIX_EPOCH;
        let measured = Question { subject: "all", fair, held };
        let judged = judge(&arrivals(), measured, started, &mut log).unwrap();
        (judged, hlog::totals(&log[..]).unwrap())
    }

    fn near(found: u64, expected: u64) -> bool {
        found.abs_diff(expected) <= expected / 100
    }

    #[test]
    fn first_median_last_and_both_hops_are_series() {
        let (_, totals) = judged(0.999);
        for (tag, count, ns) in [
            ("all.first.service", 999, 20_000),
            ("all.median.service", 999, 30_000),
            ("all.last.service", 999, 40_000),
            ("all.last.response", 999, 40_500),
            ("all.spread.stage", 999, 20_000),
            ("all.hop_1.stage", 1_000, 9_000),
            ("all.replicator.stage", 1_000, 1_000),
            ("all.send.lateness", 1_000, 500),
        ] {
            let series = &totals[tag];
            assert_eq!(series.len(), count, "{tag}");
            assert!(near(series.max(), ns) && near(series.min(), ns), "{tag}: {}", series.max());
        }
        assert_eq!(totals["all.arrival.service"].len(), 2_999);
        assert_eq!(totals["all.hop_2.stage"].len(), 2_999);
        assert!(near(totals["all.hop_2.stage"].max(), 30_000));
        assert_eq!(totals["all.arrival@1.service"].len(), 999);
    }

    #[test]
    fn ranks_and_losses_are_counted_by_subscriber() {
        let (Judgement { run, .. }, _) = judged(0.999);
        assert_eq!((run.messages, run.whole), (1_000, 999));
        let firsts: Vec<u64> = run.subscribers.iter().map(|one| one.first).collect();
        // Message 7 would have been first at subscriber 2.
        assert_eq!(firsts, [334, 332, 333]);
        assert_eq!(run.subscribers.iter().map(|one| one.last).sum::<u64>(), 999);
        let lost: Vec<u64> = run.subscribers.iter().map(|one| one.lost).collect();
        assert_eq!(lost, [1, 0, 0]);
    }

    /// One of a thousand messages is lost for one subscriber, so no hold makes all of them fair.
    #[test]
    fn the_smallest_hold_and_its_cost() {
        let (Judgement { run, .. }, _) = judged(0.999);
        assert_eq!((run.hold_ns, run.late), (Some(40_000), Some(0)));
        // Mean of 20, 10 and 0 us, less the copy that was lost.
        assert!((run.held_ns_mean.unwrap() - 10_003.3).abs() < 1.0, "{:?}", run.held_ns_mean);
        let (Judgement { run, .. }, _) = judged(1.0);
        assert_eq!((run.hold_ns, run.held_ns_mean, run.late), (None, None, None));
    }
    /// Each third copy comes 5 us after its release.
    #[test]
    fn with_a_hold_releases_and_late_copies_are_series() {
        let held = FanOutHeld { hold_ns: Some(HOLD_NS), searched: None, ..FanOutHeld::default() };
        let (Judgement { run, .. }, totals) = judged_with(0.999, Some(held));
        let found = run.held.unwrap();
        assert_eq!((found.simultaneous, found.late), (0, 999));
        for (tag, count, from_ns, to_ns) in [
            ("all.release.service", 2_999, 35_000, 40_200),
            ("all.release_spread.stage", 999, 5_200, 5_200),
            ("all.late.stage", 999, 5_000, 5_000),
            ("all.spread.stage", 999, 20_000, 20_000),
        ] {
            let series = &totals[tag];
            assert_eq!(series.len(), count, "{tag}");
            assert!(near(series.min(), from_ns) && near(series.max(), to_ns), "{tag}");
        }
        let long = FanOutHeld { hold_ns: Some(40_000), ..FanOutHeld::default() };
        let found = judged_with(0.999, Some(long)).0.run.held.unwrap();
        assert_eq!((found.simultaneous, found.late), (999, 0), "message 7 did not reach everybody");
        let none = judged_with(0.999, Some(FanOutHeld::default())).0.run.held.unwrap();
        assert_eq!((none.simultaneous, none.late), (0, 0), "nothing was held");
    }
}
