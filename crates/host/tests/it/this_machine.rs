//! Tests on the real machine. Threads that change themselves are started for the purpose, so that
//! no test changes another's thread.

use std::thread as std_thread;

use clock::Clock;
use host::thread::{Usage, allowed, current_core, current_scheduling, pin};
use host::thread::{run_on, set_scheduling, usage};
use host::topology::{CORES_MAX, parse_core_list};
use host::{Cores, Root, Scheduling, Topology, capture, probe};
use record::machine::Machine;

fn in_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std_thread::spawn(work).join().unwrap()
}

#[test]
fn the_allowed_cores_are_those_of_the_kernels_own_record() {
    let status = Root::system().read("proc/thread-self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert_eq!(Some(allowed().unwrap()), parse_core_list(list));
}

#[test]
fn a_pinned_thread_runs_on_its_core_and_no_other() {
    for core in allowed().unwrap() {
        in_a_thread(move || {
            pin(core).unwrap();
            assert_eq!(current_core(), Some(core));
            assert_eq!(allowed().unwrap(), [core]);
        });
    }
}

#[test]
fn a_thread_can_be_kept_to_some_cores_and_let_go_again() {
    in_a_thread(|| {
        let before = allowed().unwrap();
        let some = &before[before.len() / 2..];
        run_on(some).unwrap();
        assert_eq!(allowed().unwrap(), some);
        for wrong in [&[][..], &[CORES_MAX - 1], &[CORES_MAX], &[usize::MAX]] {
            let error = run_on(wrong).unwrap_err().to_string();
            assert!(error.contains("cannot move a thread to cores"), "{error}");
            assert_eq!(allowed().unwrap(), some, "a rejected mask changes nothing");
        }
        run_on(&before).unwrap();
        assert_eq!(allowed().unwrap(), before);
    });
}

#[test]
fn a_core_that_is_not_there_is_an_error_that_teaches() {
    for core in [CORES_MAX - 1, CORES_MAX, usize::MAX] {
        let before = allowed().unwrap();
        let error = pin(core).unwrap_err().to_string();
        assert!(error.contains(&format!("core {core}")), "{error}");
        assert!(error.contains("online are cores"), "{error}");
        assert_eq!(allowed().unwrap(), before, "a rejected pinning changes nothing");
    }
}

#[test]
fn a_scheduling_class_is_set_or_rejected_with_advice() {
    in_a_thread(|| {
        assert_eq!(current_scheduling().unwrap(), Scheduling::Other);
        for wanted in [Scheduling::Fifo(3), Scheduling::RoundRobin(2), Scheduling::Other] {
            match set_scheduling(wanted) {
                Ok(()) => assert_eq!(current_scheduling().unwrap(), wanted),
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains("CAP_SYS_NICE"), "{error}");
                    assert!(error.contains("ulimit -r"), "{error}");
                    assert_eq!(current_scheduling().unwrap(), Scheduling::Other);
                }
            }
        }
        assert!(set_scheduling(Scheduling::Fifo(100)).is_err());
        assert!(set_scheduling(Scheduling::RoundRobin(0)).is_err());
        assert_eq!(current_scheduling().unwrap(), Scheduling::Other);
    });
}

#[test]
fn usage_counts_waiting_and_faults_of_this_thread() {
    in_a_thread(|| {
        let before = usage();
        std_thread::sleep(std::time::Duration::from_millis(1));
        let pages = vec![1_u8; 4 << 20];
        std::hint::black_box(&pages);
        let used = usage().since(before);
        assert!(used.context_switches_voluntary >= 1, "{used:?}");
        assert!(used.page_faults_minor >= 1, "{used:?}");
        assert_eq!(before.since(usage()), Usage { page_faults_major: 0, ..Usage::default() });
    });
}

#[test]
fn automatic_placement_can_be_pinned_to() {
    let (topology, allowed) = (Topology::read(&Root::system()), allowed().unwrap());
    for wanted in [1, 2, 3, allowed.len() + 1] {
        let placement = Cores::Auto.place(&topology, &allowed, wanted).unwrap();
        assert_eq!(placement.cores.len(), wanted);
        for core in placement.cores {
            in_a_thread(move || pin(core).unwrap());
        }
    }
}

#[test]
fn a_second_capture_finds_the_same_machine() {
    let clock = Clock::calibrate();
    let first = capture(&Root::system(), &clock, None);
    let second = capture(&Root::system(), &clock, None);
    assert_eq!(first.fixed, second.fixed);
    assert!(first.fixed.kernel_release.is_some());
    assert!(first.fixed.cores_online.is_some_and(|cores| !cores.is_empty()));
    assert_eq!(record::machine::differences(&second, &second, 1.0), Vec::<String>::new());
    let machine = Machine { before: second, after: None };
    let text = serde_json::to_string(&machine).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
}

/// Two cores that this process may use, or `None` with a message.
fn two_cores() -> Option<(usize, usize)> {
    match allowed().unwrap()[..] {
        [first, second, ..] => Some((first, second)),
        _ => {
            testing::skipped(testing::Need::Cores, format_args!("needs two cores"));
            None
        }
    }
}

#[test]
fn probes_measure_or_say_why_not() {
    let Some(cores) = two_cores() else { return };
    let probes = probe::run(&Clock::calibrate(), Some(cores));
    eprintln!("{probes:?}");
    let values = [probes.cache_line_round_trip_ns_p50, probes.blocking_round_trip_ns_p50];
    let missing = values.iter().filter(|value| value.is_none()).count();
    assert_eq!(probes.missing_because.len(), missing, "{probes:?}");
    assert!(values.iter().flatten().all(|&ns| ns > 0), "{probes:?}");
}

#[test]
fn a_core_that_is_not_there_is_said_by_the_probes() {
    let core = allowed().unwrap()[0];
    for cores in [(core, CORES_MAX - 1), (CORES_MAX - 1, core)] {
        // On a busy machine the other thread may be late first, and its error be reported; this
        // happened with two compilers running.
        let is_told = |_: &u32| {
            let probes = probe::run(&Clock::calibrate(), Some(cores));
            assert_eq!(probes.cache_line_round_trip_ns_p50, None);
            assert_eq!(probes.blocking_round_trip_ns_p50, None);
            assert_eq!(probes.missing_because.len(), 2, "{probes:?}");
            let pin = "cannot pin a thread to core 8191";
            probes.missing_because.iter().all(|reason| reason.contains(pin))
        };
        assert!((0..20).any(|attempt| is_told(&attempt)));
    }
    assert_eq!(probe::run(&Clock::calibrate(), Some((core, core))).missing_because.len(), 1);
}
