//! The verdict about stacks that carry ticks below the kernel: whole processes in two namespaces;
//! needs root.

use crate::support::*;
use host::network::Networks;
use serde_json::Value;

/// Short parts, and a fault: the trader never sees every fiftieth datagram, whatever the stack.
const SETS: [&str; 5] = [
    "warm_up_seconds=0.1",
    "floor_seconds=0",
    "hiccup_seconds=0",
    "flow.rate_per_second=1k",
    "feed.inject.drop_every=50",
];
/// DPDK is asked for where this build lacks it.
const STACKS: &[&str] =
    if cfg!(feature = "dpdk") { &["spin", "af_xdp"] } else { &["spin", "af_xdp", "dpdk"] };

fn at_both_ends(backend: &str) -> String {
    format!("exchange.backend={backend} subject.rust.backend={backend}")
}

/// The kernel's sockets against AF_XDP, and DPDK, which this build may lack: each has its row, and
/// what did not arrive is counted.
#[test]
fn ticks_below_the_kernel_get_a_verdict() {
    if let Err(why) = Networks::create() {
        testing::skip!(Root, "{why}");
    }
    let assumption = "of 500 ticks twenty are answered in each run, so that it has a p50";
    testing::quiet::or_doubled(assumption, stacks_have_rows);
}

fn stacks_have_rows(factor: u32) -> Result<(), String> {
    let out = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["compare", "--scenario", "ticks-below-the-kernel", "--worth", "5%"]);
    command.args(["--pairs", "6", "--force", "--json", "--quiet", "--out"]).arg(out.path());
    let seconds = format!("seconds={}", 0.5 * f64::from(factor));
    for set in SETS.iter().chain([&seconds.as_str()]) {
        command.args(["--set", set]);
    }
    let done = command.args(STACKS.iter().map(|stack| at_both_ends(stack))).output().unwrap();
    let said = text(&done.stderr);
    testing::unless!(done.status.code() == Some(0), "{said}");
    let comparison: Value = serde_json::from_slice(&done.stdout).unwrap();
    for arm in ["a", "b"] {
        let cost = &comparison[arm]["cost"];
        testing::unless!(cost["missed"].is_u64(), "{cost}");
        assert!(cost["missed"].as_u64() > Some(0), "{cost}");
        assert!(cost["lost"].is_u64() && cost["packets_dropped"].is_u64(), "{cost}");
        for end in ["client_ns", "exchange_ns"] {
            assert!(cost["processor"][end].as_u64() > Some(0), "{cost}");
        }
    }
    if !cfg!(feature = "dpdk") {
        let missing = &comparison["not_run"][0];
        assert_eq!(missing["name"], at_both_ends("dpdk"), "{comparison:#}");
        let why = missing["why"].as_str().unwrap();
        assert!(why.contains("built without DPDK") && said.contains(why), "{why} in {said}");
    }
    let verdict = comparison["worth"]["verdict"].as_str().unwrap();
    assert!(["worth_it", "not_worth_it", "undecided"].contains(&verdict), "{comparison:#}");

    let directory = only_run(out.path()).display().to_string();
    let printed = text(&output(&["report", &directory]).stdout);
    let judged = printed.split_once("Does it save 5 % of A's tick_to_gateway response p50?");
    let Some((_, table)) = judged else { return Err(printed) };
    let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let verdict = verdict.replace('_', " ");
    assert!(row("A spin").contains("(baseline)") && row("B af_xdp").contains(&verdict), "{table}");
    assert_eq!(row("dpdk").contains("could not run"), !cfg!(feature = "dpdk"), "{table}");
    for words in ["p50", "change", "processor", "lost", "missed", "dropped"] {
        assert!(table.contains(words), "no {words:?} in {table}");
    }
    Ok(())
}
