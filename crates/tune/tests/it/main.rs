//! The integration tests of `tune` in one program, because linking is most of a test binary's cost.

mod any_text;
mod arm;
mod cloud;
mod corpus;
mod kernel;
mod machines;
mod metal;
mod room;
mod there_and_back;
