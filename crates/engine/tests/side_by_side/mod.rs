//! The engine and the naive one, told the same. `tests/naive.rs` tells them what proptest makes up,
//! the target `engine` in `fuzz/` what libFuzzer does.

use engine::*;

use crate::reference::NaiveEngine;

pub struct SideBySide {
    engine: Engine,
    naive: NaiveEngine,
    instruments: u16,
    limits: EngineLimits,
}

impl SideBySide {
    pub fn new(instruments: u16, limits: EngineLimits) -> SideBySide {
        let engine = Engine::new(instruments, limits);
        let naive = NaiveEngine::new(instruments, limits);
        SideBySide { engine, naive, instruments, limits }
    }

    /// Tells both; both must report the same events.
    pub fn apply(&mut self, command: &Command) -> Vec<Event> {
        let mut events = Vec::new();
        self.engine.apply(command, &mut |event| events.push(event));
        assert_eq!(events, self.naive.apply(command), "{command:?}");
        events
    }

    /// What must be equal, and what must hold, between any two commands.
    pub fn check_state(&self) {
        let SideBySide { engine, naive, instruments, limits } = self;
        assert_eq!(engine.state_hash(), naive.state_hash());
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
            if let Top { bid: Some(bid), ask: Some(ask) } = engine.top(instrument) {
                assert!(bid.price_ticks < ask.price_ticks, "the book is crossed");
            }
        }
        assert_eq!(engine.top(*instruments), Top::default());
    }
}
