//! Tests only: the backends that this kernel has.

use crate::backend::{BACKENDS, Backend};
use clock::Clock;

/// Backends that can be opened; the others are noted as skipped.
pub(crate) fn backends() -> Vec<&'static Backend> {
    let is_here = |backend: &&'static Backend| {
        testing::opens(backend.row.name, || backend.open(Clock::calibrate()).map(drop))
    };
    BACKENDS.iter().filter(is_here).collect()
}
