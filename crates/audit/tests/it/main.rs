//! The integration tests of `audit` in one program, because linking is most of a test binary's
//! cost.

mod damage;
mod properties;
