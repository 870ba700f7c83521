//! The published channels of the feed.

use feed::{Channel, Publisher};

/// A published channel of the feed.
pub(crate) struct PublishedChannel {
    pub publisher: Publisher,
    /// Waiting inputs that the engine had executed when this publisher was made.
    pub known: usize,
    /// The state that it was made from may be sent once this mark is released.
    pub shown_from: u64,
    /// Datagrams with new messages.
    pub datagrams: u64,
    /// The same at the last sweep.
    pub datagrams_swept: u64,
}

/// Channels that are published.
#[derive(Default)]
pub(crate) struct Channels {
    orders: Option<PublishedChannel>,
    levels: Option<PublishedChannel>,
}

impl Channels {
    pub fn get(&self, channel: Channel) -> Option<&PublishedChannel> {
        match channel {
            Channel::Orders => self.orders.as_ref(),
            Channel::Levels => self.levels.as_ref(),
        }
    }

    pub fn get_mut(&mut self, channel: Channel) -> Option<&mut PublishedChannel> {
        match channel {
            Channel::Orders => self.orders.as_mut(),
            Channel::Levels => self.levels.as_mut(),
        }
    }

    /// Adds a channel that is published from now on.
    pub fn add(&mut self, channel: Channel, published: PublishedChannel) {
        match channel {
            Channel::Orders => self.orders = Some(published),
            Channel::Levels => self.levels = Some(published),
        }
    }

    /// All published channels.
    pub fn iter(&self) -> impl Iterator<Item = &PublishedChannel> {
        [&self.orders, &self.levels].into_iter().flatten()
    }
}
