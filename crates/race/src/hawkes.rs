//! The process of given arrivals. The process itself is in [`clock::hawkes`], because loads of real
//! runs follow it, too.

mod fit;

pub use clock::hawkes::{Arrivals, Hawkes, KERNELS_MAX, Kernel};
pub use fit::{EVENTS_MIN, Fit, FitError, FittedKernel, fit, fit_two, rescaled};
