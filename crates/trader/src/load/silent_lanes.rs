//! The watch for connections that owe replies and are silent.

use crate::load::desk::Desk;
use crate::load::desk::redial;
use crate::load::going_on::outage_ns_max;
use crate::load::session::OrderProtocol;

/// Time that the other end may be silent while it owes a reply.
const SILENCE_NS_MAX: u64 = 5_000_000_000;
/// Interval between checks for that.
const SILENCE_CHECK_NS: u64 = 100_000_000;

/// Keeps sessions alive, and fails the run if a connection owes replies and has been silent for too
/// long.
#[inline]
pub(crate) fn check_silence<E: OrderProtocol>(desk: &mut Desk<E>, now_ns: u64) {
    if now_ns < desk.next_silence_check_ns {
        return;
    }
    desk.next_silence_check_ns = now_ns + SILENCE_CHECK_NS;
    keep_alive(desk, now_ns);
    let silence_ns_max = match desk.redial {
        None => SILENCE_NS_MAX + outage_ns_max(desk),
        Some(_) => redial::SILENCE_NS_MAX,
    };
    let lanes = &desk.connections.lanes;
    let silent = lanes
        .iter()
        .position(|lane| lane.unanswered > 0 && now_ns > lane.quiet_since_ns + silence_ns_max);
    if let Some(lane) = silent {
        if desk.redial.is_some() {
            return desk.fail_lane(lane, "no reply came");
        }
        desk.failure = Some(format!(
            "no reply on connection {lane} for {} s while {} messages were unanswered there: is the \
             other end still alive?",
            silence_ns_max / 1_000_000_000,
            lanes[lane].unanswered
        ));
        desk.broken = true;
    }
}

/// Lets each session say that it lives, where it must.
fn keep_alive<E: OrderProtocol>(desk: &mut Desk<E>, now_ns: u64) {
    for lane in 0..desk.connections.lanes.len() {
        let bytes = &mut desk.connections.lanes[lane].bytes;
        let before = bytes.len();
        if let Err(why) = desk.entry.keep_alive(lane, now_ns, bytes) {
            return desk.fail_lane(lane, &why);
        }
        desk.send_own(lane, before);
    }
}
