//! Arguments of `watch`.

use crate::cli::shared::{Output, Settings, Target};
use crate::cli::values::duration;
use clap::Args;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct WatchArguments {
    /// A scenario that ships, or the path of a scenario file; with an exchange
    #[arg(default_value = "order-to-ack")]
    pub scenario: String,
    /// Make a record this often, such as 10m or 1h. Its runs share that time
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    pub every: Duration,
    /// Keep the newest N records of this watch and delete older ones
    #[arg(long, value_name = "N", default_value_t = 168, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// Serve metrics at http://ADDRESS:PORT/metrics; a loopback address
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9571")]
    pub listen: SocketAddr,
    /// Baseline that `run --save-baseline NAME` or `watch --save-baseline NAME` kept below --out.
    /// Machine and settings must agree
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Keep a copy of the first record that is a result as a baseline, and use it
    #[arg(long, value_name = "NAME", conflicts_with = "baseline")]
    pub save_baseline: Option<String>,
    /// Limit for a figure, such as "order.response.p99 <= 112us", or its change in percent of the
    /// baseline [default: p50 and p99 of the main series <= +10%, with a baseline]
    #[arg(long, value_name = "FIGURE <= LIMIT")]
    pub gate: Vec<String>,
    /// Run this shell command when a gate begins to fail, with TICKPATH_ALERT and TICKPATH_RECORD
    #[arg(long, value_name = "COMMAND")]
    pub alert_command: Option<String>,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub output: Output,
}
