//! A replicator between real sockets on loopback.

mod below;
mod copies;
mod gre;
mod harm;
mod many;
mod registration;
mod support;
mod tree;

use support::*;
