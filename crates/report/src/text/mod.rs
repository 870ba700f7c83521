//! How numbers, lines and verdicts become text; the terminal and the page share it.

pub(crate) mod colour;
pub(crate) mod grid;
pub(crate) mod number;
pub(crate) mod terminal;
pub(crate) mod words;
