//! The engine behind a C ABI: `clients/java-cluster` calls it from a clustered service.
//!
//! A [`Replica`] is what is replicated: the engine and the number of its last input. The functions
//! of [`border`] make one, give it inputs, save and restore it. They have C's types, and their
//! names begin with `tickpath_engine_`.
//!
//! ```c
//! uint32_t tickpath_engine_version(void);
//! void *tickpath_engine_new(uint16_t instruments, uint32_t open_orders_max,
//!     uint32_t price_levels_max, uint32_t stop_levels_max, uint32_t expiring_orders_max,
//!     uint32_t accounts_max);
//! int64_t tickpath_engine_apply(void *replica, const uint8_t *record, uint64_t time_ns);
//! int64_t tickpath_engine_save(void *replica);
//! const uint8_t *tickpath_engine_output(const void *replica);
//! void *tickpath_engine_restore(const uint8_t *bytes, uint64_t length);
//! uint64_t tickpath_engine_sequence(const void *replica);
//! uint64_t tickpath_engine_state_hash(const void *replica);
//! const char *tickpath_engine_error(void);
//! void tickpath_engine_free(void *replica);
//! ```
//!
//! The functions of [`copy_border`] are those of a cluster's member that is the follower of an
//! exchange ([`replica::member`](::replica::member)):
//!
//! ```c
//! void *tickpath_copy_open(const uint8_t *directory, uint64_t directory_length,
//!     const uint8_t *saved, uint64_t saved_length);
//! int64_t tickpath_copy_receive(void *copy, uint64_t connection, uint64_t at,
//!     const uint8_t *bytes, uint64_t length);
//! int64_t tickpath_copy_save(void *copy);
//! const uint8_t *tickpath_copy_output(const void *copy);
//! uint64_t tickpath_copy_followed(const void *copy);
//! uint64_t tickpath_copy_next_sequence(const void *copy);
//! uint64_t tickpath_copy_term(const void *copy);
//! void tickpath_copy_free(void *copy);
//! ```
//!
//! - `apply` takes a record of 72 bytes (`engine::Input`), as the journal's; it replaces the
//!   record's time by `time_ns`. It returns the number of events. `output` then points to them, 72
//!   bytes each (`engine::Event::to_bytes`).
//! - `save` returns a number of bytes, and `output` points to them. `restore` takes them.
//! - `receive` takes bytes of a connection, and returns the number of bytes of the reply, which
//!   `output` then points to. `open` takes the bytes of a `save`, or none for a new copy.
//! - `output` is valid until the next call with the same replica or copy.
//! - If they fail, `new`, `restore` and `open` return null, and the functions that return `int64_t`
//!   a negative number. `error` says why: the last failure of the calling thread, UTF-8, valid
//!   until its next.
//! - A replica or copy may move between threads, and serves one call at a time.
//! - No panic crosses the border: it is a failure. A replica or copy in which one happened rejects
//!   all further calls, because its state may be half changed; free it and restore another. A copy
//!   that has failed in any way must be freed.
//!
//! See docs/decisions/030-aeron-cluster.md and docs/decisions/040-the-copy-in-a-cluster.md.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

#[allow(unsafe_code)]
pub mod border;
#[allow(unsafe_code)]
pub mod copy_border;
mod replica;

pub use replica::{AbiError, Replica, VERSION};
