//! The watch for connections that owe replies and are silent.

use crate::load::desk::Desk;
use crate::load::redial;
use crate::load::session::OrderProtocol;

/// Time that the other end may be silent while it owes a reply.
const SILENCE_NS_MAX: u64 = 5_000_000_000;
/// Interval between checks for that.
const SILENCE_CHECK_NS: u64 = 100_000_000;

impl<E: OrderProtocol> Desk<E> {
    /// Keeps sessions alive, and fails the run if a connection owes replies and has been silent for
    /// too long.
    #[inline]
    pub(crate) fn check_silence(&mut self, now_ns: u64) {
        if now_ns < self.next_silence_check_ns {
            return;
        }
        self.next_silence_check_ns = now_ns + SILENCE_CHECK_NS;
        self.keep_alive(now_ns);
        let silence_ns_max = match self.redial {
            None => SILENCE_NS_MAX + self.outage_ns_max(),
            Some(_) => redial::SILENCE_NS_MAX,
        };
        let silent = self
            .lanes
            .iter()
            .position(|lane| lane.unanswered > 0 && now_ns > lane.quiet_since_ns + silence_ns_max);
        if let Some(lane) = silent {
            if self.redial.is_some() {
                return self.fail_lane(lane, "no reply came");
            }
            self.failure = Some(format!(
                "no reply on connection {lane} for {} s while {} messages were unanswered there: is \
                 the other end still alive?",
                silence_ns_max / 1_000_000_000,
                self.lanes[lane].unanswered
            ));
            self.broken = true;
        }
    }
}
