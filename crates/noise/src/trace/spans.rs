//! From the records of one core to spans, the times in which something had the core. Pure.

use crate::cause::{self, Cause, Causes};
use crate::trace::catalog::{Catalog, RecordMeaning, Switch, WorkKind, thread_cause};
use crate::trace::records::{Record, records};
use std::collections::HashMap;

/// One stretch of work on a core, ns on the timeline of the events. Spans of a core are nested or
/// disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub start_ns: u64,
    /// Its end; `u64::MAX` if unknown: then it ends with the gap.
    pub end_ns: u64,
    /// Its cause.
    pub cause: Cause,
    /// Its kind.
    pub kind: WorkKind,
    /// It passes its own time to the longest span of this kind in it.
    pub carries: Option<WorkKind>,
    /// Whether it takes all time of the spans in it: a thread that runs because another is
    /// throttled is not the cause.
    pub covers_all: bool,
}

/// The threads that own a core, and properties of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The thread that owns the core, by number: its own time is no span. A name would also fit
    /// other programs' threads.
    pub own: i32,
    /// Whether other threads get a share next to a real-time one.
    pub has_fair_server: bool,
}

/// The spans of a core's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreSpans {
    /// By start; of equal starts the outer first.
    pub spans: Vec<Span>,
    /// Records read.
    pub records: u64,
    /// Records lost because the ring was full.
    pub lost: u64,
}

/// Work that has begun.
#[derive(Clone, Copy, Debug)]
struct OpenSpan {
    /// Its pair of tracepoints; `None` for a thread.
    pair: Option<u16>,
    span: Span,
}

struct Reader<'a> {
    setting: Setting,
    causes: &'a mut Causes,
    /// Work that has begun and not ended, outermost first.
    open: Vec<OpenSpan>,
    /// Work of threads that are not running.
    suspended: HashMap<i32, Vec<OpenSpan>>,
    /// Start of the time in which everything is known.
    known_ns: u64,
    /// Since then a switch has told which thread runs.
    switch_seen: bool,
    told: CoreSpans,
}

/// Reads a core's records from `start_ns` on.
pub(crate) fn spans(
    bytes: &[u8],
    start_ns: u64,
    catalog: &Catalog,
    setting: Setting,
    causes: &mut Causes,
) -> CoreSpans {
    let mut reader = Reader {
        setting,
        causes,
        open: Vec::new(),
        suspended: HashMap::new(),
        known_ns: start_ns,
        switch_seen: false,
        told: CoreSpans::default(),
    };
    let mut last_ns = start_ns;
    for record in records(bytes) {
        reader.told.records += 1;
        match record {
            Record::Sample { at_ns, raw } => {
                if let Some(said) = catalog.said(raw, reader.causes) {
                    reader.hear(at_ns, said);
                }
                last_ns = at_ns;
            }
            Record::Lost { at_ns, count } => {
                reader.told.lost += count;
                reader.lose(last_ns, at_ns);
                last_ns = at_ns;
            }
            Record::Out { .. } | Record::In { .. } => {}
        }
    }
    reader.close_from(0, last_ns);
    let mut told = reader.told;
    told.spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.kind));
    told
}

impl Reader<'_> {
    fn hear(&mut self, at_ns: u64, said: RecordMeaning<'_>) {
        match said {
            RecordMeaning::Enter { pair, kind, cause, carries, has_end } => {
                let span = Span {
                    start_ns: at_ns,
                    end_ns: u64::MAX,
                    cause,
                    kind,
                    carries,
                    covers_all: false,
                };
                if has_end {
                    self.open.push(OpenSpan { pair: Some(pair), span });
                } else {
                    self.told.spans.push(span);
                }
            }
            RecordMeaning::Exit { pair } => {
                // An exit without an entry began before the records.
                if let Some(place) = self.open.iter().rposition(|open| open.pair == Some(pair)) {
                    self.close_from(place, at_ns);
                }
            }
            RecordMeaning::Fault => {
                // Work of another thread is part of that thread's time.
                if self.open.iter().all(|open| open.span.kind != WorkKind::Thread) {
                    let cause = self.causes.text(cause::PAGE_FAULT);
                    let span = self.span(at_ns, cause, WorkKind::Fault);
                    self.told.spans.push(span);
                }
            }
            RecordMeaning::Switch(switch) => self.switch(at_ns, switch),
        }
    }

    fn span(&self, start_ns: u64, cause: Cause, kind: WorkKind) -> Span {
        Span { start_ns, end_ns: u64::MAX, cause, kind, carries: None, covers_all: false }
    }

    /// Ends all open work from index `from` on.
    fn close_from(&mut self, from: usize, at_ns: u64) {
        for open in self.open.drain(from..) {
            self.told.spans.push(Span { end_ns: at_ns, ..open.span });
        }
    }

    /// Records are missing from `from_ns` to `to_ns`: open work may have ended anywhere in between.
    fn lose(&mut self, from_ns: u64, to_ns: u64) {
        self.close_from(0, from_ns);
        self.suspended.clear();
        let span = Span { end_ns: to_ns, ..self.span(from_ns, Causes::UNTRACED, WorkKind::Lost) };
        self.told.spans.push(span);
        (self.known_ns, self.switch_seen) = (to_ns, false);
    }

    fn switch(&mut self, at_ns: u64, switch: Switch<'_>) {
        let own = self.setting.own;
        let from_own = own == switch.prev;
        if !self.switch_seen && !from_own && switch.prev != IDLE {
            // It has been running since before the records.
            let (cause, carries) = thread_cause(switch.prev_name, self.causes);
            let span = self.span(self.known_ns, cause, WorkKind::Thread);
            self.told.spans.push(Span { end_ns: at_ns, carries, ..span });
        }
        self.switch_seen = true;
        let throttled = self.open.first().is_some_and(|open| open.span.covers_all);
        let keep = usize::from(throttled && own != switch.next);
        // Work continues with its thread; no interrupt can be open here.
        let work: Vec<OpenSpan> = self
            .open
            .iter()
            .skip(keep)
            .filter(|open| open.span.kind == WorkKind::Work)
            .copied()
            .collect();
        self.close_from(keep, at_ns);
        if !work.is_empty() {
            self.suspended.insert(switch.prev, work);
        }
        if own == switch.next {
            return;
        }
        if from_own && let Some(cause) = self.why_off(&switch) {
            let cause = self.causes.text(cause);
            let span = Span { covers_all: true, ..self.span(at_ns, cause, WorkKind::Thread) };
            self.open.push(OpenSpan { pair: None, span });
            return;
        }
        // An idle core has no cause.
        if switch.next == IDLE {
            return;
        }
        let (cause, carries) = thread_cause(switch.next_name, self.causes);
        let span = Span { carries, ..self.span(at_ns, cause, WorkKind::Thread) };
        self.open.push(OpenSpan { pair: None, span });
        for open in self.suspended.remove(&switch.next).unwrap_or_default() {
            self.open.push(OpenSpan { span: Span { start_ns: at_ns, ..open.span }, ..open });
        }
    }

    /// Why the thread is not running, if not simply because another one is.
    fn why_off(&self, switch: &Switch<'_>) -> Option<&'static str> {
        let real_time = |priority: i32| priority < REAL_TIME_BELOW;
        let limit = match self.setting.has_fair_server {
            true => cause::FAIR_SERVER,
            false => cause::RT_THROTTLING,
        };
        match (switch.prev_is_runnable, switch.next == IDLE) {
            (false, _) => Some(cause::BLOCKED),
            (true, true) if real_time(switch.prev_priority) => Some(cause::RT_THROTTLING),
            (true, true) => Some(cause::CGROUP_QUOTA),
            (true, false) if real_time(switch.prev_priority) => {
                (!real_time(switch.next_priority)).then_some(limit)
            }
            (true, false) => None,
        }
    }
}

/// The number of each core's idle thread.
const IDLE: i32 = 0;
/// Kernel priorities below this belong to real-time and deadline classes (`MAX_RT_PRIO`).
const REAL_TIME_BELOW: i32 = 100;

#[cfg(test)]
#[path = "spans_tests.rs"]
mod tests;
