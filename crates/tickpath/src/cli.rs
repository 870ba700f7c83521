//! The command line, as data.

use crate::plant::MarketDataArguments;
use clap::{Args, Parser, Subcommand};
use measure::comparison::FIGURES;
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
    /// Measure a scenario at several rates, to the knee
    ///
    /// Finds the highest rate that meets an objective: doubles the scenario's rate until one is not
    /// reached or does not meet it, then goes in between. Three runs a rate unless --set runs=N. Leaves
    /// sweep.json and report.html, and a run record a rate beside them.
    Sweep(SweepArguments),
    /// List the scenarios that ship
    Scenarios(ScenariosArguments),
    /// Print the table of run records, merge them, or list those of a directory
    Report(ReportArguments),
    /// Tell whether B is better or worse than A, or whether nothing can be said
    ///
    /// A and B are two run records, or two things that are made now, interleaved A B B A: a scenario
    /// (its name or file, with KEY=VALUE behind it), KEY=VALUE alone for --scenario, or any other command
    /// for the shell that prints a run record, such as `./other/tickpath run --json`. Exits with 0, and
    /// if there are gates with 1 if one failed and 4 if one could not be decided; with 3 if runs were
    /// void or it was interrupted.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Is this machine fit to measure on?
    ///
    /// Looks at cores, load, clock, kernel settings, interrupts and permissions for three seconds, and
    /// says of each whether it is ok, widens the tail (warn) or makes figures mislead (bad), why, and
    /// what to do. Changes nothing. Exits with 0 if nothing is bad, with 1 if something is.
    Doctor(DoctorArguments),
    /// Can this tool, on this machine, see what it must see?
    ///
    /// Four experiments of which the answer is known: A against A, a trader that stands still, an
    /// exchange that answers later, and one that drops replies. Four lines; exits with 0 if all were
    /// seen, with 1 if not.
    Selftest(SelftestArguments),
    /// What disturbs cores that want to be left alone, and who does it?
    ///
    /// A pinned thread a core looks at the clock and notes every gap; with permission, the kernel's events
    /// say whose each gap is. Leaves a run record; exits with 3 if it was interrupted.
    Noise(NoiseArguments),
    /// Run an exchange until it is told to end
    ///
    /// A WebSocket/JSON order gateway in front of a limit order book. Prints
    /// {"listening":"HOST:PORT","clock":…} when it is ready and its counts when it ends (SIGINT, SIGTERM, SIGHUP).
    Exchange(Box<ExchangeArguments>),
    /// Replay a journal of the exchange's inputs, and tell what it comes to
    ///
    /// From its latest good snapshot to its end: state hash, inputs and events by kind, and what stood
    /// behind the last whole record and is not counted. Changes nothing. Exits with 3 if the journal is
    /// damaged otherwise, or a part of it is missing.
    Replay(ReplayArguments),
    /// Read the audit log of a trader, and tell what is in it
    ///
    /// What was seen, decided, sent and answered: records by kind, from when to when in UTC and how exact that is, what was
    /// lost, how long decisions took. Exits with 3 if the log is damaged; a log that was cut off is read as far as it goes.
    Audit(AuditArguments),
    /// Run one client once against an exchange that runs already
    ///
    /// Prints one line of JSON: what was sent and received, whether it was complete. The latencies
    /// go to the .hlog file.
    Trade(TradeArguments),
    /// Pass messages from thread to thread: the client of `ipc` scenarios
    #[command(hide = true)]
    Relay(RelayArguments),
    /// Send one order flow through a matching engine: the client of `engine` and `soak` scenarios
    #[command(hide = true)]
    Workload(WorkloadArguments),
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
    /// Find out who disturbs the measured cores as well, before each run and during it (see `noise`)
    #[arg(long)]
    pub noise: bool,
    /// Of ticks, keep so many of the worst, with all their stamps and what took the cores meanwhile
    #[arg(long, value_name = "N")]
    pub trace: Option<usize>,
    /// Go on where that soak was interrupted, as it was asked to
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "connect"])]
    pub resume: Option<PathBuf>,
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
pub(crate) struct SweepArguments {
    /// A scenario that ships, or the path of a scenario file; open loop
    pub scenario: String,
    /// Measure at these rates, such as 10k,20k,1.5M messages a second, instead of searching
    #[arg(long, value_name = "RATE,...")]
    pub rates: Option<String>,
    /// What a rate must meet, such as "p99 < 100us" or "service.p99.9 <= 1ms"
    #[arg(long, value_name = "FIGURE < LIMIT")]
    pub slo: Option<String>,
    /// Rates to try between the highest that did and the lowest that didn't; at most 6
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "rates")]
    pub steps: u32,
    /// Override a key, such as seconds=10 or subject.rust.backend=block
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Measure this exchange instead of starting one (with --set exchange.start=false)
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,
    /// The raw echo beside it, for the floor (`tickpath exchange --echo` on that machine)
    #[arg(long, value_name = "HOST:PORT", requires = "connect")]
    pub connect_floor: Option<String>,
    /// Where the sweep's directory goes
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print sweep.json instead of the table
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
    /// Run directories, run.json files, or directories that hold records
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Of directories that hold records, those of this scenario alone
    #[arg(long, value_name = "NAME", conflicts_with = "merge")]
    pub scenario: Option<String>,
    /// Make one record of them all, by histogram: of several hosts, or of several times
    #[arg(long)]
    pub merge: bool,
    /// Where the merged record's directory goes
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Merge invalid records too; the merged one is invalid then
    #[arg(long, requires = "merge")]
    pub force: bool,
    /// Print run.json instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write the page of the record, or of the directory's records over time, there instead: one file
    /// that fetches nothing
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  tickpath compare runs/before runs/after --gate 'order.service.p99 <= +5%'
  tickpath compare subject.rust.backend=spin subject.rust.backend=block
  tickpath compare --pairs 20 'order-to-ack load.connections=4' 'order-to-ack load.connections=16'
  tickpath compare './old/tickpath run --json' './new/tickpath run --json'";

#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Against what is compared
    pub a: String,
    /// What is compared with it
    pub b: String,
    /// Runs of each, interleaved; 12 unless told otherwise. Not for records, which are there already
    #[arg(long, value_name = "N")]
    pub pairs: Option<u32>,
    /// The scenario of KEY=VALUE treatments, ping-pong unless told otherwise
    #[arg(long)]
    pub scenario: Option<String>,
    /// Override a key in both; a command has its own
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Which figures of each series to look at. The more, the stronger each must be
    #[arg(long, value_name = "PERCENTILE", value_delimiter = ',', default_values = FIGURES)]
    pub figure: Vec<String>,
    /// What must hold, such as "order.service.p99 <= +5%"
    #[arg(long, value_name = "FIGURE <= PERCENT%")]
    pub gate: Vec<String>,
    /// Compare records of different machines or regimes, and void runs, all the same. It is recorded
    #[arg(long)]
    pub force: bool,
    /// Where the directory of what is made now goes
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print compare.json instead of the table
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Judge these cores, such as 2,4-5, instead of the two that `run` would choose
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cpu: host::Cores,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct SelftestArguments {
    /// Runs of each treatment
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(9..=100))]
    pub pairs: u32,
    /// Make these experiments only
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = ["same", "stall", "delay", "drop"])]
    pub only: Vec<String>,
    /// Where the directory of its records goes
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub(crate) struct NoiseArguments {
    /// How long to look
    #[arg(long, value_name = "N", default_value_t = 75.0)]
    pub seconds: f64,
    /// The cores to look at, such as 2,4-7; auto are those that `run` would measure on
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cpu: host::Cores,
    /// How much longer than usual a look must take to be a gap, ns
    #[arg(long, value_name = "N", default_value_t = noise::meter::THRESHOLD_NS)]
    pub threshold_ns: u64,
    /// Class of the threads: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: String,
    /// Where the directory of the record goes
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
pub(crate) struct ExchangeArguments {
    /// Address to listen on; port 0 lets the system choose one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8888")]
    pub listen: String,
    /// Cores to pin to, such as 2,4-5: the exchange's own thread's, then one for each gateway
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cores: host::Cores,
    /// Threads that have the sockets and hand the exchange's own thread bytes through rings; with 0 it has
    /// them itself
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gateways: usize,
    /// Class of the threads: other, fifo:PRIORITY or rr:PRIORITY
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
    /// What accounts may do: largest order, collar, open orders, message rate, positions, self-trade
    /// prevention
    #[arg(long, value_name = "FILE")]
    pub risk: Option<PathBuf>,
    /// Accept only the tokens of this file: lines `"TOKEN" = "ACCOUNT"` below [tokens], and
    /// `"TOKEN" = "NAME"` below [operators]
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
    /// Orders, cancels and all other inputs kept in memory to compare the state with a replay at the end; 0 = none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub replay_inputs_max: u64,
    /// Log every input in this directory before it is executed; where it holds a journal, begin where
    /// that leads
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// When an order is acknowledged: sync, when it is durable; async, when it is taken; none: keep no
    /// journal
    #[arg(long, value_name = "MODE", default_value = "sync", requires = "journal")]
    #[arg(value_parser = ["none", "async", "sync"])]
    pub journal_mode: String,
    /// Core of the journal's threads
    #[arg(long, value_name = "CORE", requires = "journal")]
    pub journal_core: Option<usize>,
    /// Write a snapshot of the journal's state each so many seconds in which something was logged, and one at the
    /// end: recovery begins there. A second engine does it, with its memory
    #[arg(long, value_name = "N", requires = "journal")]
    pub snapshot_seconds: Option<f64>,
    #[command(flatten)]
    pub market_data: MarketDataArguments,
    /// The clock to stamp by, as another process printed it; one is calibrated without it
    #[arg(long, value_name = "JSON", hide = true)]
    pub clock: Option<String>,
    /// Be the raw echo that gives the floor instead; with --feed its datagrams are raw too
    #[arg(long)]
    pub echo: bool,
    /// Do harm on purpose, to see whether it is seen: delay_us, stall_ms, stall_every_ms, drop_every
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "echo")]
    pub inject: Vec<String>,
    /// End when the process of this number, which started this one, ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The journal's directory
    pub log: PathBuf,
    /// Write a snapshot of the end into it, so that the next replay begins there
    #[arg(long)]
    pub snapshot: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct AuditArguments {
    /// The log
    pub log: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    /// Print every record as a line of JSON instead, behind a first line with the log's header
    #[arg(long, conflicts_with = "json")]
    pub records: bool,
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

#[derive(Args)]
pub(crate) struct RelayArguments {
    /// Where the plan is read from (clients/IPC.md); only - is known, which is stdin
    #[arg(long, value_name = "FILE", value_parser = ["-"])]
    pub plan: String,
    /// End when the process of this number, which started this one, ends
    #[arg(long, value_name = "PID")]
    pub die_with_parent: Option<i32>,
}

#[derive(Args)]
pub(crate) struct WorkloadArguments {
    /// Where the plan is read from; only - is known, which is stdin
    #[arg(long, value_name = "FILE", value_parser = ["-"])]
    pub plan: String,
    /// End when the process of this number, which started this one, ends
    #[arg(long, value_name = "PID")]
    pub die_with_parent: Option<i32>,
}
