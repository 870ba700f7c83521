//! The end of a load: sessions log off, and what was counted is handed over.

use crate::load::desk::connections::Connections;
use crate::load::desk::{Desk, WAIT_NS_MAX};
use crate::load::session::OrderProtocol;
use between::ways::{KernelTimes, Ways};
use record::Load;
use transport::{Ready, StreamRead};

/// Time that the other end has for the answer to a logout.
const LOG_OFF_NS_MAX: u64 = 500_000_000;

/// A load that has ended.
pub(crate) struct FinishedLoad<E> {
    pub(crate) load: Load,
    pub(crate) failure: Option<String>,
    pub(crate) entry: E,
    /// The directions that were kept.
    pub(crate) ways: Option<Ways>,
    /// The stamped messages that were kept.
    pub(crate) times: Vec<KernelTimes>,
}

/// Ends the last interval.
pub(crate) fn finish<E: OrderProtocol>(mut desk: Desk<E>) -> FinishedLoad<E> {
    let now_ns = desk.clock.now_ns();
    desk.ledger.stop_waiting(&mut desk.connections.lanes, now_ns);
    let usage = host::thread::usage().since(desk.usage);
    log_off(&mut desk);
    let Desk { ledger, connections, clock, entry, failure, .. } = desk;
    let (mut load, ways) = ledger.finish(clock.now_ns());
    load.context_switches_involuntary = usage.context_switches_involuntary;
    load.page_faults = usage.page_faults_minor + usage.page_faults_major;
    let (stamped, times) = connections.into_stamped().unzip();
    load.stamped = stamped;
    FinishedLoad { load, failure, entry, ways, times: times.unwrap_or_default() }
}

/// Ends each session in order, and waits a moment for the answers.
fn log_off<E: OrderProtocol>(desk: &mut Desk<E>) {
    if desk.broken || desk.unanswered() > 0 {
        return;
    }
    let mut now_ns = desk.clock.now_ns();
    let lanes = desk.connections.lanes.len();
    let mut waits: Vec<bool> = Vec::with_capacity(lanes);
    for lane in 0..lanes {
        let bytes = &mut desk.connections.lanes[lane].bytes;
        let before = bytes.len();
        desk.entry.log_off(lane, now_ns, bytes);
        waits.push(bytes.len() > before);
        desk.send_own(lane, before);
    }
    let until_ns = now_ns + LOG_OFF_NS_MAX;
    while waits.contains(&true) && now_ns < until_ns && !desk.broken {
        desk.wait(until_ns.min(now_ns + WAIT_NS_MAX));
        for index in 0..desk.ready.len() {
            if let Ready::Readable(stream) = desk.ready[index] {
                let lane = desk.connections.lane_of(stream);
                waits[lane] &= !is_logged_off(desk, lane);
            }
        }
        now_ns = desk.clock.now_ns();
    }
}

/// Reads once. Whether the lane's session has ended.
fn is_logged_off<E: OrderProtocol>(desk: &mut Desk<E>, lane: usize) -> bool {
    let Connections { streams, lanes, .. } = &mut desk.connections;
    match streams.read(lanes[lane].stream, desk.entry.space(lane)) {
        StreamRead::Empty => false,
        StreamRead::Closed | StreamRead::Failed(_) => true,
        StreamRead::Bytes { n, stamp_ns } => {
            desk.entry.filled(lane, n, stamp_ns);
            loop {
                match desk.entry.next(lane, &mut lanes[lane].bytes) {
                    Ok(Some(_)) => {}
                    Ok(None) => return false,
                    Err(_) => return true,
                }
            }
        }
    }
}
