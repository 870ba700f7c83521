//! The integration tests of `transport` in one program: linking is most of a test binary's cost.

mod below;
mod connections;
mod mirror;
mod serve;
mod tls;
mod ways;
