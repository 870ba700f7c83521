//! Limits of a server, and how often they were reached.

/// The limit at which a connection is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// `connections_max`.
    Connections,
    /// `connections_per_address_max`.
    ConnectionsPerAddress,
}

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; one more is rejected.
    pub connections_max: usize,
    /// Connections from one address at the same time (IPv6: from one /64 network). One more is
    /// rejected. Unknown peers are not counted.
    pub connections_per_address_max: usize,
    /// Whether that holds for loopback addresses too.
    pub limits_loopback: bool,
    /// Bytes that wait for a client that does not read. Beyond this the number must fall every half
    /// second, or the loop cuts the connection off.
    pub outbound_bytes_max: usize,
    /// The most that one message may produce beyond that (a mass cancel reports every order). A
    /// connection beyond the sum of both is cut off at once.
    pub answer_bytes_max: usize,
    /// Bytes that wait for a client before its login ([`Outbound::admit`](super::Outbound::admit)).
    /// Beyond this it is cut off at once.
    pub outbound_bytes_before_login_max: usize,
    /// Bytes that wait for all clients together. Beyond this the loop cuts off the connection with
    /// the most.
    pub outbound_bytes_total_max: usize,
    /// Bytes that wait for one client until what they acknowledge is durable (see
    /// [`Outbound::hold`](super::Outbound::hold)). Checked ten times a second; beyond this the
    /// client is cut off.
    pub held_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1024,
            connections_per_address_max: usize::MAX,
            limits_loopback: false,
            outbound_bytes_max: 1 << 20,
            answer_bytes_max: 64 << 20,
            // Without a login all connections are alike.
            outbound_bytes_before_login_max: 65 << 20,
            outbound_bytes_total_max: 1 << 30,
            held_bytes_max: 64 << 20,
        }
    }
}

/// Connections that the loop rejected or cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// Connections past `connections_max`.
    pub connections: u64,
    /// Connections past `connections_per_address_max`.
    pub connections_per_address: u64,
    /// Connections cut off at `outbound_bytes_max`.
    pub slow_readers: u64,
    /// Connections cut off at `outbound_bytes_before_login_max`.
    pub before_login: u64,
    /// Connections cut off at `outbound_bytes_total_max`.
    pub total: u64,
    /// Connections cut off at `held_bytes_max`.
    pub held: u64,
    /// How often no connection could be accepted any more, mostly for want of descriptors.
    pub accepts_failed: u64,
}
