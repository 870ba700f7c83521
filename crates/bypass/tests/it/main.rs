//! The stacks against the kernel's, over veth in network namespaces; they need root.

mod bench;
mod datagrams;
mod frames;
mod port;
mod tcp;
