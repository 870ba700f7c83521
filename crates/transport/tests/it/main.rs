//! The integration tests of `transport` in one program: linking is most of a test binary's cost.

mod below;
mod connections;
mod mirror;
mod serve;
mod tls;
mod ways;

use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a server also when its test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
