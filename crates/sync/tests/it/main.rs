//! Brackets and estimates against clocks and paths whose truth is known.

mod cases;
mod simulation;
