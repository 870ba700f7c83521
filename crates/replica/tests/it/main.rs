//! A journal and its follower, over real sockets.

mod pair;
mod session;
