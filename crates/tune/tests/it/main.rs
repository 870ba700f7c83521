//! The integration tests of `tune`, in one program: linking is most of what a test binary costs.

mod any_text;
mod arm;
mod cloud;
mod kernel;
mod machines;
mod metal;
mod room;
mod there_and_back;
