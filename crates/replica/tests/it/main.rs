//! A journal and its follower, over real sockets.

mod ends;
mod pair;
mod session;
mod standby;
