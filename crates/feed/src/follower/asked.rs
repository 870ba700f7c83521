//! What a follower needs, and what it has asked for.

/// So many datagrams that brought nothing that was asked for, and it is asked for again.
const ASK_AGAIN_DATAGRAMS: u32 = 256;
/// A replay that was asked for so often and did not come is given up for a snapshot.
const REPLAYS_ASKED_MAX: u32 = 3;

/// What a follower needs from the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryRequest {
    /// Messages that are missing.
    Replay {
        /// The first.
        from: u64,
        /// How many.
        count: u32,
    },
    /// The books.
    Snapshot,
}

/// What was asked for last, and how that goes.
#[derive(Debug, Default)]
pub(crate) struct RequestState(Option<OpenRequest>);

#[derive(Debug, Clone, Copy)]
struct OpenRequest {
    want: RecoveryRequest,
    /// Datagrams since it was asked for, or since it last brought something.
    datagrams: u32,
    /// How often it was asked for, without anything having come.
    times: u32,
    /// Something of it came since it was asked for, or since time was last up.
    is_coming: bool,
}

/// Whether to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestTurn {
    /// It may still come.
    Wait,
    Ask,
    /// It was asked for so often, and nothing came.
    GiveUp,
}

impl RequestState {
    /// A datagram came, whatever it is.
    #[inline]
    pub fn datagram(&mut self) {
        if let Some(asked) = &mut self.0 {
            asked.datagrams = asked.datagrams.saturating_add(1);
        }
    }

    /// What was asked for comes.
    pub fn progress(&mut self) {
        if let Some(asked) = &mut self.0 {
            (asked.datagrams, asked.times, asked.is_coming) = (0, 0, true);
        }
    }

    /// Time is up: what was asked for does not come any more, unless some of it came in that time.
    pub fn time_is_up(&mut self) {
        if let Some(asked) = &mut self.0
            && !std::mem::take(&mut asked.is_coming)
        {
            asked.datagrams = ASK_AGAIN_DATAGRAMS;
        }
    }

    /// Nothing is asked for.
    #[inline]
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// What to do about what is wanted now. If it is to ask, that is what was asked for from now
    /// on.
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
    /// Whether what is wanted is a part of what was asked for.
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
