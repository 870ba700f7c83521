//! Streams over UDP: datagrams that are acknowledged and sent again, for the shortest path of an
//! order. docs/decisions/033-acknowledged-datagrams.md has the reasons, docs/internals/acked.md the
//! bytes.
//!
//! ```text
//!   AckedStreams   a set of streams: one socket, beside another set
//!      Table       a place for each peer; connects them by cookie
//!        Peer      one connection: what is sent again, acknowledged, read in order
//!          SendWindow, ReceiveWindow
//!      Dial        the side that connects
//! ```
//!
//! All but the first is a state machine without I/O: datagrams and time in, datagrams and bytes
//! out.

mod datagram;
mod dial;
mod open;
mod peer;
pub mod properties;
mod receive;
mod round_trip;
mod send;
mod socket;
mod streams;
mod table;
#[cfg(test)]
mod tests;

pub use datagram::{
    DATAGRAM_BYTES_MAX, Datagram, DatagramKind, HANDSHAKE_BYTES, HEADER_BYTES, Handshake, Header,
    PAYLOAD_BYTES_MAX,
};
pub use dial::{Dial, DialStep, HANDSHAKE_NS};
pub use open::{beside, dialling};
pub use peer::{
    ACK_DELAY_NS, ACK_EVERY, EndReason, KEEP_ALIVE_NS, Peer, REFUSED_NS, RETRANSMISSIONS_MAX,
    SILENCE_NS,
};
pub use receive::ReceivedBytes;
pub use round_trip::{RETRANSMIT_NS_MAX, RETRANSMIT_NS_MIN};
pub use send::WINDOW_DATAGRAMS;
pub use socket::bind;
pub use table::{DatagramMeaning, LINGER_NS, PEERS_MAX, SharedCounts, Table, TableCounts};
