//! The integration tests of `engine`, in one program: linking is most of what a test binary costs.
//! Beside it stand tests that need a process of their own: `memory`, `resident`.

mod commands;
mod determinism;
mod events;
mod naive;
mod no_allocation;
mod observer;
mod real_day;
mod reference;
mod restore;
mod scenarios;
mod side_by_side;
mod w1;
mod workload;
