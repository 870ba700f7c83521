//! The loops that are timed. They don't allocate, print or lock: inputs exist before, and reports
//! go to memory that exists.

use crate::server::Server;
use crate::server::outbound::Outbound;
use clock::Clock;
use clock::recorder::Recorder;
use engine::Input;

/// Operations back to back, timed as a whole, ns: two clock readings.
pub(crate) fn as_a_whole<const N: usize>(
    server: &mut impl Server,
    operations: &[Input],
    outbound: &mut Outbound<N>,
    clock: Clock,
) -> u64 {
    let start_ns = clock.now_ns();
    for (index, input) in operations.iter().enumerate() {
        server.look_ahead(operations, index);
        server.apply(input, &mut |report| outbound.push(report));
    }
    clock.now_ns() - start_ns
}

/// Operations back to back, each timed between two clock readings and recorded as `series`. That
/// time includes the look-ahead, if there is one, and about one clock reading. Returns the total,
/// ns.
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
        server.look_ahead(operations, index);
        server.apply(input, &mut |report| outbound.push(report));
        end_ns = clock.now_ns();
        recorder.record(series, end_ns - start_ns);
        recorder.roll(end_ns);
    }
    end_ns - first_ns
}
