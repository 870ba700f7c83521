//! Scheduling classes as scenarios name them, and the consequences of a real-time class.

use std::fmt;
use std::str::FromStr;

use record::machine::FixedFacts;
use serde::{Deserialize, Serialize};

/// Lowest real-time priority on Linux.
pub const PRIORITY_MIN: u8 = 1;
/// Highest real-time priority on Linux.
pub const PRIORITY_MAX: u8 = 99;
/// The priority of `fifo` and `rr` without a number: just below the kernel's interrupt threads
/// (50), which deliver our packets.
pub const PRIORITY_DEFAULT: u8 = 49;

/// A thread's scheduling class. In scenarios `other`, `fifo:PRIORITY`, `rr:PRIORITY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scheduling {
    /// `SCHED_OTHER`: shares the core with every other thread.
    #[default]
    Other,
    /// `SCHED_FIFO` with a priority from [`PRIORITY_MIN`] to [`PRIORITY_MAX`]: runs until it blocks
    /// or a thread of higher priority is ready.
    Fifo(u8),
    /// `SCHED_RR`: as `Fifo`, but takes turns with threads of its priority.
    RoundRobin(u8),
}

/// Why a scheduling class is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadScheduling {
    /// The text is not a class.
    #[error(
        "\"{0}\" is not a scheduling class: write \"other\", \"fifo:PRIORITY\" or \"rr:PRIORITY\" with \
         a priority from {PRIORITY_MIN} to {PRIORITY_MAX}"
    )]
    Text(String),

    /// A real-time priority out of range.
    #[error("real-time priority {0} is out of range: use {PRIORITY_MIN} to {PRIORITY_MAX}")]
    Priority(u8),
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheduling::Other => write!(f, "other"),
            Scheduling::Fifo(priority) => write!(f, "fifo:{priority}"),
            Scheduling::RoundRobin(priority) => write!(f, "rr:{priority}"),
        }
    }
}

impl FromStr for Scheduling {
    type Err = BadScheduling;

    fn from_str(text: &str) -> Result<Scheduling, BadScheduling> {
        let unreadable = || BadScheduling::Text(text.to_owned());
        let (class, priority) = match text.split_once(':') {
            Some((class, priority)) => (class, Some(priority.parse().map_err(|_| unreadable())?)),
            None => (text, None),
        };
        let or_default = priority.unwrap_or(PRIORITY_DEFAULT);
        let scheduling = match (class, priority) {
            ("other", None) => Scheduling::Other,
            ("fifo", _) => Scheduling::Fifo(or_default),
            ("rr", _) => Scheduling::RoundRobin(or_default),
            _ => return Err(unreadable()),
        };
        scheduling.checked()
    }
}

impl TryFrom<String> for Scheduling {
    type Error = BadScheduling;

    fn try_from(text: String) -> Result<Scheduling, BadScheduling> {
        text.parse()
    }
}

impl From<Scheduling> for String {
    fn from(scheduling: Scheduling) -> String {
        scheduling.to_string()
    }
}

impl Scheduling {
    /// The priority of a real-time class.
    pub fn priority(self) -> Option<u8> {
        match self {
            Scheduling::Other => None,
            Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority) => Some(priority),
        }
    }

    /// Checks that its priority exists in Linux.
    pub(crate) fn checked(self) -> Result<Scheduling, BadScheduling> {
        match self.priority() {
            Some(priority) if !(PRIORITY_MIN..=PRIORITY_MAX).contains(&priority) => {
                Err(BadScheduling::Priority(priority))
            }
            _ => Ok(self),
        }
    }

    /// Effects on the figures of a spinning thread of this class on this machine, one or two
    /// sentences each.
    ///
    /// Until Linux 6.11, the kernel throttles real-time threads to `sched_rt_runtime_us` of each
    /// period. Since 6.12 it does so only with `CONFIG_RT_GROUP_SCHED`; instead the fair server
    /// gives waiting threads of other classes 50 ms a second, for any value of that setting.
    pub fn warnings(self, fixed: &FixedFacts) -> Vec<String> {
        let mut warnings = Vec::new();
        if self == Scheduling::Other {
            return warnings;
        }
        let has_fair_server = fixed.kernel_release.as_deref().is_some_and(has_fair_server);
        if fixed.rt_runtime_us != Some(-1) && !has_fair_server {
            let setting = match (fixed.rt_runtime_us, fixed.rt_period_us) {
                (Some(runtime), Some(period)) => format!("is {runtime} of {period} us"),
                (Some(runtime), None) => format!("is {runtime} us"),
                (None, _) => "can't be read, 950000 of 1000000 us is usual".to_owned(),
            };
            warnings.push(format!(
                "scheduling {self} with RT throttling: kernel.sched_rt_runtime_us {setting}. For the \
                 run, use `sysctl -w kernel.sched_rt_runtime_us=-1`: the kernel stops a real-time \
                 thread that spins for the rest of each period, which shows as stalls of 37-50 ms \
                 in the tail."
            ));
        }
        if has_fair_server && fixed.fair_server_runtime_ns != Some(0) {
            warnings.push(format!(
                "scheduling {self} with the fair server of Linux 6.12 and later. Keep other threads \
                 off these cores (isolcpus), or write 0 to \
                 /sys/kernel/debug/sched/fair_server/cpuN/runtime for the run: a thread that waits \
                 for a core on which a real-time thread spins gets up to 50 ms of each second, \
                 which shows as stalls of 37-50 ms in the tail. kernel.sched_rt_runtime_us does \
                 not change that."
            ));
        }
        warnings
    }
}

/// Whether a kernel release is 6.12 or later, which have the fair server.
pub fn has_fair_server(release: &str) -> bool {
    release_numbers(release).is_some_and(|numbers| numbers >= (6, 12))
}

/// The first two numbers of a kernel release such as `6.8.0-45-generic`.
pub fn release_numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn is_read_as_scenarios_write_it() {
        assert_eq!("other".parse::<Scheduling>().unwrap(), Scheduling::Other);
        assert_eq!("fifo:80".parse::<Scheduling>().unwrap(), Scheduling::Fifo(80));
        assert_eq!("rr".parse::<Scheduling>().unwrap(), Scheduling::RoundRobin(PRIORITY_DEFAULT));
    }

    #[test]
    fn a_wrong_class_or_priority_says_what_to_write() {
        let error = "fast".parse::<Scheduling>().unwrap_err().to_string();
        expect![[r#""fast" is not a scheduling class: write "other", "fifo:PRIORITY" or "rr:PRIORITY" with a priority from 1 to 99"#]]
            .assert_eq(&error);
        let error = "fifo:0".parse::<Scheduling>().unwrap_err().to_string();
        expect!["real-time priority 0 is out of range: use 1 to 99"].assert_eq(&error);
        for text in ["", "other:3", "fifo:", "fifo:300", "fifo:-1", "FIFO", "fifo:1:2"] {
            assert!(text.parse::<Scheduling>().is_err(), "{text}");
        }
    }

    fn fixed(release: &str, rt_runtime_us: Option<i64>, fair: Option<u64>) -> FixedFacts {
        FixedFacts {
            kernel_release: Some(release.to_owned()),
            rt_runtime_us,
            rt_period_us: Some(1_000_000),
            fair_server_runtime_ns: fair,
            ..FixedFacts::default()
        }
    }

    #[test]
    fn real_time_meets_throttling_until_6_11() {
        let throttled = fixed("6.8.0-45-generic", Some(950_000), None);
        expect!["scheduling fifo:80 with RT throttling: kernel.sched_rt_runtime_us is 950000 of 1000000 us. For the run, use `sysctl -w kernel.sched_rt_runtime_us=-1`: the kernel stops a real-time thread that spins for the rest of each period, which shows as stalls of 37-50 ms in the tail."]
            .assert_eq(&Scheduling::Fifo(80).warnings(&throttled).join("\n"));
        assert_eq!(Scheduling::Other.warnings(&throttled), Vec::<String>::new());
        assert_eq!(Scheduling::RoundRobin(1).warnings(&throttled).len(), 1);
        let unlimited = fixed("6.8.0-45-generic", Some(-1), None);
        assert_eq!(Scheduling::Fifo(80).warnings(&unlimited), Vec::<String>::new());
        // An unreadable value counts as the usual one.
        assert_eq!(Scheduling::Fifo(80).warnings(&FixedFacts::default()).len(), 1);
    }

    #[test]
    fn real_time_meets_the_fair_server_from_6_12() {
        for runtime in [Some(950_000), Some(-1), None] {
            let warnings = Scheduling::Fifo(80).warnings(&fixed("6.12.3", runtime, None));
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains("fair server"), "{warnings:?}");
        }
        let off = fixed("7.0", Some(-1), Some(0));
        assert_eq!(Scheduling::Fifo(80).warnings(&off), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn written_and_read_again_is_the_same(class in 0..3, priority in PRIORITY_MIN..=PRIORITY_MAX) {
            let scheduling = match class {
                0 => Scheduling::Other,
                1 => Scheduling::Fifo(priority),
                _ => Scheduling::RoundRobin(priority),
            };
            prop_assert_eq!(scheduling.to_string().parse::<Scheduling>().unwrap(), scheduling);
        }
    }
}
