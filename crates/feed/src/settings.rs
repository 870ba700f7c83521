//! What a publisher and a follower are made of.

use std::fmt;

use crate::format::codec::MESSAGE_BYTES_MAX;
use crate::format::message::Channel;
use crate::format::packet::PACKET_HEADER_BYTES;

/// The least that a datagram must be able to hold: its head and the longest message.
pub const DATAGRAM_BYTES_MIN: usize = PACKET_HEADER_BYTES + MESSAGE_BYTES_MAX;
/// The most that a UDP datagram over IPv4 can hold.
pub const DATAGRAM_BYTES_LARGEST: usize = 65_507;
/// What fits a frame of Ethernet.
pub const DATAGRAM_BYTES_DEFAULT: usize = 1_472;

/// What an instrument is called, and what its numbers are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Its code, padded with zeros.
    pub code: [u8; 32],
    /// A tick's worth: mantissa and exponent of ten.
    pub tick: (i64, i8),
    /// A lot's size, likewise.
    pub lot: (i64, i8),
}

/// What a [`crate::Publisher`] is made of.
#[derive(Debug, Clone)]
pub struct PublisherSettings {
    /// When this run of the exchange began, in nanoseconds since 1970.
    pub session: u64,
    /// The longest datagram, [`DATAGRAM_BYTES_MIN`] to [`DATAGRAM_BYTES_LARGEST`].
    pub datagram_bytes_max: usize,
    /// How many datagrams of a channel are kept for who asks again, those that wait to be sent
    /// included: at least 2.
    pub replay_packets_max: usize,
    /// The instruments, by number.
    pub definitions: Vec<Definition>,
    /// Orders that rest in all books together, as the engine's `open_orders_max`.
    pub orders_max: u32,
    /// Prices of one side of a book, as the engine's `price_levels_max`.
    pub levels_max: u32,
    /// The channels to publish.
    pub channels: Vec<Channel>,
}

/// Why there is no [`crate::Publisher`] of these settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherSettingsError {
    /// `datagram_bytes_max` is out of its range.
    DatagramBytes(usize),
    /// `replay_packets_max` is below 2.
    ReplayPackets(usize),
    /// A snapshot could have more datagrams than can be numbered.
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

/// What a [`crate::Follower`] is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerSettings {
    /// Which feed.
    pub channel: Channel,
    /// How many instruments.
    pub instruments: u16,
    /// Orders that rest in one book, as the exchange's; of no use on [`Channel::Levels`].
    pub orders_max: u32,
    /// Prices of one side, as the exchange's.
    pub levels_max: u32,
    /// Datagrams that are kept because one before them is missing, and, of a snapshot, as many
    /// again.
    pub buffered_datagrams_max: u32,
    /// The longest datagram of the feed; a longer one is taken in, but not kept.
    pub datagram_bytes_max: usize,
}

impl FollowerSettings {
    /// With room for 4 096 datagrams of the usual length.
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
