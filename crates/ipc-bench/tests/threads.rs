//! Every structure with real threads: each message arrives once, in order, and is recorded.

use clock::Clock;
use clock::schedule::Arrival;
use host::Scheduling;
use ipc_bench::report::ClientReport;
use ipc_bench::samples::{self, Sample};
use ipc_bench::{IpcBenchError, Link, run};
use plan::process::ipc::STRUCTURES;
use plan::process::ipc::{IpcEnds, IpcPlan, Ready, Word};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock, mpsc};

fn plan(structure: &str, directory: &Path) -> IpcPlan {
    let files = directory.join(structure);
    std::fs::create_dir(&files).unwrap();
    IpcPlan {
        subject: structure.to_owned(),
        structure: structure.to_owned(),
        message_bytes: 64,
        // A distributor's slots are those of each key.
        slots: if structure == "distributor" { 4 } else { 1024 },
        keys: 3,
        block_bytes: 1 << 20,
        rate_per_second: 50_000.0,
        arrival: Arrival::Uniform,
        burst: 1,
        seed: 1,
        warm_up_messages: 1_000,
        messages: 20_000,
        cores: [None, None],
        scheduling: Scheduling::Other,
        directory: files.display().to_string(),
        samples: directory.join(format!("{structure}.samples")).display().to_string(),
        ends: IpcEnds::Both,
        clock: None,
    }
}

fn told(
    plan: &IpcPlan,
    stop: &AtomicBool,
    ready: &mut dyn FnMut(&Ready) -> Option<Word>,
) -> Result<ClientReport, IpcBenchError> {
    run(plan, &mut Link { ready, stop, all_sent: &AtomicBool::new(false) })
}

fn carried_out(plan: &IpcPlan) -> Result<ClientReport, IpcBenchError> {
    let mut threads = None;
    let told = told(plan, &AtomicBool::new(false), &mut |ready| {
        threads = Some(ready.threads.clone());
        Some(Word::Go)
    });
    let Some(threads): Option<Vec<i32>> = threads else { panic!("it was never ready: {told:?}") };
    assert!(threads[0] > 0 && threads[1] > 0 && threads[0] != threads[1], "{threads:?}");
    told
}

#[test]
fn what_is_sent_comes_once_and_is_written_down() {
    let directory = tempfile::tempdir().unwrap();
    for structure in STRUCTURES {
        let plan = plan(structure.name, directory.path());
        let told = carried_out(&plan).unwrap();
        let name = structure.name;
        assert!(told.complete, "{name}: {told:?}");
        assert_eq!(told.sent, plan.messages, "{name}");
        assert_eq!((told.lost, told.duplicated, told.out_of_order), (0, 0, 0), "{name}");
        assert_eq!(told.received + told.conflated, told.sent, "{name}: {told:?}");
        let samples = samples::read(Path::new(&plan.samples), plan.messages).unwrap();
        let came = samples.iter().filter(|sample| **sample != Sample::NEVER).count();
        assert_eq!(came as u64, told.received, "{name}");
        assert!(samples.iter().all(|one| one.service_ns <= one.response_ns), "{name}");
        let lasted_ns = told.end_monotonic_ns - told.start_monotonic_ns;
        assert!(lasted_ns >= 399_000_000, "{name}: 20 000 messages at 50 000/s in {lasted_ns} ns");
    }
}

/// The two ends as in two processes: each opens the structure itself. They share only its files,
/// the clock, and the commands of the parent process.
#[test]
fn ends_that_are_apart_carry_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::calibrate();
    for structure in STRUCTURES.iter().filter(|one| one.between_processes) {
        let name = structure.name;
        let plan = IpcPlan { clock: Some(clock), ..plan(name, directory.path()) };
        let both = Barrier::new(2);
        let start_ns = OnceLock::new();
        let all_sent = AtomicBool::new(false);
        let never = AtomicBool::new(false);
        let ready = |ready: &Ready| {
            assert_eq!(ready.threads.len(), 1, "{name}");
            both.wait();
            Some(Word::GoAt(*start_ns.get_or_init(|| clock.now_ns() + 50_000_000)))
        };
        let (sent, received) = std::thread::scope(|scope| {
            // It makes the structure before it is ready; only then the consumer starts.
            let (made, is_made) = mpsc::channel();
            let (plan, ready, never, all_sent) = (&plan, &ready, &never, &all_sent);
            let sending = scope.spawn(move || {
                let plan = IpcPlan { ends: IpcEnds::Producer, ..plan.clone() };
                let mut ready = |threads: &Ready| {
                    made.send(()).unwrap();
                    ready(threads)
                };
                let sent = told(&plan, never, &mut ready);
                all_sent.store(true, Ordering::Release);
                sent.unwrap()
            });
            is_made.recv().unwrap();
            let plan = IpcPlan { ends: IpcEnds::Consumer, ..plan.clone() };
            let mut ready = ready;
            let received = run(&plan, &mut Link { ready: &mut ready, stop: never, all_sent });
            (sending.join().unwrap(), received.unwrap())
        });
        assert_eq!((sent.received, received.sent), (0, 0), "{name}");
        let told = ClientReport::joined(sent, received);
        assert!(told.complete, "{name}: {told:?}");
        assert_eq!((told.sent, told.lost, told.duplicated), (plan.messages, 0, 0), "{name}");
        assert_eq!(told.received + told.conflated, told.sent, "{name}: {told:?}");
        let samples = samples::read(Path::new(&plan.samples), plan.messages).unwrap();
        let came = samples.iter().filter(|sample| **sample != Sample::NEVER).count();
        assert_eq!(came as u64, told.received, "{name}");
        // Detects a second between two clocks, and a message read before it was sent.
        assert!(samples.iter().all(|one| one.service_ns <= one.response_ns), "{name}");
        assert!(told.end_monotonic_ns > told.start_monotonic_ns, "{name}: {told:?}");
    }
}

/// Both get a start time of another clock.
#[test]
fn a_start_far_away_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan("ring", directory.path());
    let far = |_: &Ready| Some(Word::GoAt(u64::MAX));
    let result = told(&plan, &AtomicBool::new(false), &mut { far });
    assert!(matches!(result, Err(IpcBenchError::Start { ns: u64::MAX, .. })), "{result:?}");
}

/// A ring of two slots and bursts of 50: the producer waits for room, and the wait is part of the
/// response time.
#[test]
fn who_waits_for_room_is_counted_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let plan =
        IpcPlan { slots: 2, arrival: Arrival::Burst, burst: 50, ..plan("rtrb", directory.path()) };
    let told = carried_out(&plan).unwrap();
    assert!(told.complete);
    assert!(told.held_back > 0, "{told:?}");
    assert_eq!(told.received, told.sent);
}

#[test]
fn a_run_that_is_stopped_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let plan = IpcPlan { rate_per_second: 1_000.0, ..plan("rtrb", directory.path()) };
    let stop = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            stop.store(true, Ordering::Relaxed);
        });
        told(&plan, &stop, &mut |_| Some(Word::Go)).unwrap()
    });
    assert!(!told.complete && told.sent < plan.messages && told.sent > 0, "{told:?}");
    assert!(told.failures[0].contains("it ended after"), "{:?}", told.failures);
    assert_eq!(told.received, told.sent);
}

#[test]
fn who_is_not_told_to_start_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan("rtrb", directory.path());
    let result = told(&plan, &AtomicBool::new(false), &mut |_| None);
    assert!(matches!(result, Err(IpcBenchError::Interrupted)), "{result:?}");
}

#[test]
fn an_impossible_plan_is_rejected_with_the_possible_values() {
    let directory = tempfile::tempdir().unwrap();
    let good = plan("rtrb", directory.path());
    let go = &mut |_: &Ready| Some(Word::Go);
    let mut error =
        |plan: IpcPlan| told(&plan, &AtomicBool::new(false), go).unwrap_err().to_string();
    let unknown = error(IpcPlan { structure: "carrier-pigeon".to_owned(), ..good.clone() });
    assert!(unknown.contains("carrier-pigeon") && unknown.contains("rtrb"), "{unknown}");
    let length = error(IpcPlan { message_bytes: 100, ..good.clone() });
    assert!(length.contains("256"), "{length}");
    let short = error(IpcPlan { message_bytes: 8, ..good.clone() });
    assert!(short.contains("16 to 4096"), "{short}");
    let many = error(IpcPlan { messages: u64::MAX, ..good.clone() });
    assert!(many.contains("more runs"), "{many}");
    let apart = error(IpcPlan { ends: IpcEnds::Consumer, ..good.clone() });
    assert!(apart.contains("one process's memory") && apart.contains("ring, "), "{apart}");
    let core = error(IpcPlan { cores: [Some(8191), None], ..good });
    assert!(core.contains("8191"), "{core}");
}
