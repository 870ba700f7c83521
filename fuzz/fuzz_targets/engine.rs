//! The engine and the reference agree on any commands: every event, and the state after each, also
//! where the engine is saved and restored on the way. An observer that knows neither hears the
//! events.
#![no_main]

#[path = "../../crates/engine/tests/it/commands/decode.rs"]
mod decode;
#[path = "../../crates/engine/tests/it/observer/mod.rs"]
mod observer;
#[path = "../../crates/engine/tests/it/reference/mod.rs"]
mod reference;
#[path = "../../crates/engine/tests/it/side_by_side/mod.rs"]
mod side_by_side;

use observer::Observer;
use side_by_side::SideBySide;

/// The naive engine looks at every order for every command: past this an input only takes time.
const COMMANDS_MAX: usize = 300;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [instruments, restore_every, data @ ..] = data else { return };
    let Some((limits, data)) = data.split_first_chunk() else { return };
    let limits = decode::decode_limits(limits);
    let (commands, _) = data.as_chunks();
    let inputs = decode::decode_inputs(&commands[..commands.len().min(COMMANDS_MAX)]);
    let instruments = u16::from(instruments % 4);
    let mut both = SideBySide::new(instruments, limits);
    let mut observer = Observer::new(limits);
    for (step, input) in inputs.iter().enumerate() {
        let events = both.apply(input);
        both.check_state();
        observer.hear(input, &events);
        observer.check(both.engine(), instruments, limits);
        if step % (1 + usize::from(*restore_every)) == 0 {
            both.restore();
        }
    }
});
