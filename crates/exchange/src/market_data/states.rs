//! The state of the published books, for `DESCRIBE`.

use crate::market_data::json::DataChannel;
use crate::market_data::plant::Plant;
use crate::market_data::settings::depth;
use crate::setup::instruments::Instruments;
use engine::Engine;
use feed::{Channel, Publisher, PublisherSettings};
use wire::administration::FeedState;

impl Plant {
    /// The state of each channel, of each instrument with stamped `BOOK`s, and of each subscription
    /// of `TOP` with stamps. The hash is of the engine's own book as the channel shows it, so that
    /// a follower that agrees with a wrong copy in the publisher does not pass. While inputs wait
    /// to be published, the engine is ahead of the channel, and the hash is the copy's. Takes some
    /// milliseconds if many orders rest.
    pub fn states(&self, instruments: &Instruments, engine: &Engine) -> Vec<FeedState> {
        let mut states = Vec::new();
        for channel in [Channel::Orders, Channel::Levels] {
            let published = self.channels.get(channel).map(|published| &published.publisher);
            let is_stamped = self.data.book_sequences().next().is_some()
                || self.data.top_histories().next().is_some();
            let has_data = channel == Channel::Levels && is_stamped;
            if published.is_none() && !has_data {
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
                ..FeedState::default()
            }));
            if has_data {
                states.extend(self.book_states(instruments, books));
                states.extend(self.top_states(instruments, books));
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
                ..FeedState::default()
            })
        })
    }

    /// The state of each subscription of `TOP` with stamps. Its hash ends with the best prices of
    /// these books, and so does not take the publisher's copy for the engine's book.
    fn top_states(
        &self,
        instruments: &Instruments,
        books: &Publisher,
    ) -> impl Iterator<Item = FeedState> {
        self.data.top_histories().map(|(instrument, history)| FeedState {
            depth: DataChannel::Top.name().to_owned(),
            sequence: history.sequence(),
            book_hash: hexadecimal(history.hash_with(&books.top(instrument))),
            instrument_code: Some(instruments.get(instrument).code.as_str().to_owned()),
            since: Some(history.since()),
            changes: Some(history.changes()),
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
