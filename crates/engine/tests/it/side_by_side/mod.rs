//! The engine and the naive one with the same commands: from proptest (`naive.rs`), from libFuzzer
//! (the target `engine` in `fuzz/`), or hand-written (`scenarios`).

#![allow(dead_code, reason = "each test file uses its part")]

use engine::*;

use crate::reference::NaiveEngine;

/// More than one command can cause in these tests: stops an engine in an endless loop.
const EVENTS_MAX: usize = 1_000_000;

pub struct SideBySide {
    engine: Engine,
    naive: NaiveEngine,
    instruments: u16,
    limits: EngineLimits,
    /// The last checked state, and its hash.
    seen: Option<(Vec<SavedItem>, u64)>,
}

impl SideBySide {
    pub fn new(instruments: u16, limits: EngineLimits) -> SideBySide {
        let engine = Engine::new(instruments, limits);
        let naive = NaiveEngine::new(instruments, limits);
        SideBySide { engine, naive, instruments, limits, seen: None }
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Executes an input in both, and compares their events.
    pub fn apply(&mut self, input: &Input) -> Vec<Event> {
        let mut events = Vec::new();
        self.engine.expect(input);
        self.engine.apply(input, &mut |event| {
            assert!(events.len() < EVENTS_MAX, "{input:?} has no end");
            events.push(event);
        });
        assert_eq!(events, self.naive.apply(input), "{input:?}");
        events
    }

    /// Continues with an engine restored from the present one's pieces.
    pub fn restore(&mut self) {
        let restored = Engine::restore(pieces(&self.engine)).expect("it was saved by an engine");
        assert_eq!(pieces(&restored), pieces(&self.engine));
        assert_eq!(restored.state_hash(), self.engine.state_hash());
        self.engine = restored;
    }

    /// Compares their states, and checks what must hold between any two commands.
    pub fn check_state(&mut self) {
        let SideBySide { engine, naive, instruments, limits, .. } = self;
        let state = pieces(engine);
        assert_eq!(state, naive.save());
        assert_eq!(engine.open_orders(), naive.open_orders());
        assert!(engine.open_orders() <= limits.open_orders_max);
        for instrument in 0..*instruments {
            for side in [Side::Buy, Side::Sell] {
                let levels: Vec<_> = engine.levels(instrument, side).collect();
                assert_eq!(levels, naive.levels(instrument, side));
                assert!(levels.len() <= limits.price_levels_max as usize);
                let top = engine.top(instrument);
                let quote = if side == Side::Buy { top.bid } else { top.ask };
                assert_eq!(
                    quote.map(|q| (q.price_ticks, q.quantity_lots)),
                    levels.first().map(|l| (l.0, l.1))
                );
            }
            for account in 0..limits.accounts_max {
                let position_lots = engine.position_lots(account, instrument);
                assert_eq!(position_lots, naive.position_lots(account, instrument));
            }
            if let Top { bid: Some(bid), ask: Some(ask) } = engine.top(instrument) {
                assert!(bid.price_ticks < ask.price_ticks, "the book is crossed");
            }
        }
        self.check_nobody_else();
        self.check_hash(state);
    }

    /// Unknown instruments and accounts look empty.
    fn check_nobody_else(&self) {
        let SideBySide { engine, instruments, limits, .. } = self;
        assert_eq!(engine.top(*instruments), Top::default());
        assert_eq!(engine.levels(*instruments, Side::Buy).count(), 0);
        assert_eq!(engine.position_lots(0, *instruments), 0);
        assert_eq!(engine.position_lots(limits.accounts_max, 0), 0);
    }

    /// The hash changes exactly when the state does.
    fn check_hash(&mut self, state: Vec<SavedItem>) {
        let hash = self.engine.state_hash();
        if let Some((state_before, hash_before)) = &self.seen {
            assert_eq!(hash == *hash_before, state == *state_before);
        }
        self.seen = Some((state, hash));
    }
}

/// All pieces of an engine.
pub fn pieces(engine: &Engine) -> Vec<SavedItem> {
    let mut pieces = Vec::new();
    engine.save(&mut |piece| pieces.push(piece));
    pieces
}
