//! What interrupts a core that wants to be left alone. So far the hiccup row of a run: what the
//! measured cores do to a thread that wants nothing but to look at the clock.

#![forbid(unsafe_code)]

pub mod hiccup;
