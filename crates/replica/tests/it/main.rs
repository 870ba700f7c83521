//! A journal and its follower, over real sockets.

mod ends;
mod full_disk;
mod pair;
mod session;
mod standby;
mod versions;
