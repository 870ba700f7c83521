//! Processor time of both ends of a measurement, each a whole process with all of its threads.

use nix::time::ClockId;
use nix::unistd::Pid;
use std::time::Duration;

/// Reads how much processor time a process has used, user and system. A reading takes below a
/// microsecond, and needs no right.
#[derive(Clone, Copy, Debug)]
struct ProcessorClock(ClockId);

impl ProcessorClock {
    fn now(self) -> Option<Duration> {
        self.0.now().ok().map(Duration::from)
    }
}

/// Processor time since [`ProcessorMeter::start`].
#[derive(Clone, Copy, Debug)]
pub struct ProcessorMeter {
    own: ProcessorClock,
    other: Option<ProcessorClock>,
    started: [Option<Duration>; 2],
}

impl ProcessorMeter {
    /// A meter of this process and of `other`, a process of the same machine.
    pub fn new(other: Option<u32>) -> ProcessorMeter {
        let clock_of = |pid: u32| {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?);
            ClockId::pid_cpu_clock_id(pid).ok().map(ProcessorClock)
        };
        let mut meter = ProcessorMeter {
            own: ProcessorClock(ClockId::CLOCK_PROCESS_CPUTIME_ID),
            other: other.and_then(clock_of),
            started: [None; 2],
        };
        meter.start();
        meter
    }

    /// Begins anew.
    pub fn start(&mut self) {
        self.started = self.read();
    }

    /// Processor time of this process and of the other one, ns; `None` where it can't be told.
    pub fn used_ns(&self) -> [Option<u64>; 2] {
        let [own, other] = self.read();
        let since = |now: Option<Duration>, then: Option<Duration>| {
            Some(now?.saturating_sub(then?).as_nanos() as u64)
        };
        [since(own, self.started[0]), since(other, self.started[1])]
    }

    fn read(&self) -> [Option<Duration>; 2] {
        [self.own.now(), self.other.and_then(ProcessorClock::now)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::process::Command;
    use std::time::Instant;

    const BUSY: Duration = Duration::from_millis(100);

    fn spin() {
        let until = Instant::now() + BUSY;
        while Instant::now() < until {
            black_box(());
        }
    }

    /// Threads that ended count; a process that sleeps uses nothing.
    #[test]
    fn all_threads_of_a_process_count_and_sleep_does_not() {
        let mut sleeping = Command::new("sleep").arg("60").spawn().unwrap();
        let mut meter = ProcessorMeter::new(Some(sleeping.id()));
        // Its start takes long where programs are emulated, or beside other load.
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut is_asleep = false;
        while !is_asleep {
            assert!(Instant::now() < deadline, "it does not sleep");
            meter.start();
            std::thread::sleep(BUSY / 5);
            is_asleep = meter.used_ns()[1] == Some(0);
        }
        meter.start();
        std::thread::spawn(spin).join().unwrap();
        let [own, other] = meter.used_ns().map(Option::unwrap);
        // Beside other load the thread has its core for a part of the time.
        assert!(own > 1_000_000, "{own} ns");
        assert!(other < 10_000_000, "{other} ns");
        meter.start();
        let [again, _] = meter.used_ns().map(Option::unwrap);
        assert!(again < own, "{again} ns of {own} ns");
        sleeping.kill().unwrap();
        sleeping.wait().unwrap();
    }

    #[test]
    fn a_process_that_there_is_not_has_no_figure() {
        let mut ended = Command::new("true").spawn().unwrap();
        let pid = ended.id();
        ended.wait().unwrap();
        let [own, other] = ProcessorMeter::new(Some(pid)).used_ns();
        assert_eq!((own.is_some(), other), (true, None));
        assert_eq!(ProcessorMeter::new(None).used_ns()[1], None);
    }
}
