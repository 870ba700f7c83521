//! The offset of the other end's clock at any instant of a run.

use crate::probes::Probes;
use clock::time_base::Bridge;
use record::between::{HostClocks, OffsetBracket, OffsetClaim, OffsetEstimate};
use sync::{BATCHES, Bounds, Brackets, Estimate, Probe, estimates, wander_ns};

/// Instants at which the bracket's width and the claims are looked at.
const INSTANTS: i64 = 256;
/// The longest window of an estimate, ns, and the number of windows of a shorter run.
const ESTIMATE_NS_MAX: i64 = 1_000_000_000;
const ESTIMATES_MIN: i64 = 8;
/// Where the stamps nearest to the wire come from: next to the system calls, from the kernel, or
/// from the card.
const APPLICATION: &str = "application";
const SOFTWARE: &str = "software";
const HARDWARE: &str = "hardware";
/// The bound that is proved.
const BRACKET: &str = "bracket";

/// Offset of the other end's clock at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The other clock minus ours, ns: the middle of what is possible.
    pub middle_ns: i64,
    /// Its largest error, either way, ns.
    pub error_ns: u64,
}

/// All offsets of a run.
pub struct Offsets {
    brackets: Brackets,
    /// The claim of the clocks' keepers with the tightest bound that the bracket doesn't
    /// contradict.
    claim: Option<(Bridge, String, u64)>,
    record: HostClocks,
}

impl Offsets {
    /// The offsets that `probes` leave. `step_ns` is the resolution of the coarser clock.
    pub fn of(probes: &Probes, bridge: Option<Bridge>, step_ns: u64) -> Offsets {
        let bounds = Bounds { stamp_error_ns: step_ns as f64, ..Bounds::FREE_RUNNING };
        let brackets = Brackets::of(&probes.narrowed, &bounds, &[]);
        let instants = instants(&probes.own);
        let claims = bridge.iter().flat_map(Bridge::claims);
        let claims: Vec<(OffsetClaim, u64)> = claims
            .filter_map(|(from, bound_ns)| {
                let bridge = bridge.as_ref()?;
                Some((claim(bridge, from, bound_ns, &brackets, &instants)?, bound_ns))
            })
            .collect();
        let sound = claims.iter().filter(|(claim, _)| claim.contradicted.is_empty());
        let tightest = sound.min_by_key(|(_, bound_ns)| *bound_ns);
        let tightest = tightest.map(|(claim, bound_ns)| (claim.from.clone(), *bound_ns));
        let record = HostClocks {
            probes: probes.own.iter().filter(|probe| probe.reply.is_some()).count() as u64,
            stamps: source(probes).to_owned(),
            kernel_stamps: probes.kernel,
            card_stamps: probes.card,
            at_ns: instants.get(instants.len() / 2).map_or(0, |ns| ns.unsigned_abs()),
            bracket: bracket(&brackets, &instants),
            // Stamps of one kind at all four points, so that no direction is favoured.
            estimate: estimate(&probes.whole, SOFTWARE, &brackets).or_else(|| {
                estimate(&probes.own, APPLICATION, &Brackets::of(&probes.own, &bounds, &[]))
            }),
            claims: claims.into_iter().map(|(claim, _)| claim).collect(),
            ..HostClocks::default()
        };
        let claim = bridge.zip(tightest).map(|(bridge, (from, ns))| (bridge, from, ns));
        Offsets { brackets, claim, record }
    }

    /// The offset at an instant of our clock; `None` where a clock was set, or nothing is known.
    pub fn at(&self, ours_ns: u64) -> Option<Offset> {
        let [low, high] = self.interval(ours_ns)?;
        let width = high.abs_diff(low);
        let middle_ns = low.saturating_add_unsigned(width / 2);
        Some(Offset { middle_ns, error_ns: width.div_ceil(2) })
    }

    /// The offsets at an instant that bracket and claim leave.
    fn interval(&self, ours_ns: u64) -> Option<[i64; 2]> {
        let bracket = self.brackets.at_or_near(signed(ours_ns))?;
        let both = self.claimed(ours_ns).and_then(|claimed| common(bracket, claimed));
        Some(both.unwrap_or(bracket))
    }

    /// If the offset is known at an instant: by how much `middle_ns` may be off it, ns.
    pub fn error_ns(&self, middle_ns: i64, ours_ns: u64) -> Option<u64> {
        let [low, high] = self.interval(ours_ns)?;
        Some(middle_ns.abs_diff(low).max(middle_ns.abs_diff(high)))
    }

    fn claimed(&self, ours_ns: u64) -> Option<[i64; 2]> {
        let (bridge, _, bound_ns) = self.claim.as_ref()?;
        Some(around(bridge.offset_ns(ours_ns), *bound_ns))
    }

    /// The record. `worst` is the instant of the largest error that was used, and that error.
    pub fn into_record(mut self, worst: Option<(u64, u64)>) -> HostClocks {
        self.record.offset_ns = self.at(self.record.at_ns).map(|offset| offset.middle_ns);
        if let Some((at_ns, error_ns)) = worst {
            self.record.error_ns = Some(error_ns);
            self.record.error_from = self.source(at_ns);
        }
        self.record
    }

    /// Which of the two makes the interval at an instant.
    fn source(&self, ours_ns: u64) -> String {
        let interval = self.interval(ours_ns);
        let Some((_, from, _)) = &self.claim else { return BRACKET.to_owned() };
        if interval == self.brackets.at_or_near(signed(ours_ns)) {
            BRACKET.to_owned()
        } else if interval == self.claimed(ours_ns) {
            from.clone()
        } else {
            format!("{BRACKET} and {from}")
        }
    }
}

fn source(probes: &Probes) -> &'static str {
    match (probes.card, probes.kernel) {
        ([0, 0], [0, 0, 0, 0]) => APPLICATION,
        ([0, 0], _) => SOFTWARE,
        _ => HARDWARE,
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn around(middle: i64, bound_ns: u64) -> [i64; 2] {
    [middle.saturating_sub_unsigned(bound_ns), middle.saturating_add_unsigned(bound_ns)]
}

/// The part that is in both intervals.
fn common(one: [i64; 2], other: [i64; 2]) -> Option<[i64; 2]> {
    let both = [one[0].max(other[0]), one[1].min(other[1])];
    (both[0] <= both[1]).then_some(both)
}

/// Evenly spaced instants of our clock, from the first probe to the last.
fn instants(probes: &[Probe]) -> Vec<i64> {
    let sent = || probes.iter().filter(|probe| probe.reply.is_some()).map(|probe| probe.sent_ns);
    let (Some(first), Some(last)) = (sent().min(), sent().max()) else { return Vec::new() };
    let step = (last - first) / INSTANTS;
    (0..=INSTANTS).map(|turn| first + turn * step).collect()
}

fn bracket(brackets: &Brackets, instants: &[i64]) -> Option<OffsetBracket> {
    let at: Vec<[i64; 2]> = instants.iter().filter_map(|ns| brackets.at(*ns)).collect();
    let mut widths: Vec<u64> = at.iter().map(|[low, high]| high.abs_diff(*low)).collect();
    widths.sort_unstable();
    let drifts = || brackets.windows().filter_map(|window| window.drift);
    let ends = drifts().reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])]);
    Some(OffsetBracket {
        offset_ns: *at.get(at.len() / 2)?,
        width_ns_p50: widths[widths.len() / 2],
        width_ns_max: *widths.last()?,
        windows: brackets.windows().count() as u64,
        windows_contradicted: (brackets.windows().count() - drifts().count()) as u64,
        steps: brackets.steps_seen,
        drift_ppm: ends.map(|ends| ends.map(|drift| drift * 1e6)),
        round_trip_ns_min: brackets.windows().filter_map(|one| one.round_trip_min_ns).min(),
    })
}

fn estimate(probes: &[Probe], stamps: &str, brackets: &Brackets) -> Option<OffsetEstimate> {
    let sent = || probes.iter().map(|probe| probe.sent_ns);
    let span = sent().max()? - sent().min()?;
    let length_ns = (span / ESTIMATES_MIN).clamp(BATCHES as i64, ESTIMATE_NS_MAX);
    let all = estimates(probes, brackets, length_ns);
    let Estimate { offset_ns, interval_ns, drift, .. } = *all.get(all.len() / 2)?;
    Some(OffsetEstimate {
        assumes: "symmetric paths".to_owned(),
        stamps: stamps.to_owned(),
        offset_ns,
        interval_ns,
        drift_ppm: drift * 1e6,
        windows: all.len() as u64,
        wander_ns: wander_ns(&all),
    })
}

/// A claim, checked at each instant; `None` without instants.
fn claim(
    bridge: &Bridge,
    from: String,
    bound_ns: u64,
    brackets: &Brackets,
    instants: &[i64],
) -> Option<OffsetClaim> {
    let at = |ns: i64| around(bridge.offset_ns(ns.unsigned_abs()), bound_ns);
    let apart = |ns: &i64| {
        let ([low, high], [from, to]) = (brackets.at(*ns)?, at(*ns));
        let gap = low.saturating_sub(to).max(from.saturating_sub(high));
        (gap > 0).then_some((gap, [low, high]))
    };
    let worst = instants.iter().filter_map(apart).max();
    let offset_ns = at(*instants.get(instants.len() / 2)?);
    let contradicted = worst.map(|(gap, [low, high])| {
        format!(
            "by {from} the other end's clock is ahead of the client's by {} to {} ns, and no \
             datagram may take less than no time, which leaves {low} to {high} ns, {gap} ns away",
            offset_ns[0], offset_ns[1]
        )
    });
    Some(OffsetClaim { from, offset_ns, contradicted: contradicted.unwrap_or_default() })
}

#[cfg(test)]
#[path = "offsets_tests.rs"]
mod tests;
