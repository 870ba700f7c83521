use super::*;
use crate::trace::catalog::tests::{formats, raw};
use crate::trace::catalog::tracepoints;
use expect_test::{Expect, expect};
use proptest::prelude::*;

const SPINNER: i32 = 7;

/// Records of one core as the kernel writes them.
#[derive(Default)]
struct Log(Vec<u8>);

impl Log {
    fn record(&mut self, kind: u32, body: &[u8]) {
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(0u16.to_ne_bytes());
        self.0.extend((8 + body.len() as u16).to_ne_bytes());
        self.0.extend(body);
    }

    fn sample(mut self, at_ns: u64, raw: &[u8]) -> Log {
        let length = (raw.len() as u32).to_ne_bytes();
        self.record(9, &[&at_ns.to_ne_bytes()[..], &length, raw].concat());
        self
    }

    fn event(self, at_ns: u64, id: u16) -> Log {
        self.sample(at_ns, &raw(id, &[]))
    }

    fn work(self, at_ns: u64) -> Log {
        self.sample(at_ns, &raw(12, &[(16, &0xabcd_u64.to_ne_bytes())]))
    }

    fn lost(mut self, at_ns: u64, count: u64) -> Log {
        let body = [1, count, at_ns].map(u64::to_ne_bytes).concat();
        self.record(2, &body);
        self
    }

    /// From one thread to another: number, name, priority; the first waits for `state`.
    fn switch(self, at_ns: u64, prev: (u8, &str, u8), state: u8, next: (u8, &str, u8)) -> Log {
        let values: [(usize, &[u8]); 7] = [
            (8, prev.1.as_bytes()),
            (24, &[prev.0]),
            (28, &[prev.2]),
            (32, &[state]),
            (40, next.1.as_bytes()),
            (56, &[next.0]),
            (60, &[next.2]),
        ];
        self.sample(at_ns, &raw(14, &values))
    }

    fn told(&self, has_fair_server: bool, causes: &mut Causes) -> CoreSpans {
        let catalog = Catalog::of(&tracepoints(&formats()));
        let setting = Setting { own: SPINNER, has_fair_server };
        spans(&self.0, 100, &catalog, setting, causes)
    }

    fn check(&self, has_fair_server: bool, expected: Expect) {
        let mut causes = Causes::default();
        let told = self.told(has_fair_server, &mut causes);
        let ids = causes.ids("000000000000abcd t vmstat_update");
        let line = |span: &Span| {
            let end = match span.end_ns {
                u64::MAX => "?".to_owned(),
                end => end.to_string(),
            };
            let all = if span.covers_all { " (covers all)" } else { "" };
            format!("{}-{end} {}{all}", span.start_ns, ids[span.cause.index()])
        };
        let lines: Vec<String> = told.spans.iter().map(line).collect();
        expected.assert_eq(&lines.join("\n"));
    }
}

const ME: (u8, &str, u8) = (SPINNER as u8, "spin", 120);
const ME_REAL_TIME: (u8, &str, u8) = (SPINNER as u8, "spin", 49);
const WORKER: (u8, &str, u8) = (9, "kworker/1:0", 120);
const OTHER: (u8, &str, u8) = (11, "cargo", 120);
const IDLE_THREAD: (u8, &str, u8) = (0, "swapper/1", 120);

#[test]
fn interrupts_nest_and_an_exit_without_entry_is_nothing() {
    let timer = raw(10, &[(16, &0xabcd_u64.to_ne_bytes())]);
    let net_rx = raw(8, &[(8, &[3])]);
    Log::default()
        .event(150, 2)
        .event(200, 1)
        .sample(210, &timer)
        .event(220, 11)
        .event(230, 2)
        .sample(240, &net_rx)
        .event(300, 9)
        .event(310, 0)
        .check(
            true,
            expect![[r#"
                200-230 irq_vector.local_timer
                210-220 hrtimer.vmstat_update
                240-300 softirq.net_rx
                310-? page_fault"#]],
        );
}

#[test]
fn another_thread_has_the_core_until_ours_is_back() {
    Log::default()
        .switch(200, ME, 0, WORKER)
        .work(210)
        .event(220, 0)
        .switch(250, WORKER, 2, OTHER)
        .switch(300, OTHER, 0, WORKER)
        .event(330, 13)
        .switch(340, WORKER, 1, ME)
        .check(
            true,
            expect![[r#"
                200-250 thread.kworker
                210-250 workqueue.vmstat_update
                250-300 thread.cargo
                300-340 thread.kworker
                300-330 workqueue.vmstat_update"#]],
        );
}

#[test]
fn who_ran_before_we_looked_is_known_when_he_stops() {
    Log::default().switch(200, OTHER, 1, ME).check(true, expect!["100-200 thread.cargo"]);
}

#[test]
fn limits_of_the_scheduler_are_told_apart() {
    let throttled = Log::default()
        .switch(200, ME_REAL_TIME, 0, OTHER)
        .switch(300, OTHER, 0, WORKER)
        .work(310)
        .event(320, 13)
        .switch(400, WORKER, 1, ME_REAL_TIME);
    throttled.check(
        true,
        expect![[r#"
            200-400 fair_server (covers all)
            300-400 thread.kworker
            310-320 workqueue.vmstat_update"#]],
    );
    throttled.check(
        false,
        expect![[r#"
            200-400 rt_throttling (covers all)
            300-400 thread.kworker
            310-320 workqueue.vmstat_update"#]],
    );
    let idle = |me| Log::default().switch(200, me, 0, IDLE_THREAD).switch(300, IDLE_THREAD, 0, me);
    idle(ME_REAL_TIME).check(true, expect!["200-300 rt_throttling (covers all)"]);
    idle(ME).check(true, expect!["200-300 cgroup_quota (covers all)"]);
    Log::default()
        .switch(200, ME, 1, IDLE_THREAD)
        .switch(300, IDLE_THREAD, 0, ME)
        .check(true, expect!["200-300 blocked (covers all)"]);
    // A core that no thread wants is taken by none.
    Log::default()
        .switch(200, IDLE_THREAD, 0, OTHER)
        .switch(300, OTHER, 1, IDLE_THREAD)
        .switch(400, IDLE_THREAD, 0, ME)
        .check(true, expect!["200-300 thread.cargo"]);
    // A thread of a higher real-time priority is just another thread.
    Log::default()
        .switch(200, ME_REAL_TIME, 0, (3, "migration/1", 0))
        .switch(300, (3, "migration/1", 0), 1, ME_REAL_TIME)
        .check(true, expect!["200-300 thread.migration"]);
}

#[test]
fn where_records_are_lost_nothing_is_claimed() {
    let log = Log::default()
        .event(200, 1)
        .switch(210, ME, 0, OTHER)
        .lost(500, 12)
        .event(510, 2)
        .switch(600, WORKER, 1, ME);
    log.check(
        true,
        expect![[r#"
            200-210 irq_vector.local_timer
            210-500 untraced
            210-210 thread.cargo
            500-600 thread.kworker"#]],
    );
    assert_eq!(log.told(true, &mut Causes::default()).lost, 12);
}

proptest! {
    /// For records in any order: spans end after they begin, and are nested or disjoint.
    #[test]
    fn spans_nest(steps in proptest::collection::vec((1u64..50, 0usize..9), 0..60)) {
        let (mut log, mut at_ns) = (Log::default(), 100);
        for (pause, what) in steps {
            at_ns += pause;
            log = match what {
                0 => log.event(at_ns, 1),
                1 => log.event(at_ns, 2),
                2 => log.sample(at_ns, &raw(8, &[(8, &[3])])),
                3 => log.event(at_ns, 9),
                4 => log.work(at_ns),
                5 => log.event(at_ns, 13),
                6 => log.switch(at_ns, ME, 0, WORKER),
                7 => log.switch(at_ns, WORKER, 0, ME),
                _ => log.lost(at_ns, 1),
            };
        }
        let told = log.told(true, &mut Causes::default());
        for (number, a) in told.spans.iter().enumerate() {
            prop_assert!(a.start_ns <= a.end_ns);
            for b in &told.spans[number + 1..] {
                let apart = b.start_ns >= a.end_ns;
                prop_assert!(apart || b.end_ns <= a.end_ns, "{a:?} {b:?}");
            }
        }
    }
}
