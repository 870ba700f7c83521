//! The loops that are timed. Nothing in them allocates, prints or locks; inputs were made before, and reports
//! go to memory that is there.

use crate::outbound::Outbound;
use crate::server::Server;
use engine::Input;
use measure::clock::Clock;
use measure::recorder::Recorder;

/// An engine is told of an operation so many operations before it comes, as by who reads a ring of them in
/// batches: what it needs is then on its way from memory.
const EXPECTED_AHEAD: usize = 4;

/// One operation after the other, timed as a whole, ns: the clock is read twice.
pub(crate) fn as_a_whole<const N: usize>(
    server: &mut impl Server,
    inputs: &[Input],
    outbound: &mut Outbound<N>,
    clock: Clock,
) -> u64 {
    let start_ns = clock.now_ns();
    for (index, input) in inputs.iter().enumerate() {
        if let Some(later) = inputs.get(index + EXPECTED_AHEAD) {
            server.expect(later);
        }
        server.apply(input, &mut |report| outbound.push(report));
    }
    clock.now_ns() - start_ns
}

/// One operation after the other, each timed between two readings of the clock, and recorded as `series`. Of the
/// readings about one is in each figure. What it all took, ns.
pub(crate) fn one_by_one<const N: usize>(
    server: &mut impl Server,
    inputs: &[Input],
    outbound: &mut Outbound<N>,
    clock: Clock,
    recorder: &mut Recorder,
    series: usize,
) -> u64 {
    let first_ns = clock.now_ns();
    let mut end_ns = first_ns;
    for (index, input) in inputs.iter().enumerate() {
        if let Some(later) = inputs.get(index + EXPECTED_AHEAD) {
            server.expect(later);
        }
        let start_ns = clock.now_ns();
        server.apply(input, &mut |report| outbound.push(report));
        end_ns = clock.now_ns();
        recorder.record(series, end_ns - start_ns);
        recorder.roll(end_ns);
    }
    end_ns - first_ns
}
