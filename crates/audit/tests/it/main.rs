//! The integration tests of `audit`, in one program: linking is most of what a test binary costs.

mod damage;
mod properties;
