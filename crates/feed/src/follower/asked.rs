//! The present request of a follower.

/// Number of datagrams without a part of the answer after which a request is repeated.
const ASK_AGAIN_DATAGRAMS: u32 = 256;
/// Number of unanswered requests of a replay after which a snapshot is requested instead.
const REPLAYS_ASKED_MAX: u32 = 3;

/// A follower's request to the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryRequest {
    /// Missing messages.
    Replay {
        /// Number of the first.
        from: u64,
        /// Number of messages.
        count: u32,
    },
    /// The books.
    Snapshot,
}

/// The open request, if any.
#[derive(Debug, Default)]
pub(crate) struct RequestState(Option<OpenRequest>);

#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    want: RecoveryRequest,
    /// Datagrams since the request, or since the last part of its answer.
    datagrams: u32,
    /// Number of requests without any part of an answer.
    times: u32,
    /// Whether a part of the answer came since the request, or since the last time-out.
    is_coming: bool,
}

/// Next step for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestTurn {
    /// The answer may still come.
    Wait,
    Ask,
    /// It was requested too often without any answer.
    GiveUp,
}

impl RequestState {
    /// Counts a datagram of any kind.
    #[inline]
    pub fn datagram(&mut self) {
        if let Some(asked) = &mut self.0 {
            asked.datagrams = asked.datagrams.saturating_add(1);
        }
    }

    /// Notes that a part of the answer came.
    pub fn progress(&mut self) {
        if let Some(asked) = &mut self.0 {
            (asked.datagrams, asked.times, asked.is_coming) = (0, 0, true);
        }
    }

    /// Handles a time-out: the answer is lost, unless a part of it came in that time.
    pub fn time_is_up(&mut self) {
        if let Some(asked) = &mut self.0
            && !std::mem::take(&mut asked.is_coming)
        {
            asked.datagrams = ASK_AGAIN_DATAGRAMS;
        }
    }

    /// Ends the request.
    #[inline]
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// The next step for the needed request `want`. If it is [`RequestTurn::Ask`], `want` is the
    /// open request from now on.
    pub fn turn(&mut self, want: RecoveryRequest) -> RequestTurn {
        let before = self.0.filter(|asked| asked.covers(&want));
        let times = before.map_or(0, |asked| asked.times);
        if before.is_some_and(|asked| asked.datagrams < ASK_AGAIN_DATAGRAMS) {
            return RequestTurn::Wait;
        }
        let times_max = match want {
            RecoveryRequest::Replay { .. } => REPLAYS_ASKED_MAX,
            RecoveryRequest::Snapshot => 1,
        };
        if times >= times_max {
            self.end();
            return RequestTurn::GiveUp;
        }
        self.0 = Some(OpenRequest { want, datagrams: 0, times: times + 1, is_coming: false });
        RequestTurn::Ask
    }
}

impl OpenRequest {
    /// Whether the needed request is a part of the open one.
    fn covers(&self, want: &RecoveryRequest) -> bool {
        match (self.want, want) {
            (RecoveryRequest::Snapshot, RecoveryRequest::Snapshot) => true,
            (
                RecoveryRequest::Replay { from, count },
                RecoveryRequest::Replay { from: wanted, .. },
            ) => (from..from.saturating_add(u64::from(count))).contains(wanted),
            _ => false,
        }
    }
}
