//! Arguments of the commands that measure.

use crate::cli::shared::{Output, SCENARIO_DEFAULT, Settings, Summaries, Target};
use crate::cli::values::{Need, duration, need, percentile, share};
use clap::Args;
use record::comparison::FIGURES;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct RunArguments {
    /// A scenario that ships, or the path of a scenario file
    #[arg(default_value = SCENARIO_DEFAULT)]
    pub scenario: String,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub target: Target,
    /// Exit with 0 only if the main series holds to this percentile, or with "p90 / floor" its
    /// ratio to the floor. Without it, p50 of either must hold
    #[arg(long, value_name = "PERCENTILE[ / floor]", value_parser = need)]
    pub need: Option<Need>,
    /// Make more runs until the main series holds to this percentile; the least disturbed ones
    /// count
    #[arg(long, value_name = "PERCENTILE", value_parser = percentile, requires = "budget")]
    pub until: Option<f64>,
    /// How long to make more runs, such as 90s or 10m
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "until")]
    pub budget: Option<std::time::Duration>,
    /// A limit for a figure, such as "order.response.p95 <= 112us", or for a ratio to the floor,
    /// such as "order.response.p50 / floor <= 1.2"; can be repeated
    #[arg(long, value_name = "FIGURE <= LIMIT")]
    pub gate: Vec<String>,
    #[command(flatten)]
    pub summaries: Summaries,
    /// Keep a copy of the record as a baseline, for `compare --baseline NAME`
    #[arg(long, value_name = "NAME", conflicts_with = "quick")]
    pub save_baseline: Option<String>,
    /// Also find what interrupts the measured cores, before and during each run (see `noise`)
    #[arg(long)]
    pub noise: bool,
    /// Keep the N slowest ticks with all timestamps and what preempted the cores, and print them
    #[arg(long, value_name = "N")]
    pub trace: Option<usize>,
    /// Between two hosts, show figures one way if the clocks are known to within a tenth of them,
    /// or always, as an interval as wide as the bracket of the clocks' offset [default: tenth]
    #[arg(long, value_name = "WHEN", value_parser = ["tenth", "bracket"])]
    pub one_way: Option<String>,
    /// Find the smallest hold with which this share of messages reaches all subscribers of a
    /// fan-out at once, such as 99.9%, and measure with it
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fair: Option<f64>,
    /// Make one short run in about five seconds, to see whether everything works. Its record is
    /// marked as a smoke test
    #[arg(long, conflicts_with_all = ["until", "resume"])]
    pub quick: bool,
    /// Print the resolved scenario, cores, duration and faults, and measure nothing
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Resume an interrupted soak with its original settings
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "connect"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub(crate) struct SweepArguments {
    /// A scenario that ships, or the path of a scenario file; open loop
    pub scenario: String,
    /// Measure these rates instead of searching, such as 10k,20k,1.5M messages per second
    #[arg(long, value_name = "RATE,...")]
    pub rates: Option<String>,
    /// Objective that a rate must meet, such as "p99 < 100us", "service.p99.9 <= 1ms" or
    /// "p50 / floor <= 1.2"
    #[arg(long, value_name = "FIGURE < LIMIT")]
    pub slo: Option<String>,
    /// Bisection steps between the highest rate that passed and the lowest that failed; at most 6
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "rates")]
    pub steps: u32,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Baseline (A)
    pub a: String,
    /// Candidate (B), or several candidates that are measured now
    #[arg(value_name = "B", required_unless_present = "baseline")]
    pub candidates: Vec<String>,
    /// Baseline that `run --save-baseline NAME` kept below --out; the one record is then B. Machine
    /// and settings must agree
    #[arg(long, value_name = "NAME", conflicts_with_all = ["candidates", "command"])]
    pub baseline: Option<String>,
    /// The treatments are shell commands that print a run record. They get --set, one run and
    /// --out in the environment, which `tickpath run` reads
    #[arg(long, conflicts_with = "scenario")]
    pub command: bool,
    /// Runs of each treatment, interleaved [default: 12]. Not for two records
    #[arg(long, value_name = "N")]
    pub pairs: Option<u32>,
    /// Scenario for KEY=VALUE treatments [default: order-to-ack]
    #[arg(long)]
    pub scenario: Option<String>,
    #[command(flatten)]
    pub settings: Settings,
    /// Measure this exchange instead of starting one (with --set exchange.start=false), in
    /// KEY=VALUE treatments
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["command", "baseline"])]
    pub connect: Option<String>,
    /// Figures of each series to compare. More figures need stronger evidence for each
    #[arg(long, value_name = "PERCENTILE", value_delimiter = ',', default_values = FIGURES)]
    pub figure: Vec<String>,
    /// Condition that must hold, such as "order.service.p99 <= +5%"
    #[arg(long, value_name = "FIGURE <= PERCENT%")]
    pub gate: Vec<String>,
    /// Say of each candidate whether it is worth it: whether its p50 saves this share of A's, or
    /// this time. A candidate that can't run then stays as a row with the reason
    #[arg(long, value_name = "PERCENT%|TIME")]
    pub worth: Option<String>,
    #[command(flatten)]
    pub summaries: Summaries,
    /// Compare records of different machines or settings, and void runs, anyway. The result says so
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Check these cores, such as 2,4-5; auto: the two that `run` would choose
    #[arg(long, alias = "cpu", value_name = "LIST", default_value = "auto")]
    pub cores: host::Cores,
    /// Also judge what the backends of this scenario need: a name that ships, or a file
    #[arg(long, value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// Override a key of the scenario, such as subject.rust.backend=af_xdp
    #[arg(long, value_name = "KEY=VALUE", requires = "scenario")]
    pub set: Vec<String>,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct SelftestArguments {
    /// Runs of each treatment [default: 12, with --disturbed 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(9..=100))]
    pub pairs: Option<u32>,
    /// Disturb the machine on purpose and check that figures that hold stay as they are (some 20
    /// minutes)
    #[arg(long, conflicts_with = "only")]
    pub disturbed: bool,
    /// Make only these experiments
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = ["same", "stall", "delay", "drop"])]
    pub only: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub(crate) struct NoiseArguments {
    /// Duration in seconds
    #[arg(long, value_name = "N", default_value_t = 75.0)]
    pub seconds: f64,
    /// Cores to observe, such as 2,4-7; auto: those that `run` would measure on
    #[arg(long, alias = "cpu", value_name = "LIST", default_value = "auto")]
    pub cores: host::Cores,
    /// Excess over the usual time between two clock readings that counts as a gap, in ns
    #[arg(long, value_name = "N", default_value_t = noise::meter::THRESHOLD_NS)]
    pub threshold_ns: u64,
    /// Scheduling class of the threads: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: String,
    #[command(flatten)]
    pub output: Output,
}

/// Below `tickpath compare --help`.
pub(crate) const COMPARE_EXAMPLES: &str = "\
Examples:
  tickpath compare runs/before runs/after --gate 'order.service.p99 <= +5%'
  tickpath compare subject.rust.backend=spin subject.rust.backend=block
  tickpath compare --pairs 20 'order-to-ack load.connections=4' 'order-to-ack load.connections=16'
  tickpath compare exchange.gateways=0 exchange.gateways=1 exchange.gateways=2
  tickpath compare --command './old/tickpath run --json' './new/tickpath run --json'";
