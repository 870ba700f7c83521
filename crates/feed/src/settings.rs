//! Settings of a publisher and a follower.

use std::fmt;

use crate::format::codec::MESSAGE_BYTES_MAX;
use crate::format::message::Channel;
use crate::format::packet::PACKET_HEADER_BYTES;

/// Smallest useful datagram: a header and the longest message.
pub const DATAGRAM_BYTES_MIN: usize = PACKET_HEADER_BYTES + MESSAGE_BYTES_MAX;
/// Largest UDP datagram over IPv4.
pub const DATAGRAM_BYTES_LARGEST: usize = 65_507;
/// Fits into an Ethernet frame.
pub const DATAGRAM_BYTES_DEFAULT: usize = 1_472;

/// Name and units of an instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Its code, padded with zeros.
    pub code: [u8; 32],
    /// Value of a tick: mantissa and exponent of ten.
    pub tick: (i64, i8),
    /// Size of a lot, likewise.
    pub lot: (i64, i8),
}

/// Settings of a [`crate::Publisher`].
#[derive(Debug, Clone)]
pub struct PublisherSettings {
    /// Start of this run of the exchange, in nanoseconds since 1970.
    pub session: u64,
    /// The longest datagram, [`DATAGRAM_BYTES_MIN`] to [`DATAGRAM_BYTES_LARGEST`].
    pub datagram_bytes_max: usize,
    /// Datagrams of a channel to keep for replays, including those to be sent: at least 2.
    pub replay_packets_max: usize,
    /// The instruments, by number.
    pub definitions: Vec<Definition>,
    /// Maximum number of resting orders in all books together; the engine's `open_orders_max`.
    pub orders_max: u32,
    /// Maximum number of prices of one side of a book; the engine's `price_levels_max`.
    pub levels_max: u32,
    /// The channels to publish.
    pub channels: Vec<Channel>,
}

/// Why settings of a [`crate::Publisher`] are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherSettingsError {
    /// `datagram_bytes_max` is out of its range.
    DatagramBytes(usize),
    /// `replay_packets_max` is below 2.
    ReplayPackets(usize),
    /// A snapshot could have more datagrams than the format can number.
    SnapshotParts(usize),
}

impl fmt::Display for PublisherSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublisherSettingsError::DatagramBytes(bytes) => write!(
                f,
                "a feed's datagrams can't be {bytes} bytes long: give {DATAGRAM_BYTES_MIN} to {DATAGRAM_BYTES_LARGEST}"
            ),
            PublisherSettingsError::ReplayPackets(packets) => {
                write!(f, "replay_packets_max is {packets}: give at least 2")
            }
            PublisherSettingsError::SnapshotParts(parts) => write!(
                f,
                "a snapshot could have {parts} datagrams, and {} can be numbered: \
                 lower open_orders_max or price_levels_max, or make datagrams longer",
                u16::MAX
            ),
        }
    }
}

impl std::error::Error for PublisherSettingsError {}

/// Settings of a [`crate::Follower`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerSettings {
    /// The feed.
    pub channel: Channel,
    /// Number of instruments.
    pub instruments: u16,
    /// Maximum number of resting orders in one book; the exchange's. Unused on [`Channel::Levels`].
    pub orders_max: u32,
    /// Maximum number of prices of one side; the exchange's.
    pub levels_max: u32,
    /// Maximum number of datagrams to keep while an earlier one is missing, and as many again for a
    /// snapshot.
    pub buffered_datagrams_max: u32,
    /// Longest datagram of the feed; a longer one is applied but never kept.
    pub datagram_bytes_max: usize,
}

impl FollowerSettings {
    /// Keeps up to 4 096 datagrams of the usual length.
    #[must_use]
    pub fn new(channel: Channel, instruments: u16, orders_max: u32, levels_max: u32) -> Self {
        FollowerSettings {
            channel,
            instruments,
            orders_max,
            levels_max,
            buffered_datagrams_max: 4_096,
            datagram_bytes_max: DATAGRAM_BYTES_DEFAULT,
        }
    }
}
