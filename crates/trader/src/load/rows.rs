//! Which series a load has.

use crate::stamped;
use clock::recorder::Series;
use plan::intensity::INTENSITIES;
use plan::process::orders::{DatagramPlan, OrdersPlan, Wire};
use plan::tables::network::{FORWARD, REQUEST, REVERSE};
use record::Kind;

/// The series of a load, in the order of the indices below.
pub(crate) static SERIES: [Series; 6] = [
    Series::new("order", Kind::Response),
    Series::new("order", Kind::Service),
    Series::new("cancel", Kind::Response),
    Series::new("cancel", Kind::Service),
    Series::new("cycle", Kind::Service),
    Series::new("send", Kind::Lateness),
];
/// The same where both messages are requests; then, for stamped replies alone, each direction.
pub(crate) static SERIES_OF_REQUESTS: [Series; 9] = [
    Series::new(REQUEST, Kind::Response),
    Series::new(REQUEST, Kind::Service),
    Series::new(REQUEST, Kind::Response),
    Series::new(REQUEST, Kind::Service),
    Series::new("cycle", Kind::Service),
    Series::new("send", Kind::Lateness),
    Series::new(FORWARD, Kind::Response),
    Series::new(FORWARD, Kind::Service),
    Series::new(REVERSE, Kind::Service),
];
pub(crate) const ORDER_RESPONSE: usize = 0;
pub(crate) const ORDER_SERVICE: usize = 1;
pub(crate) const CANCEL_RESPONSE: usize = 2;
pub(crate) const CANCEL_SERVICE: usize = 3;
pub(crate) const CYCLE_SERVICE: usize = 4;
pub(crate) const SEND_LATENESS: usize = 5;

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
        let mut intensities = INTENSITIES.iter().map(|name| Series::new(name, Kind::Response));
        let by_intensity = add(has_intensity, &mut intensities);
        let stamped = add(plan.load.stamp_every > 0, &mut stamped::series());
        Rows { all, by_intensity, stamped }
    }
}
