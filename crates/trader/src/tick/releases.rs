//! Hold and release: a tick is handed on a fixed time after its publication, so that the length of
//! its way decides nothing if it arrives by then. One tick waits here; those after it wait in the
//! kernel's receive buffer.
//!
//! The release takes the place of the read: stage 2 and a delivery clock begin with it.

use clock::recorder;
use fair::hold::release;
use hdrhistogram::Histogram;
use record::tick::TickHold;
use stats::Percentiles;

/// When the exchange published a tick, and when its input was due, on the exchange's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Publication {
    pub(crate) published_ns: u64,
    pub(crate) intended_ns: u64,
}

/// A datagram that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldTick {
    /// Its length.
    pub(crate) n: usize,
    pub(crate) due_ns: u64,
    published_ns: u64,
    is_measured: bool,
}

/// The tick that waits, and the figures of those before it.
pub(crate) struct Releases {
    hold_ns: u64,
    held: Option<HeldTick>,
    /// From publication to arrival by the kernel's stamp, to release, and from the time of release
    /// to the arrival of late ones, ns.
    arrival_ns: Histogram<u64>,
    release_ns: Histogram<u64>,
    late_ns: Histogram<u64>,
    unstamped: u64,
}

impl Releases {
    pub(crate) fn new(hold_ns: u64) -> Releases {
        let [arrival_ns, release_ns, late_ns] = [(); 3].map(|()| recorder::histogram());
        Releases { hold_ns, held: None, arrival_ns, release_ns, late_ns, unstamped: 0 }
    }

    /// The tick that waits.
    #[inline]
    pub(crate) fn held(&self) -> Option<HeldTick> {
        self.held
    }

    /// A tick of `n` bytes was read. `kernel_ns` is the kernel's stamp; 0: there is none.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        n: usize,
        published: Publication,
        kernel_ns: u64,
        is_measured: bool,
    ) {
        let Publication { published_ns, .. } = published;
        let due_ns = published_ns.saturating_add(self.hold_ns);
        self.held = Some(HeldTick { n, due_ns, published_ns, is_measured });
        if !is_measured {
            return;
        }
        if kernel_ns == 0 {
            self.unstamped += 1;
            return;
        }
        self.arrival_ns.saturating_record(kernel_ns.saturating_sub(published_ns));
        if release(published_ns, self.hold_ns, kernel_ns).is_late {
            self.late_ns.saturating_record(kernel_ns - due_ns);
        }
    }

    /// The tick that waited is handed on.
    #[inline]
    pub(crate) fn released(&mut self, now_ns: u64) {
        if let Some(HeldTick { published_ns, is_measured: true, .. }) = self.held.take() {
            self.release_ns.saturating_record(now_ns.saturating_sub(published_ns));
        }
    }

    /// The figures. Without a stamp of each tick nobody knows how many were late.
    pub(crate) fn finish(&self) -> TickHold {
        let is_known = self.unstamped == 0;
        TickHold {
            hold_ns: self.hold_ns,
            released: self.release_ns.len(),
            late: is_known.then(|| self.late_ns.len()),
            arrival: percentiles(&self.arrival_ns).filter(|_| is_known),
            release: percentiles(&self.release_ns),
            late_by: percentiles(&self.late_ns).filter(|_| is_known),
        }
    }
}

/// `None` without a value.
fn percentiles(histogram: &Histogram<u64>) -> Option<Percentiles> {
    (!histogram.is_empty()).then(|| stats::percentiles(histogram).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD_NS: u64 = 1_000;

    /// Each tick is published at 10 000, and arrives and is released this long after that.
    fn after(ticks: &[(u64, u64, bool)]) -> TickHold {
        let mut releases = Releases::new(HOLD_NS);
        let published = Publication { published_ns: 10_000, intended_ns: 9_000 };
        for (number, (arrival_ns, release_ns, is_measured)) in ticks.iter().copied().enumerate() {
            let kernel_ns = if arrival_ns == 0 { 0 } else { 10_000 + arrival_ns };
            releases.hold(number, published, kernel_ns, is_measured);
            let held = releases.held().unwrap();
            assert_eq!((held.n, held.due_ns), (number, 11_000));
            releases.released(10_000 + release_ns);
            assert_eq!(releases.held(), None);
        }
        releases.finish()
    }

    #[test]
    fn ticks_on_time_and_late_ones_are_counted_after_the_warm_up() {
        let found = after(&[(5_000, 5_001, false), (300, 1_000, true), (1_500, 1_600, true)]);
        assert_eq!((found.hold_ns, found.released, found.late), (1_000, 2, Some(1)));
        let max = |of: Option<Percentiles>| of.unwrap().max;
        assert_eq!((max(found.arrival), max(found.release)), (1_500, 1_600));
        assert_eq!(max(found.late_by), 500);
        assert_eq!(after(&[(300, 1_000, true)]).late_by, None, "none was late");
    }

    #[test]
    fn without_a_stamp_of_each_nobody_knows_how_many_were_late() {
        let found = after(&[(300, 1_000, true), (0, 1_000, true)]);
        assert_eq!((found.released, found.late, found.arrival), (2, None, None));
    }
}
