//! When a standby takes over from its primary: when that one was silent for too long, or has ended
//! and said so. Pure.
//!
//! A primary in mode `sync` acknowledges nothing that its follower does not have, so the lease
//! needs no clock of the primary: a standby that stops answering has ended its acknowledgements.

use crate::session::FollowerStanding;

/// Heartbeats that a lease must last, so that a late one does not end it.
const HEARTBEATS_MIN: u64 = 3;

/// Why a standby takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// The primary was silent for the length of the lease.
    Silence,
    /// The primary has ended in order.
    Farewell,
}

/// The time for which a primary may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    limit_ns: u64,
    /// When the primary was last heard; `None`: none was heard, or the copy lacks records that it
    /// may have acknowledged.
    heard_ns: Option<u64>,
    /// Whether the primary has ended, and the copy has all its records.
    has_ended: bool,
    /// When this was last asked.
    asked_ns: u64,
}

impl Lease {
    /// A lease of that length, ns, that begins with the first call of [`Lease::renew`].
    pub fn new(limit_ns: u64, now_ns: u64) -> Lease {
        Lease { limit_ns, heard_ns: None, has_ended: false, asked_ns: now_ns }
    }

    /// The primary was heard.
    pub fn renew(&mut self, now_ns: u64, standing: FollowerStanding) {
        self.limit_ns = self.limit_ns.max(HEARTBEATS_MIN * standing.heartbeat_ns);
        self.heard_ns = standing.may_lead.then_some(now_ns);
        self.has_ended = standing.may_lead && standing.has_ended;
    }

    /// Whether the standby takes over, and why. Ask it more than twice per lease.
    pub fn promotion(&mut self, now_ns: u64) -> Option<Promotion> {
        if self.has_ended {
            return Some(Promotion::Farewell);
        }
        self.has_run_out(now_ns).then_some(Promotion::Silence)
    }

    fn has_run_out(&mut self, now_ns: u64) -> bool {
        // This process was not running, so the primary's messages are still to be read.
        let was_paused = now_ns.saturating_sub(self.asked_ns) > self.limit_ns / 2;
        self.asked_ns = now_ns;
        match &mut self.heard_ns {
            None => false,
            Some(heard_ns) if was_paused => {
                *heard_ns = now_ns;
                false
            }
            Some(heard_ns) => now_ns.saturating_sub(*heard_ns) > self.limit_ns,
        }
    }

    /// Its length, ns.
    pub fn limit_ns(&self) -> u64 {
        self.limit_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: FollowerStanding =
        FollowerStanding { may_lead: true, has_ended: false, heartbeat_ns: 10 };

    /// The first time at which it has run out, asked at each 10th ns until 10 000.
    fn end_of(mut lease: Lease, from_ns: u64) -> Option<u64> {
        (from_ns..10_000).step_by(10).find(|now_ns| lease.has_run_out(*now_ns))
    }

    #[test]
    fn it_ends_at_once_when_the_primary_has_ended_and_all_is_here() {
        let mut lease = Lease::new(100, 0);
        lease.renew(0, FollowerStanding { may_lead: false, has_ended: true, ..WHOLE });
        assert_eq!(lease.promotion(10), None, "acknowledged records may be missing");
        lease.renew(10, FollowerStanding { has_ended: true, ..WHOLE });
        assert_eq!(lease.promotion(10), Some(Promotion::Farewell));
        // Another primary has come.
        lease.renew(20, WHOLE);
        assert_eq!(lease.promotion(30), None);
        assert_eq!((40..=120).step_by(10).find_map(|now_ns| lease.promotion(now_ns)), None);
        assert_eq!(lease.promotion(130), Some(Promotion::Silence));
    }

    #[test]
    fn it_ends_when_the_primary_was_silent_for_its_length() {
        let mut lease = Lease::new(100, 500);
        assert_eq!(end_of(lease, 500), None, "no primary was ever heard");
        lease.renew(500, WHOLE);
        assert!(!lease.has_run_out(510));
        assert_eq!(end_of(lease, 520), Some(610));
        lease.renew(560, WHOLE);
        assert_eq!(end_of(lease, 520), Some(670));
    }

    #[test]
    fn a_copy_that_may_lack_acknowledged_records_never_leads() {
        let mut lease = Lease::new(100, 0);
        lease.renew(0, WHOLE);
        lease.renew(10, FollowerStanding { may_lead: false, ..WHOLE });
        assert_eq!(end_of(lease, 20), None);
    }

    #[test]
    fn it_is_never_shorter_than_three_heartbeats() {
        let mut lease = Lease::new(100, 0);
        lease.renew(0, FollowerStanding { heartbeat_ns: 300, ..WHOLE });
        assert_eq!(lease.limit_ns(), 900);
        assert_eq!(end_of(lease, 0), Some(910));
    }

    /// A standby that was stopped for an hour finds the primary's messages in its socket first.
    #[test]
    fn a_pause_of_the_standby_itself_does_not_count() {
        let mut lease = Lease::new(100, 0);
        lease.renew(0, WHOLE);
        assert!(!lease.has_run_out(10));
        assert!(!lease.has_run_out(5_000));
        assert_eq!(end_of(lease, 5_010), Some(5_110));
    }
}
