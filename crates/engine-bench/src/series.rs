//! Names of the recorded series, and the place of each in an interval.

use clock::recorder::Series;
use plan::process::engine::OPERATION;
use record::Kind;

/// The series of a soak's reference.
pub const REFERENCE: &str = "reference";
/// The load model of operations back to back, without a schedule.
pub(crate) const BACK_TO_BACK: &str = "back-to-back";

/// Series of a schedule, with or without a journal.
pub(crate) const SCHEDULED: [Series; 2] =
    [Series::new(OPERATION, Kind::Response), Series::new(OPERATION, Kind::Service)];
pub(crate) const SCHEDULED_RESPONSE: usize = 0;
pub(crate) const SCHEDULED_SERVICE: usize = 1;

/// Series of a soak.
pub(crate) const SOAK: [Series; 2] =
    [Series::new(OPERATION, Kind::Service), Series::new(REFERENCE, Kind::Service)];
pub(crate) const SOAK_SERVICE: usize = 0;
pub(crate) const SOAK_REFERENCE: usize = 1;
