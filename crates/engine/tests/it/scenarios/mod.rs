//! The rules one by one, as transcripts: what a person tells the engine, and what it answers. The
//! naive engine is told the same, and must answer the same, so that it is judged too.
//!
//! To write one, write its commands, and let `UPDATE_EXPECT=1 cargo test -p engine --test
//! scenarios` write the answers; then read them.

mod amend;
mod expiry;
mod iceberg;
mod instruments;
mod limit_orders;
mod limits;
mod market_orders;
mod mass_cancel;
mod post_only;
mod refusals;
mod risk;
mod script;
mod self_trade;
mod stops;
mod transcript;

use engine::EngineLimits;
use expect_test::Expect;

/// Room for every scenario that is not about room, and three accounts.
const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 16,
    price_levels_max: 8,
    stop_levels_max: 4,
    expiring_orders_max: 4,
    accounts_max: 3,
};

/// Plays the commands of a transcript to engines of two instruments; the answers must be those that
/// stand there.
fn check(transcript: Expect) {
    check_with(LIMITS, transcript);
}

fn check_with(limits: EngineLimits, transcript: Expect) {
    let played = transcript::play(limits, transcript.data());
    transcript.assert_eq(&played);
}
