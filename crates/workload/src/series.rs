//! The names under which a run is recorded, and where each series stands in an interval: who records and who looks on
//! go by the same.

use measure::record::Kind;
use measure::recorder::Series;

/// The series of every operation, from just before the server has it until it is done.
pub const OPERATION: &str = "operation";
/// The series of a soak's reference.
pub const REFERENCE: &str = "reference";
/// What stands in a record where operations follow each other without a schedule.
pub(crate) const BACK_TO_BACK: &str = "back-to-back";

/// Of a schedule, with a journal or without.
pub(crate) const SCHEDULED: [Series; 2] =
    [Series::new(OPERATION, Kind::Response), Series::new(OPERATION, Kind::Service)];
pub(crate) const SCHEDULED_RESPONSE: usize = 0;
pub(crate) const SCHEDULED_SERVICE: usize = 1;

/// Of a soak.
pub(crate) const SOAK: [Series; 2] =
    [Series::new(OPERATION, Kind::Service), Series::new(REFERENCE, Kind::Service)];
pub(crate) const SOAK_SERVICE: usize = 0;
pub(crate) const SOAK_REFERENCE: usize = 1;
