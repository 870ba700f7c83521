//! A pause before each entrant. On a virtual machine with free page reporting the kernel returns
//! the memory of ended processes to the hypervisor, about two seconds later
//! (`mm/page_reporting.c`). The hypervisor unmaps it and stalls both cores meanwhile. Without a
//! pause that falls into the measured part of the next entrant, and a floor always follows a
//! subject.

use crate::launch::process::Interrupt;
use clock::Clock;
use host::Root;
use std::time::Duration;

/// Time between the end of an entrant and the measured part of the next: the kernel's delay, and
/// time to report some gigabytes.
const SETTLE_NS: u64 = 2_500_000_000;
/// The environment variable with other seconds: tests that judge no tail set 0.
const SECONDS: &str = "TICKPATH_SETTLE_SECONDS";
/// Interval at which a pause checks for an interrupt.
const LOOK: Duration = Duration::from_millis(20);
/// `VIRTIO_BALLOON_F_REPORTING`: position of its digit in a device's `features`.
const REPORTING_FEATURE: usize = 5;

/// When the last entrant ended, if that matters here.
pub(crate) struct Settle {
    clock: Clock,
    /// 0 where free memory is not reported.
    settle_ns: u64,
    ended_ns: Option<u64>,
}

impl Settle {
    pub(crate) fn new(root: &Root, clock: Clock) -> Settle {
        let settle_ns =
            if reports_free_pages(root) { asked_ns(std::env::var(SECONDS).ok()) } else { 0 };
        Settle { clock, settle_ns, ended_ns: None }
    }

    /// Notes that the processes of an entrant have ended.
    pub(crate) fn ended(&mut self) {
        self.ended_ns = Some(self.clock.now_ns());
    }

    /// Sleeps until an entrant with that warm-up may start.
    pub(crate) fn pause(&self, warm_up_seconds: f64, interrupt: &Interrupt) {
        let Some(ended_ns) = self.ended_ns else { return };
        let warm_up_ns = (warm_up_seconds * 1e9) as u64;
        let until_ns = ended_ns + self.settle_ns.saturating_sub(warm_up_ns);
        while !interrupt.is_set() {
            let left = until_ns.saturating_sub(self.clock.now_ns());
            if left == 0 {
                break;
            }
            std::thread::sleep(LOOK.min(Duration::from_nanos(left)));
        }
    }
}

/// The pause that the environment asks for; [`SETTLE_NS`] without a number of seconds.
fn asked_ns(seconds: Option<String>) -> u64 {
    let seconds = seconds.and_then(|text| text.parse::<f64>().ok());
    seconds.map_or(SETTLE_NS, |seconds| (seconds * 1e9) as u64)
}

/// Whether the kernel returns free memory to a hypervisor: a balloon device has negotiated it.
fn reports_free_pages(root: &Root) -> bool {
    let Ok(devices) = std::fs::read_dir(root.path("sys/bus/virtio/drivers/virtio_balloon")) else {
        return false;
    };
    devices.flatten().any(|device| {
        let features = std::fs::read(device.path().join("features")).unwrap_or_default();
        features.get(REPORTING_FEATURE) == Some(&b'1')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Without the pause the floor's p99 was up to 105 times the subject's.
    #[test]
    fn an_entrant_is_measured_only_after_free_memory_was_returned() {
        let machine = tempfile::tempdir().unwrap();
        let root = Root::at(machine.path());
        assert!(!reports_free_pages(&root), "no balloon");
        let device = machine.path().join("sys/bus/virtio/drivers/virtio_balloon/virtio0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("features"), "0110000100").unwrap();
        assert!(!reports_free_pages(&root), "a balloon that doesn't report");
        fs::write(device.join("features"), "0110010100").unwrap();
        assert!(reports_free_pages(&root));

        assert_eq!(asked_ns(None), SETTLE_NS);
        assert_eq!(asked_ns(Some("soon".to_owned())), SETTLE_NS);
        assert_eq!(asked_ns(Some("0.5".to_owned())), 500_000_000);

        let clock = Clock::calibrate();
        let mut settle = Settle::new(&root, clock);
        assert_eq!(settle.settle_ns, SETTLE_NS);
        let paused_ms = |settle: &Settle, warm_up_seconds| {
            let start_ns = clock.now_ns();
            settle.pause(warm_up_seconds, &Interrupt::default());
            (clock.now_ns() - start_ns) / 1_000_000
        };
        assert!(paused_ms(&settle, 0.0) < 100, "nothing ran before");
        settle.ended();
        assert!(paused_ms(&settle, 2.3) >= 190, "the warm-up counts");
        let interrupt = Interrupt::default();
        interrupt.interrupt();
        let start_ns = clock.now_ns();
        settle.pause(0.0, &interrupt);
        assert!(clock.now_ns() - start_ns < 1_000_000_000, "Ctrl-C ends it");
    }
}
