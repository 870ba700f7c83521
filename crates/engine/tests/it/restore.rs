//! The saved pieces of an engine restore an equal engine; damaged pieces give an error, or exactly
//! the engine that they describe.

use crate::commands::{inputs, limits};
use engine::*;
use proptest::prelude::*;
use proptest::sample::Index;

const INSTRUMENTS: u16 = 3;

fn saved(engine: &Engine) -> Vec<SavedItem> {
    let mut pieces = Vec::new();
    engine.save(&mut |piece| pieces.push(piece));
    pieces
}

fn saved_after(limits: EngineLimits, inputs: &[Input]) -> Vec<SavedItem> {
    let mut engine = Engine::new(INSTRUMENTS, limits);
    inputs.iter().for_each(|input| engine.apply(input, &mut |_| {}));
    saved(&engine)
}

#[derive(Debug, Clone)]
enum Damage {
    Lose(Index),
    Repeat(Index),
    Swap(Index),
    Cut(Index),
    /// A byte of a piece, and its new value.
    Change(Index, Index, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        1 => any::<Index>().prop_map(Damage::Lose),
        1 => any::<Index>().prop_map(Damage::Repeat),
        1 => any::<Index>().prop_map(Damage::Swap),
        1 => any::<Index>().prop_map(Damage::Cut),
        6 => any::<(Index, Index, u8)>().prop_map(|(at, byte, to)| Damage::Change(at, byte, to)),
    ]
}

/// `None` if the damaged bytes can't be decoded.
fn damaged(mut pieces: Vec<SavedItem>, damage: &Damage) -> Option<Vec<SavedItem>> {
    let at = |index: &Index| index.index(pieces.len());
    match damage {
        Damage::Lose(index) => {
            pieces.remove(at(index));
        }
        Damage::Repeat(index) => {
            let at = at(index);
            pieces.insert(at, pieces[at]);
        }
        Damage::Swap(index) => {
            let at = at(index);
            pieces.swap(at, at.saturating_sub(1));
        }
        Damage::Cut(index) => pieces.truncate(at(index)),
        Damage::Change(index, byte, to) => {
            let at = at(index);
            let mut bytes = pieces[at].to_bytes();
            bytes[byte.index(SavedItem::BYTES)] = *to;
            pieces[at] = SavedItem::from_bytes(&bytes).ok()?;
        }
    }
    Some(pieces)
}

/// Damage may describe an engine of any allowed size; a large one would only be slow.
fn is_small(pieces: &[SavedItem]) -> bool {
    let Some(SavedItem::Engine { instruments, limits, .. }) = pieces.first() else { return true };
    let EngineLimits {
        open_orders_max,
        price_levels_max,
        stop_levels_max,
        expiring_orders_max,
        accounts_max,
    } = *limits;
    [open_orders_max, price_levels_max, stop_levels_max, expiring_orders_max, accounts_max]
        .iter()
        .all(|limit| *limit < 1_000)
        && *instruments < 100
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(4_000)))]

    #[test]
    fn what_is_damaged_makes_no_engine_or_what_it_says(
        limits in limits(),
        before in inputs(100),
        damage in damage(),
        after in inputs(50),
    ) {
        let Some(pieces) = damaged(saved_after(limits, &before), &damage) else { return Ok(()) };
        prop_assume!(is_small(&pieces));
        match Engine::restore(pieces.iter().copied()) {
            Ok(mut engine) => {
                prop_assert_eq!(saved(&engine), pieces);
                after.iter().for_each(|input| engine.apply(input, &mut |_| {}));
                Engine::restore(saved(&engine)).expect("it was saved by an engine");
            }
            Err(error) => prop_assert!(error.to_string().contains("the state"), "{error}"),
        }
    }
}

#[test]
fn nothing_makes_no_engine() {
    assert_eq!(Engine::restore([]).unwrap_err(), RestoreError::NoEngine);
}
