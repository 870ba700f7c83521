//! How a subscriber registers: four messages of equal length, over UDP.
//!
//! ```text
//!   subscriber                          replicator
//!      register ───────────────────────────>
//!      <─────────────────────────── challenge    a cookie: a code of the address and a secret
//!      confirm, with the cookie ───────────>     it receives at its address: it gets a lease
//!      <──────────────────────────── accepted
//!      confirm, again and again ───────────>     each renews the lease
//!      leave, with the cookie ─────────────>
//! ```
//!
//! Anybody can write somebody else's address into a datagram. So the replicator keeps nothing of a
//! `register`, and sends that address one challenge, as long as what came and at most
//! [1 000](transport::cookie::CHALLENGES_PER_SECOND_MAX) a second to all. Copies go only to an
//! address that returned its cookie.

pub mod member;
pub mod message;
pub mod registrar;
