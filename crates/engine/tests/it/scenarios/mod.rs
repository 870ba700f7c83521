//! The rules one by one, as transcripts of commands and answers. The naive engine gets the same
//! commands and must give the same answers, so that it is tested too.
//!
//! To add one, write its commands, and let `UPDATE_EXPECT=1 cargo test -p engine --test it
//! scenarios` write the answers; then review them.

mod amend;
mod expiry;
mod iceberg;
mod instruments;
mod limit_orders;
mod limits;
mod market_orders;
mod mass_cancel;
mod post_only;
mod rejections;
mod risk;
mod script;
mod self_trade;
mod stops;
mod transcript;

use engine::EngineLimits;
use expect_test::Expect;

/// Capacities large enough for every scenario that does not test them, and three accounts.
const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 16,
    price_levels_max: 8,
    stop_levels_max: 4,
    expiring_orders_max: 4,
    accounts_max: 3,
};

/// Executes the commands of a transcript in engines of two instruments, and compares the answers.
fn check(transcript: Expect) {
    check_with(LIMITS, transcript);
}

fn check_with(limits: EngineLimits, transcript: Expect) {
    let played = transcript::play(limits, transcript.data());
    transcript.assert_eq(&played);
}
