//! The stacks against the kernel's, over veth in network namespaces; they need root.

mod bench;
mod broadcast;
mod datagrams;
mod frames;
mod harm;
mod loss;
mod port;
mod shared;
mod tcp;
