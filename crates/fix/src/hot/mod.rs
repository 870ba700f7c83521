//! The messages of a measured path: a [`Form`] writes one without encoding it, and [`Report`] and
//! [`fields`] read one without a dictionary.
//!
//! Both are for a peer that already has a [`Session`](crate::session::Session): it numbers what is
//! sent ([`sent_hot`](crate::session::Session::sent_hot)), and takes what is plain
//! ([`take_hot`](crate::session::Session::take_hot)). Everything else goes through the session.

mod form;
mod header;
mod report;

pub use form::Form;
pub use header::{Fields, Header, fields};
pub use report::Report;
