//! Arrivals of other hosts on the source's clock, each with its largest error.

use crate::arrivals::Arrivals;
use crate::hosts::spread::{Copy, Spreads, drifted_ns};
use between::offsets::Offsets;

/// The copies that one end received.
pub(super) struct FarCopies<'a> {
    /// Number of its first subscriber, from 0.
    pub first: usize,
    pub subscribers: usize,
    /// By message and subscriber, ns on the end's clock; 0: it did not come. With the times of a
    /// replicator it is as if they were those of two subscribers.
    pub arrivals_ns: &'a [u64],
    /// Largest error of these on that clock, ns.
    pub stamp_error_ns: u64,
    /// How often the wall clock was set by which they are: then they mean nothing.
    pub clock_steps: u64,
    pub offsets: &'a Offsets,
}

/// Largest errors of the parts of the way, ns; `None`: no message has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HopErrors {
    /// To the replicator, in it, and from it.
    pub hops: [Option<u64>; 3],
}

/// The arrivals of one end, and how far they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndErrors {
    pub received: u64,
    /// Copies at which the offset of the clocks is unknown.
    pub unplaced: u64,
    /// When the worst one came, ns on the source's clock, and its error.
    pub worst: Option<(u64, u64)>,
}

/// All arrivals of a run.
pub(super) struct PlacedArrivals {
    pub arrivals: Arrivals,
    /// The last one is that of the replicator's end, if there is one.
    pub ends: Vec<EndErrors>,
    pub spreads: Spreads,
    pub hops: HopErrors,
}

/// Places the copies of all ends, and the times of the replicator, if there is an end for them.
/// `sent` has the messages; the source began to send at `start_ns` of its clock.
pub(super) fn all(
    ends: &[FarCopies<'_>],
    replicator: Option<&FarCopies<'_>>,
    subscribers: usize,
    start_ns: u64,
    sent: Arrivals,
) -> PlacedArrivals {
    let messages = ends.first().map_or(0, |end| end.arrivals_ns.len() / end.subscribers);
    let mut arrivals = sent.elsewhere(subscribers);
    let mut errors = vec![EndErrors::default(); ends.len()];
    let (mut at_replicator, mut hops) = (EndErrors::default(), HopErrors::default());
    let mut spreads = Spreads::new();
    let mut copies = Vec::with_capacity(subscribers);
    for number in 0..messages {
        let Some(sent_at) = arrivals.sent_at(number) else {
            // Copies of a message that nobody sent.
            arrivals.strange += ends.iter().flat_map(|end| end.came(number)).count() as u64;
            continue;
        };
        let sent_ns = start_ns + sent_at;
        copies.clear();
        for (at, (end, errors)) in ends.iter().zip(&mut errors).enumerate() {
            for (subscriber, copy) in end.place(at, number, sent_ns) {
                errors.count(copy.as_ref());
                let after_ns = copy.map(|copy| copy.at_ns - signed(sent_ns));
                arrivals.came_elsewhere(number, subscriber, after_ns);
                copies.extend(copy);
            }
        }
        if copies.len() == subscribers {
            arrivals.ranked(number, spreads.add(&copies));
        }
        if let Some(replicator) = replicator {
            let times: Vec<_> = replicator.place(ends.len(), number, sent_ns).collect();
            if let [(_, received), (_, resent)] = times[..] {
                at_replicator.count(received.as_ref());
                let Some(both) = received.zip(resent) else { continue };
                let after = |time: Copy| time.at_ns - signed(sent_ns);
                arrivals.passed(number, [after(both.0), after(both.1)]);
                hops.widen(both, &copies);
            }
        }
    }
    errors.extend(replicator.map(|_| at_replicator));
    PlacedArrivals { arrivals, ends: errors, spreads, hops }
}

impl HopErrors {
    /// Widens them by those of a message, which the replicator `received` and `resent`.
    fn widen(&mut self, (received, resent): (Copy, Copy), copies: &[Copy]) {
        let inside_ns = received.stamp_error_ns
            + resent.stamp_error_ns
            + drifted_ns(resent.at_ns.abs_diff(received.at_ns));
        let from_ns = copies.iter().map(|copy| copy.error_ns.saturating_add(resent.error_ns)).max();
        let errors_ns = [Some(received.error_ns), Some(inside_ns), from_ns];
        for (widest, error_ns) in self.hops.iter_mut().zip(errors_ns) {
            *widest = (*widest).max(error_ns);
        }
    }
}

impl EndErrors {
    fn count(&mut self, copy: Option<&Copy>) {
        self.received += 1;
        let Some(copy) = copy else {
            self.unplaced += 1;
            return;
        };
        if self.worst.is_none_or(|(_, error_ns)| copy.error_ns > error_ns) {
            self.worst = Some((copy.at_ns.unsigned_abs(), copy.error_ns));
        }
    }
}

impl FarCopies<'_> {
    /// The copies of a message that came: subscriber, and when on the end's clock.
    fn came(&self, number: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let here = &self.arrivals_ns[number * self.subscribers..(number + 1) * self.subscribers];
        let came = here.iter().enumerate().filter(|(_, ns)| **ns != 0);
        came.map(|(own, ns)| (self.first + own, *ns))
    }

    /// The same on the source's clock, which showed `sent_ns` when the message was sent; `None`:
    /// the offset is unknown. All copies of a message at one end are converted by one offset, so
    /// that their differences stay those of that end's clock.
    pub(super) fn place(
        &self,
        at: usize,
        number: usize,
        sent_ns: u64,
    ) -> impl Iterator<Item = (usize, Option<Copy>)> + '_ {
        let earliest_ns = self.came(number).map(|(_, ns)| ns).min();
        let earliest_ns = earliest_ns.filter(|_| self.clock_steps == 0);
        let known = earliest_ns.and_then(|ns| Some((ns, offset_at(self.offsets, ns, sent_ns)?)));
        self.came(number).map(move |(subscriber, theirs_ns)| {
            let copy = known.map(|(earliest_ns, (middle_ns, error_ns))| Copy {
                end: at,
                subscriber,
                at_ns: signed(theirs_ns).saturating_sub(middle_ns),
                error_ns: error_ns
                    .saturating_add(self.stamp_error_ns)
                    .saturating_add(drifted_ns(theirs_ns - earliest_ns)),
                stamp_error_ns: self.stamp_error_ns,
            });
            (subscriber, copy)
        })
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The offset of an end's clock when it showed `theirs_ns`, some time after `sent_ns` of ours, and
/// how far the true one may be from it. The instant on our clock is only known to within the error
/// itself, and clocks drift meanwhile.
fn offset_at(offsets: &Offsets, theirs_ns: u64, sent_ns: u64) -> Option<(i64, u64)> {
    let near = offsets.at(sent_ns)?;
    let instant_ns = theirs_ns.saturating_add_signed(near.middle_ns.checked_neg()?);
    let there = offsets.at(instant_ns)?;
    let slack_ns = drifted_ns(near.error_ns.saturating_add(there.error_ns));
    Some((there.middle_ns, there.error_ns.saturating_add(slack_ns)))
}
