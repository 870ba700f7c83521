//! The integration tests of `wire` in one program, because linking is most of a test binary's cost.

mod allocation;
mod any_bytes;
mod bad_and_odd;
mod extensions;
mod feed;
mod frame;
mod http;
mod messages;
mod properties;
mod reader;
mod rfc9112;
mod sbe;
mod values;
