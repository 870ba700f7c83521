//! Arguments of `race`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct RaceArguments {
    /// The race: a TOML file [default: the one that --example prints]
    pub file: Option<PathBuf>,
    /// Print an example of a race file with all keys instead
    #[arg(long, exclusive = true)]
    pub example: bool,
    /// Fit the market's processes to a recorded day, a Databento MBO file, and print the table
    /// [market] with intervals and a test of the fit instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "seeds", "subject", "what_if"])]
    pub fit: Option<PathBuf>,
    /// Follow the orders of a recorded day, a Databento MBO file, and print how well totals per
    /// price tell their places in the queue
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["file", "fit", "seeds", "subject", "what_if"])]
    pub queue: Option<PathBuf>,
    /// Number of markets; intervals need six
    #[arg(long, value_name = "N")]
    pub seeds: Option<u32>,
    /// Seed of the first market; the others follow it
    #[arg(long, value_name = "SEED")]
    pub first_seed: Option<u64>,
    /// Simulated time of each market; with --fit and --queue, the part of the
    /// day
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Participant whose latency is varied
    #[arg(long, value_name = "NAME")]
    pub subject: Option<String>,
    /// Give a participant the latency of a run: its directory or .hlog file, and the series, such
    /// as sniper=runs/DIR,rust.tick_to_trade.service. May be repeated
    #[arg(long, value_name = "NAME=RUN,SERIES")]
    pub latency: Vec<String>,
    /// Rank the effects in this compare.json or trial.json, or its directory, by money. May be
    /// repeated
    #[arg(long, value_name = "FILE")]
    pub what_if: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the result to a page instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "fit", "queue"])]
    pub html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}
