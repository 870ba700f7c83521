//! Statistics over samples and runs. Knows nothing of records.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod bracket;
pub mod buckets;
pub mod compare;
pub mod kolmogorov;
pub mod mean;
mod percentiles;
pub mod permutation;
pub mod regimes;
pub mod touch;
pub mod verdict;

pub use percentiles::*;
