//! Which series a load has.

use crate::load::desk::{SERIES, SERIES_OF_REQUESTS};
use crate::load::intensity;
use crate::stamped;
use clock::recorder::Series;
use plan::process::orders::{DatagramPlan, OrdersPlan, Wire};

/// The series of a load over that wire; with two clocks without the directions.
pub(super) fn series(wire: Wire, two_clocks: bool) -> &'static [Series] {
    match wire {
        Wire::Datagrams(DatagramPlan { one_way: Some(_), .. }) if !two_clocks => {
            &SERIES_OF_REQUESTS
        }
        wire if wire.is_requests() => &SERIES_OF_REQUESTS[..SERIES.len()],
        _ => &SERIES,
    }
}

/// The series of a load, and the numbers of the first ones that not every load has.
pub(super) struct Rows {
    pub(super) all: Vec<Series>,
    pub(super) by_intensity: Option<usize>,
    pub(super) stamped: Option<usize>,
}

impl Rows {
    pub(super) fn of(plan: &OrdersPlan, two_clocks: bool) -> Rows {
        let mut all = series(plan.wire, two_clocks).to_vec();
        let mut add = |has: bool, more: &mut dyn Iterator<Item = Series>| {
            let row = all.len();
            has.then(|| all.extend(more)).map(|()| row)
        };
        let has_intensity = plan.load.is_uneven() && !plan.wire.is_requests();
        let by_intensity = add(has_intensity, &mut intensity::series());
        let stamped = add(plan.load.stamp_every > 0, &mut stamped::series());
        Rows { all, by_intensity, stamped }
    }
}
