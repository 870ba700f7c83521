use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// Spans of a gap from 0: kind, begin and end in ns (an end of 0: unknown), id.
fn spans(list: &[(WorkKind, u64, u64, &str)], causes: &mut Causes) -> Vec<Span> {
    let mut spans: Vec<Span> = list
        .iter()
        .map(|&(kind, start_ns, end_ns, id)| Span {
            start_ns: 10_000 + start_ns,
            end_ns: if end_ns == 0 { u64::MAX } else { 10_000 + end_ns },
            cause: causes.text(id),
            kind,
            carries: match id {
                "irq_vector.local_timer" => Some(WorkKind::Hrtimer),
                "thread.kworker" => Some(WorkKind::Work),
                "thread.ksoftirqd" => Some(WorkKind::Softirq),
                _ => None,
            },
            covers_all: matches!(id, "fair_server" | "rt_throttling"),
        })
        .collect();
    spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.kind));
    spans
}

/// One gap of `length_ns`, its spans, and the expected parts.
#[track_caller]
fn check(length_ns: u64, list: &[(WorkKind, u64, u64, &str)], expected: Expect) {
    let mut causes = Causes::default();
    let spans = spans(list, &mut causes);
    let gap = Gap { start_ns: 10_000, end_ns: 10_000 + length_ns };
    let parts = attribute(&[gap], &spans);
    let ids = causes.ids("");
    let line = |part: &GapPart| format!("{} {}", ids[part.cause.index()], part.length_ns);
    expected.assert_eq(&parts[0].iter().map(line).collect::<Vec<_>>().join(", "));
}

#[test]
fn no_event_is_the_hosts() {
    check(500, &[], expect!["host 500"]);
    check(2_000_000, &[], expect!["host 2000000"]);
}

#[test]
fn the_timers_interrupt_is_the_timers_that_it_runs() {
    let timer = (WorkKind::Vector, 300, 2_000, "irq_vector.local_timer");
    check(2_500, &[timer], expect!["irq_vector.local_timer 2500"]);
    check(2_500, &[timer, (WorkKind::Hrtimer, 500, 900, "tick")], expect!["tick 2500"]);
    // Two timers: the interrupt's own time goes to the longer one.
    let two = [
        timer,
        (WorkKind::Hrtimer, 400, 800, "tick"),
        (WorkKind::Hrtimer, 900, 1_800, "hrtimer.hrtimer_wakeup"),
    ];
    check(2_500, &two, expect!["hrtimer.hrtimer_wakeup 2100, tick 400"]);
}

#[test]
fn deferred_work_is_told_apart_from_the_interrupt_before_it() {
    let spans = [
        (WorkKind::Irq, 300, 1_300, "irq.eth0"),
        (WorkKind::Softirq, 1_400, 9_400, "softirq.net_rx"),
    ];
    check(9_800, &spans, expect!["softirq.net_rx 8800, irq.eth0 1000"]);
}

#[test]
fn a_slice_of_another_thread_is_one_thing() {
    let spans = [
        (WorkKind::Vector, 300, 1_300, "irq_vector.local_timer"),
        (WorkKind::Thread, 2_000, 3_000_000, "thread.cargo"),
        (WorkKind::Vector, 1_000_000, 1_004_000, "irq_vector.local_timer"),
        (WorkKind::Hrtimer, 1_001_000, 1_002_000, "tick"),
    ];
    check(3_001_000, &spans, expect!["thread.cargo 3001000"]);
    // Two slices are two disturbances.
    let spans = [
        (WorkKind::Thread, 1_000, 1_000_000, "thread.cargo"),
        (WorkKind::Thread, 1_000_000, 3_000_000, "thread.rustc"),
    ];
    check(3_001_000, &spans, expect!["thread.rustc 2002000, thread.cargo 999000"]);
}

#[test]
fn a_worker_is_its_work_and_a_softirq_thread_its_softirq() {
    let spans = [
        (WorkKind::Thread, 1_000, 11_000, "thread.kworker"),
        (WorkKind::Work, 4_000, 7_000, "workqueue.vmstat_update"),
        (WorkKind::Vector, 8_000, 9_000, "irq_vector.reschedule"),
    ];
    check(12_000, &spans, expect!["workqueue.vmstat_update 12000"]);
    let spans = [
        (WorkKind::Thread, 1_000, 11_000, "thread.ksoftirqd"),
        (WorkKind::Softirq, 4_000, 7_000, "softirq.net_rx"),
        (WorkKind::Softirq, 7_100, 7_200, "softirq.rcu"),
    ];
    check(12_000, &spans, expect!["softirq.net_rx 12000"]);
}

#[test]
fn throttling_takes_what_happens_meanwhile() {
    let spans = [
        (WorkKind::Thread, 1_000, 50_000_000, "fair_server"),
        (WorkKind::Thread, 2_000, 49_000_000, "thread.kworker"),
        (WorkKind::Work, 3_000, 48_000_000, "workqueue.vmstat_update"),
    ];
    check(50_001_000, &spans, expect!["fair_server 50001000"]);
}

#[test]
fn little_that_is_seen_does_not_explain_much() {
    // An event of 1 us in a gap of 2 ms.
    let timer = (WorkKind::Vector, 1_000, 2_000, "irq_vector.local_timer");
    check(2_000_000, &[timer], expect!["host 2000000"]);
    // The way in and out: 3 us beside an event of 100 ns.
    let short = (WorkKind::Vector, 1_000, 1_100, "irq_vector.reschedule");
    check(3_100, &[short], expect!["irq_vector.reschedule 3100"]);
    check(3_300, &[short], expect!["host 3300"]);
    // Half of a long one each.
    let long = (WorkKind::Vector, 1_000, 21_000, "irq_vector.local_timer");
    check(45_000, &[long], expect!["host 25000, irq_vector.local_timer 20000"]);
}

/// Each interrupt of a virtual core begins about 10 us after the core has left the guest.
#[test]
fn what_each_interrupt_costs_below_is_the_interrupts() {
    let mut causes = Causes::default();
    let at = |number: u64| number * 1_000_000;
    let list: Vec<(WorkKind, u64, u64, &str)> = (0..30)
        .map(|number| {
            (WorkKind::Vector, at(number) + 10_000, at(number) + 12_000, "irq_vector.local_timer")
        })
        .chain([(WorkKind::Vector, at(30) + 200_000, at(30) + 202_000, "irq_vector.local_timer")])
        .collect();
    let spans = spans(&list, &mut causes);
    let gaps: Vec<Gap> = (0..31)
        .map(|number| Gap {
            start_ns: 10_000 + at(number),
            end_ns: 10_000 + at(number) + if number == 30 { 203_000 } else { 13_000 },
        })
        .collect();
    let parts = attribute(&gaps, &spans);
    let ids = causes.ids("");
    let line = |part: &GapPart| format!("{} {}", ids[part.cause.index()], part.length_ns);
    expect!["irq_vector.local_timer 13000"].assert_eq(&line(&parts[0][0]));
    assert_eq!(parts[0].len(), 1);
    // Once it took much longer, because the host was busy. 13 us of 203 are a small part.
    expect!["host 203000"].assert_eq(&line(&parts[30][0]));
}

#[test]
fn without_an_end_it_lasts_as_long_as_its_gap() {
    check(8_000, &[(WorkKind::Fault, 300, 0, "page_fault")], expect!["page_fault 8000"]);
    let spans = [
        (WorkKind::Fault, 300, 0, "page_fault"),
        (WorkKind::Vector, 4_000, 8_000, "irq_vector.local_timer"),
    ];
    check(8_500, &spans, expect!["page_fault 4500, irq_vector.local_timer 4000"]);
    // In another gap it has ended.
    let mut causes = Causes::default();
    let spans = spans_of_one_fault(&mut causes);
    let gaps = [(10_000, 11_000), (20_000, 21_000)];
    let gaps = gaps.map(|(start_ns, end_ns)| Gap { start_ns, end_ns });
    let parts = attribute(&gaps, &spans);
    assert_ne!(parts[0][0].cause, Causes::HOST);
    assert_eq!(parts[1], [GapPart { cause: Causes::HOST, length_ns: 1_000 }]);
}

fn spans_of_one_fault(causes: &mut Causes) -> Vec<Span> {
    spans(&[(WorkKind::Fault, 300, 0, "page_fault")], causes)
}

#[test]
fn where_records_were_lost_it_is_not_the_hosts() {
    let spans = [(WorkKind::Lost, 0, 4_000_000, "untraced")];
    check(1_000_000, &spans, expect!["untraced 1000000"]);
}

#[test]
fn timelines_that_agree_have_spans_in_gaps() {
    let mut causes = Causes::default();
    let list = [
        (WorkKind::Vector, 100, 900, "irq_vector.local_timer"),
        (WorkKind::Vector, 5_000, 5_800, "irq_vector.local_timer"),
        (WorkKind::Vector, 9_100, 9_900, "irq_vector.local_timer"),
    ];
    let spans = spans(&list, &mut causes);
    let gap =
        |start_ns: u64, end_ns: u64| Gap { start_ns: 10_000 + start_ns, end_ns: 10_000 + end_ns };
    let share = aligned_share(&[gap(0, 1_000), gap(9_000, 10_000)], &spans, 300);
    assert_eq!(share, Some(2.0 / 3.0));
    assert_eq!(aligned_share(&[], &spans, 300), None);
}

proptest! {
    /// The parts of each gap add up to it, for any spans.
    #[test]
    fn parts_add_up(
        gaps in proptest::collection::vec((1u64..5_000, 1u64..20_000), 0..20),
        list in proptest::collection::vec((0usize..6, 0u64..300_000, 0u64..30_000), 0..40),
    ) {
        let kinds = [WorkKind::Thread, WorkKind::Vector, WorkKind::Softirq, WorkKind::Hrtimer, WorkKind::Fault, WorkKind::Lost];
        let ids = ["thread.kworker", "irq_vector.local_timer", "softirq.net_rx", "tick", "page_fault", "untraced"];
        let list: Vec<(WorkKind, u64, u64, &str)> = list
            .into_iter()
            .map(|(kind, start, length)| {
                let end = if kind == 4 { 0 } else { start + length + 1 };
                (kinds[kind], start, end, ids[kind])
            })
            .collect();
        let spans = spans(&list, &mut Causes::default());
        let mut at_ns = 10_000;
        let gaps: Vec<Gap> = gaps
            .into_iter()
            .map(|(pause, length)| {
                let start_ns = at_ns + pause;
                at_ns = start_ns + length;
                Gap { start_ns, end_ns: at_ns }
            })
            .collect();
        let parts = attribute(&gaps, &spans);
        prop_assert_eq!(parts.len(), gaps.len());
        for (gap, parts) in gaps.iter().zip(parts) {
            prop_assert_eq!(parts.iter().map(|part| part.length_ns).sum::<u64>(), gap.length_ns());
            prop_assert!(parts.windows(2).all(|two| two[0].length_ns >= two[1].length_ns));
        }
    }
}
