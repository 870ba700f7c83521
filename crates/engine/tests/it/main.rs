//! The integration tests of `engine` in one program, because linking is most of a test binary's
//! cost. Tests that need their own process are separate: `memory`, `resident`.

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
