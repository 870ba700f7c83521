//! Subscribers on other hosts, from the source's side.
//!
//! ```text
//!   link    one end: its connection, and what it asks of it
//!   prober  probes of an end's clock, as long as the run lasts
//!   place   arrivals on the source's clock, each with its error
//!   spread  how far apart the copies of a message are, and who is certainly first. No I/O
//! ```

mod link;
mod place;
mod prober;
mod spread;

use crate::end::dialogue::EndReport;
use crate::hosts::link::{Link, Share};
use crate::hosts::place::FarCopies;
use crate::hosts::prober::{Prober, ProvenOffsets};
use crate::run::{FanOutBenchError, Measurement, SentMessages, phase, send};
use clock::Clock;
use plan::process::fan_out::FanOutPlan;
use record::fan_out::{FanOutEnd, FanOutHosts};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Probes begin this long before the source does, and go on as long after its last message: copies
/// that come later are lost.
const AROUND: Duration = Duration::from_millis(500);
/// How often the source looks whether an end is lost.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A thread that probes an end; it ends early if the end is lost.
type Probing<'a> = ScopedJoinHandle<'a, Option<ProvenOffsets>>;

/// Sends all messages to the replicator, and gets the arrivals of all ends.
///
/// # Errors
/// If an end can't be used.
pub(crate) fn measure(
    plan: &FanOutPlan,
    stop: &AtomicBool,
) -> Result<Measurement, FanOutBenchError> {
    let clock = Clock::calibrate();
    let (mut links, probers) = open(plan, clock)?;
    let (mut sent, probed) = beside_probes(plan, clock, (&links, probers), stop)?;
    let mut hosts = FanOutHosts::default();
    let (mut failures, mut dropped) = (Vec::new(), Some(0));
    let mut far = Vec::with_capacity(links.len());
    for link in &mut links {
        let copies = link.finish(plan.messages)?;
        let EndReport { duplicated, strange, unstamped, .. } = copies.received;
        sent.flowed.arrivals.unstamped += unstamped;
        // The replicator's end has no subscriber of the record.
        if link.subscribers > 0 {
            dropped = dropped.zip(copies.received.dropped).map(|(sum, own)| sum + own);
            sent.flowed.arrivals.duplicated += duplicated;
            sent.flowed.arrivals.strange += strange;
        }
        far.push(copies);
    }
    let mut ends: Vec<FarCopies<'_>> = (links.iter().zip(&far).zip(&probed))
        .map(|((link, copies), probed)| FarCopies {
            first: link.first,
            subscribers: link.times,
            arrivals_ns: &copies.times_ns,
            stamp_error_ns: copies.received.wall.bound_ns,
            clock_steps: copies.received.wall.steps,
            offsets: &probed.offsets,
        })
        .collect();
    let replicator = ends.split_off(plan.hosts.len()).pop();
    let (start_ns, arrivals) = (sent.flowed.start_ns, sent.flowed.arrivals);
    let placed = place::all(&ends, replicator.as_ref(), plan.subscribers, start_ns, arrivals);
    sent.flowed.arrivals = placed.arrivals;
    let errors = placed.ends;
    placed.spreads.into_record(&mut hosts, &errors, &ends, placed.hops);
    drop((ends, replicator));
    for (((link, copies), probed), errors) in links.iter().zip(&far).zip(probed).zip(&errors) {
        failures.extend(link.fault(&copies.received, errors, &probed));
        hosts.ends.push(FanOutEnd {
            host: link.host.clone(),
            subscribers: link.subscribers as u64,
            received: errors.received,
            unplaced: errors.unplaced,
            clock_steps: copies.received.wall.steps,
            stamp_error_ns: copies.received.wall.bound_ns,
            arrival_error_ns: errors.worst.map(|(_, error_ns)| error_ns),
            probes_lost: probed.lost,
            between: record::between::HostClocks {
                clocks: probed.clocks,
                ..probed.offsets.into_record(errors.worst)
            },
        });
    }
    Ok(Measurement { sent, held: None, dropped, clock, hosts: Some(hosts), failures })
}

/// Connects to all ends, one after the other: their subscribers register in the order of the list.
fn open(plan: &FanOutPlan, clock: Clock) -> Result<(Vec<Link>, Vec<Prober>), FanOutBenchError> {
    let (mut links, mut probers) = (Vec::new(), Vec::new());
    let mut first = 0;
    for (at, host) in plan.hosts.iter().enumerate() {
        let subscribers = share(plan.subscribers, plan.hosts.len(), at);
        let (link, prober) =
            Link::open(plan, host, Share { first, subscribers, hops: false }, clock)?;
        first += subscribers;
        links.push(link);
        probers.push(prober);
    }
    // After the others, so that their copies leave as they would without it.
    if let Some(host) = &plan.replicator_end {
        let share = Share { first, subscribers: 1, hops: true };
        let (link, prober) = Link::open(plan, host, share, clock)?;
        links.push(link);
        probers.push(prober);
    }
    Ok((links, probers))
}

/// The subscribers of the end at place `at`: as many as others have, or one more.
fn share(subscribers: usize, ends: usize, at: usize) -> usize {
    subscribers / ends + usize::from(at < subscribers % ends)
}

/// Sends the messages on a thread of its own, and probes all ends meanwhile. Stops at the first end
/// that is lost: without its copies the run is no result.
fn beside_probes(
    plan: &FanOutPlan,
    clock: Clock,
    (links, probers): (&[Link], Vec<Prober>),
    stop: &AtomicBool,
) -> Result<(SentMessages, Vec<ProvenOffsets>), FanOutBenchError> {
    let (ended, breaks_off) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let start = |prober: Prober| scope.spawn(move || prober.run(ended));
        let probers: Vec<Probing<'_>> = probers.into_iter().map(start).collect();
        let source = scope.spawn(|| {
            std::thread::sleep(AROUND);
            if let Some(core) = plan.core {
                host::thread::pin(core)?;
            }
            send(plan, phase(plan, 0, None), clock, &[], breaks_off)
        });
        let mut found = Ok(());
        while found.is_ok() && !source.is_finished() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            found = check(links, &probers);
        }
        breaks_off.store(true, Ordering::Relaxed);
        let sent = source.join();
        if found.is_ok() {
            std::thread::sleep(AROUND);
            found = check(links, &probers);
        }
        ended.store(true, Ordering::Relaxed);
        let probed: Result<Vec<Option<ProvenOffsets>>, _> =
            probers.into_iter().map(Probing::join).collect();
        let panicked = |_| FanOutBenchError::Panic;
        let (sent, probed) = (sent.map_err(panicked)?, probed.map_err(panicked)?);
        found?;
        let known = links.iter().zip(probed).map(|(link, one)| one.ok_or_else(|| link.silent()));
        Ok((sent?, known.collect::<Result<_, _>>()?))
    })
}

/// The error of the first end that is lost.
fn check(links: &[Link], probers: &[Probing<'_>]) -> Result<(), FanOutBenchError> {
    // An end that was killed does both, and that it closed the connection says more.
    links.iter().try_for_each(Link::check)?;
    match probers.iter().position(Probing::is_finished) {
        Some(at) => Err(links[at].silent()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_are_spread_evenly_over_ends() {
        let shares = |subscribers, ends| -> Vec<usize> {
            (0..ends).map(|at| share(subscribers, ends, at)).collect()
        };
        assert_eq!(shares(16, 3), [6, 5, 5]);
        assert_eq!(shares(2, 2), [1, 1]);
        assert_eq!(shares(64, 1), [64]);
    }
}
