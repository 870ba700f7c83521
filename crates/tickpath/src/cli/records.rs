//! Arguments of the commands that read what was measured.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Formats of `report --export`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values, a row per run and figure
    Csv,
    /// OpenMetrics text, a gauge per figure
    Openmetrics,
    /// Order latencies for hftbacktest: a NumPy archive
    Hftbacktest,
    /// A static latency model for nautilus_trader: JSON
    NautilusTrader,
}

/// Latencies of `report --export` for a backtester.
#[derive(Args)]
pub(crate) struct OrderLatencyArguments {
    /// With --export hftbacktest or nautilus-trader: series of the way to the exchange and, after a
    /// comma, of the way back, such as rust.network_out.stage,rust.network_back.stage; or one round
    /// trip, such as rust.order.service, of which each way takes half
    #[arg(long, value_name = "SERIES", requires = "export")]
    pub series: Option<String>,
    /// With --export hftbacktest: time of the first latency, UTC, such as 2026-11-21T00:00:00Z
    /// [default: the start of the record]
    #[arg(long, value_name = "TIME", requires = "export")]
    pub start: Option<String>,
    /// With --export hftbacktest: seconds that the latencies cover; the run's seconds repeat
    #[arg(long, default_value_t = 86_400, requires = "export")]
    pub seconds: u32,
    /// With --export hftbacktest: latencies drawn a second
    #[arg(long, value_name = "N", default_value_t = 10, requires = "export")]
    pub draws_per_second: u32,
    /// With --export hftbacktest: latencies for a recorded market, a Databento MBO file: at each of
    /// its orders that of the run's orders which came after as many messages of the last
    /// millisecond. --series names the subject then, such as rust
    #[arg(long, value_name = "DAY", requires = "export", conflicts_with = "seconds")]
    pub by_intensity: Option<PathBuf>,
    /// With --export nautilus-trader: the figure that becomes the latency
    #[arg(long, value_name = "FIGURE", default_value = "p50", requires = "export")]
    pub figure: String,
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Directories of runs, comparisons or sweeps, their JSON files, or directories that hold them.
    /// Several stand side by side, grouped by what differs
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Only records of this scenario, from directories that hold records
    #[arg(long, value_name = "NAME", conflicts_with = "merge")]
    pub scenario: Option<String>,
    /// Merge the records of several hosts or times into one, by histogram
    #[arg(long)]
    pub merge: bool,
    /// Directory for the merged record [default: runs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also merge void records; the result is then void
    #[arg(long, requires = "merge")]
    pub force: bool,
    /// Print the records as JSON; of several records an array
    #[arg(long)]
    pub json: bool,
    /// Print one row per figure instead: of records, and of all records in a directory; or the
    /// latencies of one record for a backtester
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "html", "merge"])]
    pub export: Option<Format>,
    #[command(flatten)]
    pub order_latency: OrderLatencyArguments,
    /// Write the page of the record, of the directory's history, or of several records side by side
    /// to FILE instead: self-contained HTML
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ScenariosArguments {
    /// Print the text of this scenario
    pub scenario: Option<String>,
    /// Print the names and descriptions as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// Directory of the journal
    pub log: PathBuf,
    /// Write a snapshot of the final state, so that the next replay begins there
    #[arg(long)]
    pub snapshot: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct AuditArguments {
    /// The audit log
    pub log: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the log's header and every record as lines of JSON instead
    #[arg(long, conflicts_with = "json")]
    pub records: bool,
    /// Find the log's orders in the exchange's journal in DIR: which came too late, for what
    #[arg(long, value_name = "DIR", conflicts_with = "records")]
    pub journal: Option<PathBuf>,
    /// Print every order instead, as the journal has it
    #[arg(long, value_name = "FORMAT", requires = "journal", conflicts_with = "json")]
    pub export: Option<AuditFormat>,
}

/// Formats of `audit --export`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AuditFormat {
    /// Comma-separated values, a row per order: books, result, the input that it lost to
    Csv,
    /// Comma-separated values, a row per event of an order's life, with both clocks and bounds
    Events,
}

#[derive(Args)]
pub(crate) struct ManArguments {
    /// Directory for the pages
    #[arg(long, value_name = "DIR", default_value = "man")]
    pub out: PathBuf,
}

#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete for
    pub shell: clap_complete::Shell,
}
