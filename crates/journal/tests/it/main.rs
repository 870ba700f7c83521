//! The integration tests of `journal`, in one program: linking is most of what a test binary costs.

mod any_bytes;
mod crash;
mod damage;
mod flow;
mod full_disk;
mod properties;
mod recovery;
