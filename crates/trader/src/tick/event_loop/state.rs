//! The state of the loop, and what every part of it may do: write, request, fail.

use crate::tick::logic::TradingLogic;
use crate::tick::parts::LoopParts;
use crate::tick::phase::Course;
use crate::tick::rehearsal::Rehearsal;
use crate::tick::session::{OrderSession, Request};
use crate::tick::stages::Stages;
use host::thread::Usage;
use transport::datagram::DATAGRAM_BYTES_MAX;

pub(crate) struct TickLoop<M: TradingLogic, L: OrderSession> {
    pub(crate) stages: Stages<M, L>,
    /// Keeps the path warm; `None`: nothing does.
    pub(super) rehearsal: Option<Rehearsal<M, L>>,
    pub(crate) parts: LoopParts,
    pub(crate) datagram: Box<[u8]>,
    /// Datagrams since the last poll of the stream.
    pub(super) datagrams: u32,
    /// Empty polls of the feed.
    pub(super) looks: u32,
    pub(crate) course: Course,
    /// Ticks that were intended from then on are measured, on the exchange's clock. `None` until
    /// the first tick shows where that clock is.
    pub(super) intended_from_ns: Option<u64>,
    /// The thread's resource usage when measuring began.
    pub(crate) usage: Usage,
    pub(super) next_refresh_ns: u64,
    pub(super) wanted_at_ns: u64,
    /// Why the run can't continue.
    pub(crate) failure: Option<String>,
}

impl<M: TradingLogic, L: OrderSession> TickLoop<M, L> {
    /// Allocates all memory.
    pub(crate) fn new(
        stages: Stages<M, L>,
        rehearsal: Option<Rehearsal<M, L>>,
        parts: LoopParts,
    ) -> TickLoop<M, L> {
        let course = Course::new(M::HAS_STAGES, parts.followed.clone());
        TickLoop {
            stages,
            rehearsal,
            parts,
            datagram: vec![1; DATAGRAM_BYTES_MAX].into_boxed_slice(),
            datagrams: 0,
            looks: 0,
            course,
            intended_from_ns: Some(0),
            usage: Usage::default(),
            next_refresh_ns: 0,
            wanted_at_ns: 0,
            failure: None,
        }
    }

    /// By the exchange's clock.
    #[inline]
    pub(super) fn is_measured(&self, intended_ns: u64) -> bool {
        self.intended_from_ns.is_some_and(|from_ns| intended_ns >= from_ns)
    }

    /// Locates the exchange's clock by the first tick, up to that tick's transit time: accurate
    /// enough to end the warm-up.
    #[cold]
    pub(super) fn find_exchanges_clock(&mut self, published_ns: u64, read_ns: u64) {
        let until_ns = self.course.measured_from_ns.saturating_sub(read_ns);
        self.intended_from_ns = Some(published_ns.saturating_add(until_ns));
    }

    /// Writes the outbox. Returns the stamp taken right before the system call.
    #[inline]
    pub(super) fn write(&mut self) -> u64 {
        let Stages { outbox, counts, .. } = &mut self.stages;
        let LoopParts { connection, samples, .. } = &mut self.parts;
        match connection.write(outbox, samples, &mut counts.last_sent_ns) {
            Ok(stamp_ns) => stamp_ns,
            Err(why) => {
                self.lose(why);
                0
            }
        }
    }

    /// Sends a request off the hot path.
    pub(super) fn ask(&mut self, ask: Request) {
        let Stages { session, outbox, .. } = &mut self.stages;
        session.encode_request(ask, &mut outbox.bytes);
        outbox.end_message();
        self.write();
    }

    /// Requests missing messages of the feed.
    #[cold]
    pub(super) fn recover(&mut self, now_ns: u64) {
        if let Some(why) = self.stages.logic.failure() {
            let why = format!("the market data can't be followed: {why}");
            return self.fail(why);
        }
        if let Some(want) = self.stages.logic.wants() {
            self.wanted_at_ns = now_ns;
            self.ask(Request::Feed(want));
        }
    }

    /// Another exchange was found then; `knows_clock`: its stamps can be compared with ours.
    pub(crate) fn follow_anew(&mut self, now_ns: u64, knows_clock: bool) {
        if !knows_clock {
            self.intended_from_ns = None;
        }
        self.stages.logic.change_exchange();
        self.stages.trades = true;
        self.course.lose(now_ns);
        self.wanted_at_ns = 0;
    }

    /// The connection is of no use any more. That ends the run, unless it can go on elsewhere.
    #[cold]
    pub(super) fn lose(&mut self, why: String) {
        let addresses = self.parts.addresses.as_mut();
        if let Some(addresses) = addresses.filter(|_| self.failure.is_none()) {
            addresses.lose(self.course.is_flowing());
            return self.fail(why);
        }
        // An exchange that ends says so to clients of FIX, and closes other connections at once.
        match self.parts.feeds_end(&mut self.datagram) {
            Some(feeds) => self.fail(format!("{why}; {feeds}")),
            None => self.fail(why),
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }
}
