//! The loops that are timed. Nothing in them allocates, prints or locks; inputs were made before, and reports
//! go to memory that is there.

use crate::outbound::Outbound;
use crate::server::Server;
use engine::Input;
use measure::clock::Clock;
use measure::recorder::Recorder;

// An engine is told what comes, as by who reads a ring of messages in batches: so many operations before it looks
// up the order, and so many before it needs it. Worth most where no cache holds the book.
const EXPECTED_AHEAD: usize = 8;
const EXPECTED_NEXT: usize = 2;

#[inline(always)]
fn expect(operations: &[Input], index: usize, server: &impl Server) {
    if let Some(later) = operations.get(index + EXPECTED_AHEAD) {
        server.expect(later);
    }
    if let Some(next) = operations.get(index + EXPECTED_NEXT) {
        server.expect_next(next);
    }
}

/// One operation after the other, timed as a whole, ns: the clock is read twice.
pub(crate) fn as_a_whole<const N: usize>(
    server: &mut impl Server,
    operations: &[Input],
    outbound: &mut Outbound<N>,
    clock: Clock,
) -> u64 {
    let start_ns = clock.now_ns();
    for (index, input) in operations.iter().enumerate() {
        expect(operations, index, server);
        server.apply(input, &mut |report| outbound.push(report));
    }
    clock.now_ns() - start_ns
}

/// One operation after the other, each timed between two readings of the clock, and recorded as `series`. What it
/// takes to expect later ones is in it, and of the readings about one. What it all took, ns.
pub(crate) fn one_by_one<const N: usize>(
    server: &mut impl Server,
    operations: &[Input],
    outbound: &mut Outbound<N>,
    clock: Clock,
    recorder: &mut Recorder,
    series: usize,
) -> u64 {
    let first_ns = clock.now_ns();
    let mut end_ns = first_ns;
    for (index, input) in operations.iter().enumerate() {
        let start_ns = clock.now_ns();
        expect(operations, index, server);
        server.apply(input, &mut |report| outbound.push(report));
        end_ns = clock.now_ns();
        recorder.record(series, end_ns - start_ns);
        recorder.roll(end_ns);
    }
    end_ns - first_ns
}
