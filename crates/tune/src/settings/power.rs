//! Frequency, idle states and the clock.

use record::doctor::Grade;

use super::{readings, rules, wishes};
use crate::goal::Profile;
use crate::setting::{BASE, Check, Risk, Scope, Setting, ValueBound, Wishes};

pub(super) static SETTINGS: [Setting; 10] = [
    Setting {
        id: "cpu.governor",
        tier: 1,
        wanted: "performance",
        why: "Where the frequency follows the load, the first messages after a pause run at a \
              lower one, and two runs at two.",
        cost: "Power and heat.",
        what_to_do: "cpupower frequency-set -g performance",
        source: "Documentation/admin-guide/pm/cpufreq.rst",
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        check: Some(Check {
            read: readings::governor,
            judge: rules::governor,
            absent: (
                Grade::Unknown,
                "the frequency is the hypervisor's or the firmware's: not seen from here",
            ),
        }),
        wishes: Wishes::Of(wishes::governor),
        ..BASE
    },
    Setting {
        id: "cpu.energy_preference",
        tier: 2,
        wanted: "performance",
        why: "Where the processor chooses its frequency, this says how eagerly; \
              balance_performance lets it fall between messages.",
        cost: "Power and heat.",
        what_to_do: "Write performance to energy_performance_preference of each measured core.",
        source: "Documentation/admin-guide/pm/intel_pstate.rst: energy_performance_preference",
        scope: Scope::Cores,
        profiles: &Profile::ALL,
        wishes: Wishes::Of(wishes::energy_preference),
        ..BASE
    },
    Setting {
        id: "cpu.min_frequency",
        tier: 2,
        wanted: "100",
        why: "The lowest P-state that the driver may ask for: anything below the highest is a \
              slower core after a pause.",
        cost: "Power and heat on all cores.",
        what_to_do: "Write 100 to /sys/devices/system/cpu/intel_pstate/min_perf_pct.",
        source: "Documentation/admin-guide/pm/intel_pstate.rst: min_perf_pct",
        profiles: &[Profile::TickToTrade, Profile::Measure],
        wishes: Wishes::File(
            "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
            ValueBound::Is("100"),
        ),
        ..BASE
    },
    Setting {
        id: "cpu.turbo",
        tier: 3,
        wanted: "off, where equal figures matter more than low ones",
        why: "The turbo frequency depends on the heat and on what other cores do: two runs run at \
              two frequencies.",
        cost: "A fifth to a third of the frequency.",
        what_to_do: "Write 1 to intel_pstate/no_turbo or 0 to cpufreq/boost.",
        source: "Documentation/admin-guide/pm/intel_pstate.rst: no_turbo; cpufreq.rst: boost",
        risk: Risk::Medium,
        wishes: Wishes::Of(wishes::turbo_off),
        ..BASE
    },
    Setting {
        id: "cpu.idle_states",
        tier: 1,
        wanted: "no state on the measured cores that takes more than 10 us to leave",
        why: "A thread that blocks is woken late by as much as its core takes to leave its idle \
              state, C6 100 us and more, and a halt under a hypervisor about as much. A spinning \
              thread is not affected.",
        cost: "Power and heat; less turbo for other cores.",
        what_to_do: "Boot with intel_idle.max_cstate=1 or idle=poll, disable the deep states in \
              cpuidle, or hold /dev/cpu_dma_latency open at 0 while measuring (not seen here).",
        source: "Documentation/admin-guide/pm/cpuidle.rst: disable",
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        check: Some(Check {
            read: readings::idle_states,
            judge: rules::idle_states,
            absent: (Grade::Unknown, "the kernel doesn't say how its cores idle"),
        }),
        wishes: Wishes::Of(wishes::idle_states),
        ..BASE
    },
    Setting {
        id: "cpu.resume_latency",
        tier: 1,
        wanted: "cores that never enter an idle state with a time to resume (file: n/a)",
        why: "Tells the idle governor to keep these cores out of every state that takes time to \
              leave; it works without a reboot and core by core.",
        cost: "Power and heat.",
        what_to_do: "Write `n/a` (no latency is accepted) to /sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us.",
        source: "Documentation/admin-guide/pm/cpuidle.rst: pm_qos_resume_latency_us",
        scope: Scope::Cores,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Of(wishes::resume_latency),
        ..BASE
    },
    Setting {
        id: "cpu.dma_latency",
        tier: 1,
        wanted: "0 us",
        why: "Keeps all cores out of every idle state that takes time to leave, without a reboot, \
              wherever cpuidle has states to choose from.",
        cost: "Power and heat on all cores, for as long as a process holds the file open.",
        what_to_do: "Hold /dev/cpu_dma_latency open with 0 in it; `tickpath tune apply` starts a \
              process that does.",
        source: "Documentation/power/pm_qos_interface.rst",
        conflicts: &["cpu.resume_latency"],
        profiles: &[Profile::Measure],
        wishes: Wishes::Of(wishes::dma_latency),
        ..BASE
    },
    Setting {
        id: "cpu.max_cstate",
        tier: 2,
        wanted: "C1 at most",
        why: "The driver registers no deep state at all, so nothing can enter one before a \
              service has disabled it.",
        cost: "Power and heat on all cores; a reboot.",
        what_to_do: "Boot with intel_idle.max_cstate=1 processor.max_cstate=1.",
        source: "Documentation/admin-guide/kernel-parameters.txt: intel_idle.max_cstate, \
              processor.max_cstate",
        wishes: Wishes::Boot(|_| {
            ["intel_idle.max_cstate=1", "processor.max_cstate=1"].map(str::to_owned).to_vec()
        }),
        ..BASE
    },
    Setting {
        id: "pcie.aspm",
        tier: 3,
        wanted: "performance",
        why: "A PCIe link that sleeps adds microseconds to the first packet after a pause.",
        cost: "Power.",
        what_to_do: "Write performance to /sys/module/pcie_aspm/parameters/policy.",
        source: "Documentation/admin-guide/kernel-parameters.txt: pcie_aspm",
        profiles: &[Profile::TickToTrade, Profile::Exchange],
        wishes: Wishes::Of(wishes::pcie_aspm),
        ..BASE
    },
    Setting {
        id: "clock.source",
        tier: 1,
        wanted: "tsc on x86-64, arch_sys_counter on aarch64",
        why: "Other sources cost a system call and up to some us a stamp, which is added to \
              everything that is measured with it.",
        cost: "None, where the kernel found the counter stable.",
        what_to_do: "If tsc is in available_clocksource, write it to current_clocksource, both in \
              /sys/devices/system/clocksource/clocksource0. If not, the kernel found it unstable: \
              see dmesg; tsc=reliable only if you know better.",
        source: "Documentation/timers/timekeeping.rst",
        risk: Risk::Medium,
        profiles: &Profile::ALL,
        check: Some(Check {
            read: readings::clock_source,
            judge: rules::clock_source,
            absent: (Grade::Unknown, "the kernel doesn't say"),
        }),
        wishes: Wishes::Of(wishes::clock_source),
        ..BASE
    },
];
