//! Properties that hold for any bytes on a connection: a file for each fuzz target that tries them,
//! so that a target compiles no others.

pub mod gateway;
pub mod sbe;
mod small;
