//! The command line, as data.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Measures, explains and shortens the path from a market-data tick to an order on an exchange.
#[derive(Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure a scenario and leave a run record
    ///
    /// Starts the exchange and the client as processes of their own, pinned, several times, with the
    /// raw echo of the same bytes in between; prints the table; exits with 3 if the record is no
    /// valid result.
    Run(RunArguments),
    /// List the scenarios that ship
    Scenarios(ScenariosArguments),
    /// Print the table of run records
    Report(ReportArguments),
    /// Run an exchange until it is told to end
    ///
    /// A WebSocket/JSON order gateway in front of a limit order book. Prints
    /// {"listening":"HOST:PORT"} when it is ready and its counts when it ends (SIGINT, SIGTERM).
    Exchange(ExchangeArguments),
    /// Run one client once against an exchange that runs already
    ///
    /// Prints one line of JSON: what was sent and received, whether it was complete. The latencies
    /// go to the .hlog file.
    Trade(TradeArguments),
}

#[derive(Args)]
pub(crate) struct RunArguments {
    /// A scenario that ships, or the path of a scenario file
    #[arg(default_value = "order-to-ack")]
    pub scenario: String,
    /// Override a key, such as load.rate_per_second=400000 or subject.rust.backend=block
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Measure this exchange instead of starting one (with --set exchange.start=false)
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,
    /// The raw echo beside it, for the floor (`tickpath exchange --echo` on that machine)
    #[arg(long, value_name = "HOST:PORT", requires = "connect")]
    pub connect_floor: Option<String>,
    /// Where run directories go
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print run.json instead of the table
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub(crate) struct ScenariosArguments {
    /// Print the text of this one
    pub scenario: Option<String>,
    /// Print the names and descriptions as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Run directories, or run.json files
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Print run.json instead of the table
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct ExchangeArguments {
    /// Address to listen on; port 0 lets the system choose one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8888")]
    pub listen: String,
    /// Core to pin to
    #[arg(long)]
    pub core: Option<usize>,
    /// Class of the thread: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: String,
    /// How to wait and read: spin or block
    #[arg(long, default_value = "spin")]
    pub backend: String,
    /// Book at the start: synthetic, empty, or a Databento MBO file (.dbn, .dbn.zst)
    #[arg(long, default_value = "synthetic")]
    pub book: String,
    /// Instruments file instead of the four that ship
    #[arg(long, value_name = "FILE")]
    pub instruments: Option<PathBuf>,
    /// Accept only the tokens of this file: lines `"TOKEN" = "ACCOUNT"`
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Accept any token as the account of that name. For benchmarks only
    #[arg(long, conflicts_with = "tokens")]
    pub any_token: bool,
    /// Connections at the same time
    #[arg(long, value_name = "N")]
    pub connections_max: Option<usize>,
    /// Orders that rest at the same time, those of the start book included
    #[arg(long, value_name = "N")]
    pub open_orders_max: Option<u32>,
    /// Orders and cancels kept in memory to compare the state with a replay at the end; 0 = none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub replay_inputs_max: u64,
    /// Be the raw echo that gives the floor instead
    #[arg(long)]
    pub echo: bool,
    /// End when the process of this number, which started this one, ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

#[derive(Args)]
pub(crate) struct TradeArguments {
    /// A scenario that ships, or the path of a scenario file
    #[arg(required_unless_present = "plan")]
    pub scenario: Option<String>,
    /// Override a key, such as seconds=60
    #[arg(long, value_name = "KEY=VALUE", requires = "scenario")]
    pub set: Vec<String>,
    /// The exchange
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "plan")]
    pub connect: Option<String>,
    /// The subject of the scenario; its first one without this
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub subject: Option<String>,
    /// The HdrHistogram log to write; one that holds a run already is refused
    #[arg(long, value_name = "FILE", default_value = "trade.hlog")]
    pub hlog: PathBuf,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Take everything from this plan instead (clients/CONTRACT.md); - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "connect"])]
    pub plan: Option<PathBuf>,
    /// End when the process of this number, which started this one, ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}
