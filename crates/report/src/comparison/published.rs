//! Figures that others have published about stacks below the kernel: context for a verdict, never
//! ours. They are of other machines and other messages.

use crate::comparison::table::arms;
use record::comparison::Comparison;

/// Settings by which a treatment is known to be below the kernel.
const BELOW: [&str; 2] = ["=af_xdp", "=dpdk"];
/// The figures with their sources.
const PUBLISHED: [&str; 2] = [
    "ENA, in a cluster placement group (c7i.xlarge, 10 000 requests/s over UDP): round trip over \
     AF_XDP p50 32 us, p99 37 us. A relay of two hops (m8a.2xlarge, 64 bytes, 100 000/s), one way: \
     33 us over AF_XDP in copy mode, 48 us over the kernel's sockets (AWS's \
     trading-latency-benchmark, its networking_benchmarks/af_xdp)",
    "physical cards: AF_XDP round trip 6.5 us (Mellanox) and 9.7 us (Intel), arXiv:2402.10513",
];

/// The published figures, if a treatment is below the kernel.
pub(super) fn beside(comparison: &Comparison) -> Vec<String> {
    let names = arms(comparison).map(|(_, arm)| arm.name.as_str());
    let mut names = names.chain(comparison.not_run.iter().map(|missing| missing.name.as_str()));
    if !names.any(|name| BELOW.iter().any(|setting| name.contains(setting))) {
        return Vec::new();
    }
    let said = |text: &&str| format!("published, not measured here: {text}");
    PUBLISHED.iter().map(said).collect()
}
