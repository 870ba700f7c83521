//! The catalogue: every setting of the operating system that affects the tail, as data. Every
//! inspection, plan and change uses it; `doctor` shows the judged ones.
//!
//! A row has the setting's purpose, cost and source, and how to write it. Values that depend on the
//! machine (its cores, its queues) are in `wishes`.
//!
//! Left out, and why: `transparent_hugepage/shmem_enabled` (nothing here maps shared memory with
//! huge pages), `kernel.sched_*_granularity` (gone since 6.6, and without effect on a core with
//! one thread), `net.ipv4.tcp_low_latency` (without effect since 4.14).
//!
//! See docs/decisions/006-noise-and-settings.md and docs/guide/tuning.md.

mod cores;
mod interrupts;
mod memory;
mod network;
mod nic;
mod power;
pub(crate) mod readings;
pub(crate) mod rules;
mod scheduler;
mod services;
mod storage;
pub(crate) mod wishes;

use crate::setting::Setting;

/// All of them, by area, the most important first in each.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    let areas: [&'static [Setting]; 9] = [
        &cores::SETTINGS,
        &interrupts::SETTINGS,
        &power::SETTINGS,
        &scheduler::SETTINGS,
        &memory::SETTINGS,
        &network::SETTINGS,
        &nic::SETTINGS,
        &storage::SETTINGS,
        &services::SETTINGS,
    ];
    areas.into_iter().flatten()
}

/// The setting with this id.
pub fn find(id: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_whole_and_has_its_own_name() {
        let mut ids = BTreeSet::new();
        for setting in all() {
            assert!(ids.insert(setting.id), "{} stands twice", setting.id);
            assert!((1..=3).contains(&setting.tier), "{}", setting.id);
            for text in
                [setting.wanted, setting.why, setting.cost, setting.what_to_do, setting.source]
            {
                let is_plain = text.trim() == text && !text.contains("  ");
                assert!(!text.is_empty() && is_plain, "{}: {text:?}", setting.id);
            }
            for other in setting.conflicts {
                assert!(find(other).is_some(), "{} conflicts with {other:?}", setting.id);
            }
        }
        assert!(find("no.such").is_none());
    }
}
