//! A journal and its follower, over real sockets.

mod ends;
mod full_disk;
mod member;
mod pair;
mod session;
mod standby;
mod versions;
