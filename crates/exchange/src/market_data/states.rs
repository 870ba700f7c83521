//! The state of the published books, for `DESCRIBE`.

use crate::market_data::json::DataChannel;
use crate::market_data::plant::Plant;
use crate::market_data::settings::depth;
use crate::setup::instruments::Instruments;
use engine::Engine;
use feed::{Channel, Publisher, PublisherSettings};
use wire::administration::FeedState;

impl Plant {
    /// The state of each channel, and of each instrument with stamped `BOOK`s. The hash is of the
    /// engine's own book as the channel shows it, so that a follower that agrees with a wrong copy
    /// in the publisher does not pass. While inputs wait to be published, the engine is ahead of
    /// the channel, and the hash is the copy's. Takes some milliseconds if many orders rest.
    pub fn states(&self, instruments: &Instruments, engine: &Engine) -> Vec<FeedState> {
        let mut states = Vec::new();
        for channel in [Channel::Orders, Channel::Levels] {
            let published = self.channels.get(channel).map(|published| &published.publisher);
            let has_books =
                channel == Channel::Levels && self.data.book_sequences().next().is_some();
            if published.is_none() && !has_books {
                continue;
            }
            let engines;
            let books = if self.is_pending() {
                published
            } else {
                engines = self.engine_books(channel, engine);
                engines.as_ref()
            };
            let Some(books) = books else { continue };
            states.extend(published.map(|published| FeedState {
                depth: depth(channel).name().to_owned(),
                sequence: published.sequence(channel),
                book_hash: hexadecimal(books.book_hash(channel)),
                instrument_code: None,
            }));
            if has_books {
                states.extend(self.book_states(instruments, books));
            }
        }
        states
    }

    /// The state of each instrument with stamped `BOOK`s.
    fn book_states(
        &self,
        instruments: &Instruments,
        books: &Publisher,
    ) -> impl Iterator<Item = FeedState> {
        self.data.book_sequences().filter_map(|(instrument, sequence)| {
            Some(FeedState {
                depth: DataChannel::Book.name().to_owned(),
                sequence,
                book_hash: hexadecimal(books.book(instrument)?.price_hash()),
                instrument_code: Some(instruments.get(instrument).code.as_str().to_owned()),
            })
        })
    }

    /// The engine's books, as a channel would begin with them.
    fn engine_books(&self, channel: Channel, engine: &Engine) -> Option<Publisher> {
        let channels = vec![channel];
        let mut books =
            Publisher::new(&PublisherSettings { channels, ..self.settings.clone() }).ok()?;
        engine.save(&mut |piece| books.restore(&piece));
        Some(books)
    }
}

fn hexadecimal(hash: u64) -> String {
    format!("{hash:016x}")
}
