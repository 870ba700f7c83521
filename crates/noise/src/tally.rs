//! Adds up gaps by cause, over cores.

use crate::attribute::{GapPart, aligned_share, attribute};
use crate::cause::{HOST, TICK, UNTRACED};
use crate::meter::{Gap, MeterResult};
use crate::periods::{is_tick, period};
use crate::trace::spans::{CoreSpans, Span};
use record::noise::{self, Cause, PeriodSource, Stall};
use stats::{is_supported, median};
use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

/// Number of the longest gaps to keep with their parts.
pub const STALLS_MAX: usize = 20;

/// One part of one gap.
#[derive(Clone, Copy)]
struct Entry {
    core: usize,
    start_ns: u64,
    lost_ns: u64,
}

/// The part of a run to which a gap belongs; run 0 if there are no runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct GapOwner {
    pub run: u32,
    pub subject: String,
}

/// A long gap.
struct LongGap {
    core: usize,
    at_seconds: f64,
    at_unix_seconds: f64,
    whose: GapOwner,
    length_ns: u64,
    parts: Vec<(usize, u64)>,
}

/// Sums so far. Causes go by their index in the list of ids.
#[derive(Default)]
pub(crate) struct Tally {
    entries: BTreeMap<usize, Vec<Entry>>,
    /// Number and time of gaps that were not stored.
    not_kept: (u64, u64),
    long: Vec<LongGap>,
}

impl Tally {
    /// Adds a core. Returns how well both timelines agree.
    pub(crate) fn add(
        &mut self,
        seen: &MeterResult,
        told: Option<&CoreSpans>,
        whose: &GapOwner,
    ) -> Option<f64> {
        let spans = told.map_or(Vec::new(), |told| moved(&seen.anchors, &told.spans));
        let parts = match told {
            Some(_) => attribute(&seen.gaps, &spans),
            None => seen.gaps.iter().map(|gap| vec![GapPart::untraced(gap.length_ns())]).collect(),
        };
        let unix_seconds = seen.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin = (seen.start_ns, unix_seconds.as_secs_f64());
        let place = (seen.core, seen.look_ns as u64);
        let kept_ns = self.count(place, origin, &seen.gaps, &parts, whose);
        if seen.gaps_not_kept() > 0 {
            self.not_kept.0 += seen.gaps_not_kept();
            self.not_kept.1 += seen.lost_ns().saturating_sub(kept_ns);
        }
        aligned_share(&seen.gaps, &spans, seen.limit_ns)
    }

    /// Adds gaps of a core with their parts; one usual look per gap is not lost. Their times count
    /// from `origin`, on their clock and since the epoch. Returns the lost time.
    pub(crate) fn count(
        &mut self,
        (core, look_ns): (usize, u64),
        (origin_ns, origin_unix_seconds): (u64, f64),
        gaps: &[Gap],
        parts: &[Vec<GapPart>],
        whose: &GapOwner,
    ) -> u64 {
        let mut kept_ns = 0;
        let mut long: Vec<(u64, usize)> = Vec::with_capacity(gaps.len());
        for (number, (gap, parts)) in gaps.iter().zip(parts).enumerate() {
            let mut look_ns = look_ns;
            for part in parts {
                // A usual look is not lost time: the first part, the largest, is shorter by it.
                let lost_ns = part.length_ns.saturating_sub(std::mem::take(&mut look_ns));
                kept_ns += lost_ns;
                let entry = Entry { core, start_ns: gap.start_ns, lost_ns };
                self.entries.entry(part.cause.index()).or_default().push(entry);
            }
            long.push((gap.length_ns(), number));
        }
        long.sort_unstable_by(|a, b| b.cmp(a));
        for (length_ns, number) in long.into_iter().take(STALLS_MAX) {
            let at_seconds = gaps[number].start_ns.saturating_sub(origin_ns) as f64 / 1e9;
            let of_part = |part: &GapPart| (part.cause.index(), part.length_ns);
            self.long.push(LongGap {
                core,
                at_seconds,
                at_unix_seconds: origin_unix_seconds + at_seconds,
                whose: whose.clone(),
                length_ns,
                parts: parts[number].iter().map(of_part).collect(),
            });
        }
        self.long.sort_by_key(|long| std::cmp::Reverse(long.length_ns));
        self.long.truncate(STALLS_MAX);
        kept_ns
    }

    /// The table, the most lost time first.
    pub(crate) fn causes(&self, ids: &[String]) -> Vec<Cause> {
        // Two functions may have one id.
        let mut by_id: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
        for (cause, entries) in &self.entries {
            by_id.entry(&ids[*cause]).or_default().extend(entries);
        }
        let mut causes: Vec<Cause> =
            by_id.into_iter().map(|(id, entries)| row(id, entries)).collect();
        self.add_not_kept(&mut causes);
        let lost_ns: u64 = causes.iter().map(|cause| cause.lost_ns).sum();
        for cause in &mut causes {
            cause.share = cause.lost_ns as f64 / lost_ns.max(1) as f64;
        }
        causes.sort_by(|a, b| b.lost_ns.cmp(&a.lost_ns).then_with(|| a.cause.cmp(&b.cause)));
        causes
    }

    fn add_not_kept(&self, causes: &mut Vec<Cause>) {
        let (count, lost_ns) = self.not_kept;
        if count == 0 {
            return;
        }
        match causes.iter_mut().find(|cause| cause.cause == UNTRACED) {
            Some(untraced) => {
                untraced.count += count;
                untraced.lost_ns += lost_ns;
            }
            None => causes.push(Cause {
                cause: UNTRACED.to_owned(),
                count,
                lost_ns,
                ..Cause::default()
            }),
        }
    }

    /// The longest gaps.
    pub(crate) fn longest(&self, ids: &[String]) -> Vec<Stall> {
        let part = |&(cause, length_ns): &(usize, u64)| noise::GapPart {
            cause: ids[cause].clone(),
            length_ns,
        };
        let stall = |long: &LongGap| Stall {
            core: long.core,
            run: long.whose.run,
            subject: long.whose.subject.clone(),
            at_seconds: long.at_seconds,
            at_unix_seconds: long.at_unix_seconds,
            length_ns: long.length_ns,
            parts: long.parts.iter().map(part).collect(),
        };
        self.long.iter().map(stall).collect()
    }
}

fn row(id: &str, mut entries: Vec<Entry>) -> Cause {
    let lengths: Vec<u64> = entries.iter().map(|entry| entry.lost_ns).collect();
    let count = lengths.len() as u64;
    entries.sort_by_key(|entry| (entry.core, entry.start_ns));
    let most = entries.chunk_by(|a, b| a.core == b.core).max_by_key(|chunk| chunk.len());
    let starts: Vec<u64> = most.unwrap_or_default().iter().map(|entry| entry.start_ns).collect();
    let period = period(&starts);
    Cause {
        cause: id.to_owned(),
        count,
        lost_ns: lengths.iter().sum(),
        share: 0.0,
        p50_ns: median(&lengths).filter(|_| is_supported(count, 0.5)),
        max_ns: lengths.iter().copied().max().unwrap_or(0),
        period_ns: period.map(|period| period.period_ns),
        period_share: period.map_or(0.0, |period| period.share),
        period_is: period.filter(|period| is_tick(period.period_ns)).and(match id {
            TICK => Some(PeriodSource::OurTick),
            HOST => Some(PeriodSource::HostTick),
            _ => None,
        }),
    }
}

/// Moves spans to the timeline of the meter's clock, by a line through the two moments at which
/// both were read together.
pub(crate) fn moved(anchors: &[(u64, u64); 2], spans: &[Span]) -> Vec<Span> {
    let [(ours, raw), (ours_later, raw_later)] = *anchors;
    let rate = match raw_later.saturating_sub(raw) {
        0 => 1.0,
        raw => ours_later.saturating_sub(ours) as f64 / raw as f64,
    };
    let moved = |at_ns: u64| {
        let since_ns = at_ns as i64 - raw as i64;
        (ours as i64 + (since_ns as f64 * rate) as i64).max(0) as u64
    };
    let open = |at_ns: u64| if at_ns == u64::MAX { at_ns } else { moved(at_ns) };
    spans
        .iter()
        .map(|span| Span { start_ns: moved(span.start_ns), end_ns: open(span.end_ns), ..*span })
        .collect()
}
