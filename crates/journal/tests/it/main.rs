//! The integration tests of `journal` in one program, because linking is most of a test binary's
//! cost.

mod any_bytes;
mod copy;
mod crash;
mod damage;
mod flow;
mod full_disk;
mod properties;
mod recovery;
