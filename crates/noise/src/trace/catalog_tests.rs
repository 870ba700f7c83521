use super::*;
use expect_test::expect;
use proptest::prelude::*;
use std::fmt::Write;

/// A format file: fields as `type name`, `offset` and `size`.
fn format(id: u64, fields: &[(&str, usize, usize)], print: &str) -> Format {
    let mut text = format!("ID: {id}\n");
    for (declaration, offset, size) in fields {
        writeln!(text, "\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:0;")
            .unwrap();
    }
    Format::parse(&format!("{text}print fmt: {print}\n")).unwrap()
}

/// Tracepoints of a small kernel.
pub(crate) fn formats() -> Formats {
    let plain = |id| format(id, &[], "");
    let softirq = "__print_symbolic(REC->vec, { 1, \"TIMER\" }, { 3, \"NET_RX\" })";
    let switch = [
        ("char prev_comm[16]", 8, 16),
        ("pid_t prev_pid", 24, 4),
        ("int prev_prio", 28, 4),
        ("long prev_state", 32, 8),
        ("char next_comm[16]", 40, 16),
        ("pid_t next_pid", 56, 4),
        ("int next_prio", 60, 4),
    ];
    let function = |id| format(id, &[("void * function", 16, 8)], "");
    [
        ("irq_vectors/local_timer_entry", plain(1)),
        ("irq_vectors/local_timer_exit", plain(2)),
        ("irq_vectors/irq_work_entry", plain(3)),
        ("irq_vectors/irq_work_exit", plain(4)),
        ("irq_vectors/vector_setup", plain(5)),
        ("irq/irq_handler_entry", format(6, &[("__data_loc char[] name", 12, 4)], "")),
        ("irq/irq_handler_exit", plain(7)),
        ("irq/softirq_entry", format(8, &[("unsigned int vec", 8, 4)], softirq)),
        ("irq/softirq_exit", plain(9)),
        ("timer/hrtimer_expire_entry", function(10)),
        ("timer/hrtimer_expire_exit", plain(11)),
        ("workqueue/workqueue_execute_start", function(12)),
        ("workqueue/workqueue_execute_end", plain(13)),
        ("sched/sched_switch", format(14, &switch, "")),
    ]
    .into_iter()
    .map(|(name, format)| (name.to_owned(), format))
    .collect()
}

/// A record of a tracepoint: its number, and values at offsets.
pub(crate) fn raw(id: u16, values: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..2].copy_from_slice(&id.to_ne_bytes());
    for (at, value) in values {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    bytes
}

#[test]
fn pairs_are_found_and_named_from_the_kernels_own_formats() {
    let opened = tracepoints(&formats());
    let names: Vec<&str> = opened.iter().map(|one| one.name.as_str()).collect();
    assert!(names.contains(&"irq_vectors/irq_work_exit"));
    // Neither a pair nor about the use of the core.
    assert!(!names.iter().any(|name| name.contains("vector_setup")));
    let names: Vec<_> =
        opened.into_iter().filter(|one| one.name != "irq_vectors/irq_work_exit").collect();
    let catalog = Catalog::of(&names);
    let mut causes = Causes::default();
    let name = 0x0005_0010u32.to_ne_bytes();
    let records = [
        raw(1, &[]),
        raw(3, &[]),
        raw(6, &[(12, &name), (16, b"eth0\0")]),
        raw(8, &[(8, &[3, 0, 0, 0])]),
        raw(8, &[(8, &[77, 0, 0, 0])]),
        raw(10, &[(16, &0xffff_8000_u64.to_ne_bytes())]),
    ];
    let mut text = String::new();
    for record in &records {
        let Some(RecordMeaning::Enter { kind, cause, carries, has_end, .. }) =
            catalog.said(record, &mut causes)
        else {
            panic!("{record:?}");
        };
        let id = &causes.ids("00000000ffff8000 T it_real_fn")[cause.index()];
        writeln!(text, "{id}: {kind:?}, carries {carries:?}, has an end: {has_end}").unwrap();
    }
    expect![[r#"
        irq_vector.local_timer: Vector, carries Some(Hrtimer), has an end: true
        irq_vector.irq_work: Vector, carries None, has an end: false
        irq.eth0: Irq, carries None, has an end: true
        softirq.net_rx: Softirq, carries None, has an end: true
        softirq.77: Softirq, carries None, has an end: true
        hrtimer.it_real_fn: Hrtimer, carries None, has an end: true
    "#]]
    .assert_eq(&text);
    assert_eq!(catalog.said(&raw(0, &[]), &mut causes), Some(RecordMeaning::Fault));
    assert_eq!(catalog.said(&raw(999, &[]), &mut causes), None);
}

#[test]
fn a_switch_says_who_and_why() {
    let catalog = Catalog::of(&tracepoints(&formats()));
    let mut causes = Causes::default();
    // Preempted: 0x100 is above the bits for the reason of a wait.
    let record = raw(
        14,
        &[
            (8, b"spin\0junk"),
            (24, &[7]),
            (28, &[49]),
            (32, &[0, 1]),
            (40, b"kworker/1:0\0"),
            (56, &[9]),
            (60, &[120]),
        ],
    );
    let expected = Switch {
        prev: 7,
        prev_name: "spin",
        prev_is_runnable: true,
        prev_priority: 49,
        next: 9,
        next_name: "kworker/1:0",
        next_priority: 120,
    };
    assert_eq!(catalog.said(&record, &mut causes), Some(RecordMeaning::Switch(expected)));
    assert_eq!(catalog.said(&record[..60], &mut causes), None);
}

proptest! {
    #[test]
    fn any_bytes_say_something_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..80), id in 0u16..16) {
        let catalog = Catalog::of(&tracepoints(&formats()));
        let mut record = bytes;
        if record.len() > 1 {
            record[..2].copy_from_slice(&id.to_ne_bytes());
        }
        let _ = catalog.said(&record, &mut Causes::default());
    }
}

#[test]
fn an_id_is_a_cause_or_is_not() {
    for id in [
        "tick",
        "host",
        "untraced",
        "ipi",
        "page_fault",
        "softirq.net_rx",
        "irq.eth0",
        "irq.NAME",
        "irq_vector.local_timer",
        "thread.NAME",
        "thread.kworker",
        "workqueue.FUNC",
        "tasklet.f",
        "hrtimer.f",
        "timer.f",
    ] {
        assert!(is_cause(id), "{id}");
    }
    for id in [
        "",
        "ticks",
        "softirq",
        "softirq.network",
        "irq",
        "irq.",
        "ipi.1",
        "thread.",
        "thread.kworker/1:0",
        "thread.kswapd0",
        "workqueues.f",
        "timer",
    ] {
        assert!(!is_cause(id), "{id}");
    }
    let carriers = CARRIERS.iter().map(|(id, _)| *id);
    assert!(carriers.into_iter().all(is_cause));
}
