//! An exchange without a network: the real engine, and a publisher of its events.

#![allow(dead_code, reason = "each test file uses its part")]

use engine::{Command, Engine, EngineLimits, Event, Input, Side, StateHash};
use feed::{Channel, Definition, Publisher, PublisherSettings, Sending};

pub const CHANNELS: [Channel; 2] = [Channel::Orders, Channel::Levels];

pub struct Exchange {
    pub engine: Engine,
    pub publisher: Publisher,
    pub session: u64,
    instruments: u16,
    trades: u64,
    inputs: u64,
}

pub fn definitions(instruments: u16) -> Vec<Definition> {
    let definition = |number: u16| {
        let mut code = [0; 32];
        code[..5].copy_from_slice(b"CODE0");
        code[4] += number as u8;
        Definition { code, tick: (1 + i64::from(number), -2), lot: (5, -(number as i8)) }
    };
    (0..instruments).map(definition).collect()
}

impl Exchange {
    pub fn new(limits: EngineLimits, settings: &PublisherSettings) -> Exchange {
        let instruments = settings.definitions.len() as u16;
        Exchange {
            engine: Engine::new(instruments, limits),
            publisher: Publisher::new(settings).expect("the settings are in range"),
            session: settings.session,
            instruments,
            trades: 0,
            inputs: 0,
        }
    }

    pub fn settings(
        limits: EngineLimits,
        instruments: u16,
        datagram_bytes_max: usize,
    ) -> PublisherSettings {
        PublisherSettings {
            session: 1_000,
            datagram_bytes_max,
            replay_packets_max: 64,
            definitions: definitions(instruments),
            orders_max: limits.open_orders_max,
            levels_max: limits.price_levels_max,
            channels: CHANNELS.to_vec(),
        }
    }

    /// Executes one input and passes its events to the publisher.
    pub fn apply(&mut self, input: &Input) {
        let Exchange { engine, publisher, trades, inputs, .. } = self;
        let mut is_rejected = false;
        engine.apply(input, &mut |event| {
            *trades += u64::from(matches!(event, Event::Trade { .. }));
            is_rejected |= matches!(event, Event::Rejected { .. });
            publisher.event(&event, *trades);
        });
        if let (Command::Instrument(settings), false) = (&input.command, is_rejected) {
            publisher.state(settings.instrument, settings.state);
        }
        *inputs += 1;
        publisher.end_of_input(*inputs * 10, *inputs * 10 + 5);
    }

    /// Restarts: a publisher of a later session with the present engine.
    pub fn restart(&mut self, settings: &PublisherSettings) {
        let session = self.session + 1;
        let settings = PublisherSettings { session, ..settings.clone() };
        let mut publisher = Publisher::new(&settings).expect("the settings are in range");
        self.engine.save(&mut |piece| publisher.restore(&piece));
        (self.publisher, self.session) = (publisher, session);
    }

    /// All datagrams to send.
    pub fn datagrams(&mut self, channel: Channel) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.publisher.next(channel).map(|bytes| bytes.to_vec())).collect()
    }

    pub fn sent(&mut self, mut sending: Sending) -> Vec<Vec<u8>> {
        let next = || self.publisher.next_of(&mut sending).map(|bytes| bytes.to_vec());
        std::iter::from_fn(next).collect()
    }

    /// The hash of the books from the engine's own state, independent of the feed.
    pub fn book_hash(&self, channel: Channel) -> u64 {
        let mut books = StateHash::new();
        (0..self.instruments).for_each(|instrument| books.word(self.hash_of(instrument, channel)));
        books.finish()
    }

    fn hash_of(&self, instrument: u16, channel: Channel) -> u64 {
        let mut state = engine::InstrumentState::Open;
        let mut orders = Vec::new();
        self.engine.save(&mut |piece| match piece {
            engine::SavedItem::Instrument(settings) if settings.instrument == instrument => {
                state = settings.state;
            }
            engine::SavedItem::Order { order, visible_lots }
                if order.instrument == instrument && order.stop_ticks == 0 =>
            {
                orders.push((order, visible_lots));
            }
            _ => {}
        });
        let mut hash = StateHash::new();
        hash.word(state as u64);
        for side in [Side::Buy, Side::Sell] {
            let mut entries = 0;
            let mut entry = |words: [u64; 3]| {
                words.iter().for_each(|word| hash.word(*word));
                entries += 1;
            };
            match channel {
                Channel::Orders => {
                    for (order, visible_lots) in orders.iter().filter(|(o, _)| o.side == side) {
                        let ticks = order.price_ticks.unsigned_abs();
                        entry([order.order_id, ticks, *visible_lots]);
                    }
                }
                Channel::Levels => {
                    for (ticks, lots, orders) in self.engine.levels(instrument, side) {
                        entry([ticks.unsigned_abs(), lots, u64::from(orders)]);
                    }
                }
            }
            hash.word(entries);
        }
        hash.finish()
    }
}
