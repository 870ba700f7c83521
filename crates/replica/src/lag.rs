//! When a follower counts as lost. Pure.

/// Decides whether a follower is lost: it has been silent, or has not acknowledged what was written
/// a limit ago.
#[derive(Clone, Copy, Debug)]
pub struct LagJudge {
    limit_ns: u64,
    /// The end of the log at `since_ns`, which the follower has not acknowledged.
    checkpoint: u64,
    /// When the checkpoint was set, ns.
    since_ns: u64,
}

impl LagJudge {
    /// A judge with this limit, ns.
    pub fn new(limit_ns: u64, now_ns: u64) -> LagJudge {
        LagJudge { limit_ns, checkpoint: 0, since_ns: now_ns }
    }

    /// Whether the follower is lost. `heard_ns` is when it last said anything.
    pub fn is_lost(&mut self, now_ns: u64, written: u64, replicated: u64, heard_ns: u64) -> bool {
        if replicated >= self.checkpoint {
            (self.checkpoint, self.since_ns) = (written, now_ns);
        }
        let is_old = |since_ns: u64| now_ns.saturating_sub(since_ns) > self.limit_ns;
        is_old(heard_ns) || (replicated < self.checkpoint && is_old(self.since_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_follower_is_lost_and_comes_back() {
        let mut judge = LagJudge::new(100, 0);
        assert!(!judge.is_lost(100, 5, 5, 0));
        assert!(judge.is_lost(101, 5, 5, 0), "nothing was heard, and nothing is open");
        assert!(!judge.is_lost(102, 5, 5, 102));
    }

    #[test]
    fn a_follower_that_lags_is_lost_until_it_has_caught_up() {
        let mut judge = LagJudge::new(100, 0);
        assert!(!judge.is_lost(0, 10, 0, 0));
        assert!(!judge.is_lost(100, 50, 9, 100), "it lacks 10 since 0");
        assert!(judge.is_lost(101, 50, 9, 101));
        assert!(!judge.is_lost(102, 50, 10, 102), "10 is there, 50 is new");
        assert!(judge.is_lost(203, 50, 10, 203));
    }

    /// A load that never stops: the follower is always behind, but by less than the limit.
    #[test]
    fn a_follower_that_keeps_up_is_never_lost() {
        let mut judge = LagJudge::new(100, 0);
        for now_ns in 0..10_000 {
            let replicated = now_ns - 40_u64.min(now_ns);
            assert!(!judge.is_lost(now_ns, now_ns, replicated, now_ns), "{now_ns}");
        }
    }
}
