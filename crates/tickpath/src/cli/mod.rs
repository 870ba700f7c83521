//! The command line, as data. Commands import these definitions; nothing here imports a command.

mod ends;
mod fan_out;
mod market_data;
mod measure;
mod race;
mod records;
mod replica;
mod shared;
mod tune;
mod values;
mod watch;

pub(crate) use ends::*;
pub(crate) use fan_out::*;
pub(crate) use market_data::*;
pub(crate) use measure::*;
pub(crate) use race::*;
pub(crate) use records::*;
pub(crate) use replica::*;
pub(crate) use shared::*;
pub(crate) use tune::*;
pub(crate) use values::Need;
pub(crate) use watch::*;

use clap::{Args, Parser, Subcommand};

/// Measure, explain and shorten the path from a market-data tick to an order on an exchange
#[derive(Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to use colours; auto: on a terminal, as NO_COLOR and CLICOLOR_FORCE say
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: clap::ColorChoice,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure a scenario and write a run record
    ///
    /// Starts the exchange and the client as pinned processes, several times, interleaved with the
    /// raw echo of the same bytes. Prints the table. Exits with 3 if the record is void
    /// or does not hold as far as --need asks.
    Run(RunArguments),
    /// Measure a scenario at several rates and find the knee
    ///
    /// Finds the highest rate that meets an objective: doubles the scenario's rate until a rate
    /// fails, then bisects. Makes three runs per rate unless --set runs=N. Writes sweep.json,
    /// report.html and one run record per rate.
    Sweep(SweepArguments),
    /// Measure a scenario at a low rate until Ctrl-C, with metrics and alerts
    ///
    /// Makes one record after another, shows a live histogram, serves OpenMetrics over HTTP on
    /// loopback, keeps the newest records, and says when a figure that holds leaves its baseline.
    /// Ctrl-C ends it with a last record and status 0.
    Watch(Box<WatchArguments>),
    /// List the scenarios that ship
    Scenarios(ScenariosArguments),
    /// Print run records, one or several side by side; merge records, or list a directory of them
    Report(ReportArguments),
    /// Compare A with B: better, worse, no difference or not known
    ///
    /// A and B are two run records, or two or more treatments that are measured now, interleaved
    /// A B B A or A B C C B A: a scenario (name or file, followed by KEY=VALUE), KEY=VALUE alone
    /// for --scenario, or, with --command, a shell command that prints a run record. Each further
    /// treatment is compared with A. Exits with 0; with 1 if a gate failed,
    /// 4 if a gate was inconclusive, 3 if runs were void or interrupted.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Check whether this machine is fit to measure on
    ///
    /// Checks cores, load, clock, kernel settings, interrupts and permissions; watches the machine
    /// for two seconds and takes about three. Each finding is ok, warn (widens the tail) or bad
    /// (makes figures misleading), with the reason and the remedy. Changes nothing. Exits with 0
    /// if nothing is bad, otherwise with 1.
    Doctor(DoctorArguments),
    /// Check that tickpath detects known faults on this machine
    ///
    /// Makes four experiments with known results: A against A, a trader that stalls, an exchange
    /// that replies late, and one that drops replies; takes about three minutes. Prints one line
    /// for each. Exits with 0 if tickpath detected all of them, with 1 if it missed one, and with 4
    /// if too few runs had the figure to check one.
    Selftest(SelftestArguments),
    /// Find what interrupts a core, and its cause
    ///
    /// A pinned thread per core reads the clock and records every gap. With root or CAP_PERFMON,
    /// kernel events name the cause of each gap. Writes a run record. Exits with 3 if interrupted.
    Noise(NoiseArguments),
    /// Run an exchange until SIGINT, SIGTERM or SIGHUP
    ///
    /// A WebSocket/JSON order gateway in front of a limit order book. Prints
    /// {"listening":"HOST:PORT","clock":…} when it is ready, and its counts when it ends.
    Exchange(Box<ExchangeArguments>),
    /// Run an order gateway on a host of its own, in front of an exchange
    ///
    /// Accepts clients, ends their TLS where asked, and carries the bytes of each one to the
    /// exchange over a TCP connection of its own, and the replies back. It runs on while the
    /// exchange is away. Prints {"listening":"HOST:PORT","clock":…} when it is ready. When it ends
    /// (SIGINT, SIGTERM, or SIGHUP without a certificate), prints its counts and, for each
    /// direction, the time from a read's return to the write's call (residence_ns). The gateway
    /// threads of `exchange --gateways` are another thing.
    Gateway(GatewayArguments),
    /// Keep a copy of an exchange's journal on another machine
    ///
    /// Accepts the connection of an exchange with --replicate, writes what it sends, and
    /// acknowledges it once it is durable. Rejects an exchange after another one has taken
    /// over. Prints {"listening":"HOST:PORT"} when it is ready, and its counts when it ends
    /// (SIGINT, SIGTERM, or SIGHUP without a certificate). After that, `tickpath exchange
    /// --journal` with its directory continues the log as the new primary.
    Follower(FollowerArguments),
    /// Copy a source's datagrams to many subscribers, as a replicator
    ///
    /// Receives datagrams at one address or of a multicast group, and sends a copy of each to every
    /// subscriber: those that --to names, and those that register at --listen and confirm their
    /// address. Prints {"listening":"IP:PORT","registration":"IP:PORT",…} when it is ready. When it
    /// ends (SIGINT, SIGTERM or SIGHUP, or after --for), prints what it received, what it sent to
    /// each subscriber, and what it dropped and why.
    FanOut(FanOutArguments),
    /// Be subscribers of a fan-out on a host of their own, for a source on another one
    ///
    /// Waits for `tickpath run fan-out-hosts` on the source's host, registers subscribers at its
    /// replicator, keeps when each copy arrived, and answers datagrams by which the offset of this
    /// host's clock is found. Serves one client at a time, over TCP and UDP on one port. Anybody
    /// who reaches that port can use it: run it on a closed network, and end it afterwards. Prints
    /// {"listening":"IP:PORT","clock":…} when it is ready, and its counts when it ends (SIGINT,
    /// SIGTERM or SIGHUP).
    Subscribers(SubscribersArguments),
    /// Replay a journal of an exchange and print the resulting state
    ///
    /// Replays from the latest good snapshot to the end. Prints the state hash, inputs and events
    /// by kind, and the torn tail that recovery would cut. Changes nothing. Exits with 3 if the
    /// journal is damaged or incomplete.
    Replay(ReplayArguments),
    /// Summarise a trader's audit log
    ///
    /// Prints the records by kind (ticks, decisions, orders, replies), their times in UTC and the
    /// error of those, losses, and the time per decision. Reads a truncated log up to its last
    /// whole record. With --journal, prints which orders lost the quantity or the place that they
    /// saw, to which account and by how many microseconds. Exits with 3 if the log or the journal
    /// is damaged.
    Audit(AuditArguments),
    /// Simulate a market and say what a microsecond is worth in it
    ///
    /// Market makers, snipers, arbitrageurs and noise traders meet in the real matching engine,
    /// each with a latency: made up, or that of a run. Prints fills, mark-outs and money with
    /// intervals over seeds, what the subject's latency is worth, and where faster stops paying.
    /// Measures nothing: the market is made up, and the same seeds give the same result.
    Race(RaceArguments),
    /// Run one client once against a running exchange
    ///
    /// Prints one line of JSON with its counts and whether the run was complete. Writes the
    /// latencies to the .hlog file.
    Trade(TradeArguments),
    /// Change settings of the operating system, prove that they hold, and take them back
    ///
    /// One catalogue of settings. `inspect` and `plan` only look; `apply` keeps a journal, and
    /// `revert` restores the exact previous bytes from it.
    #[command(subcommand)]
    Tune(TuneCommand),
    /// Find, compare and share places in the cloud: hunt, matrix, tiers … (`tickpath-cloud`)
    ///
    /// Runs the program tickpath-cloud, which comes as a Python package; `tickpath cloud --help`
    /// lists its verbs. Exits with its status.
    #[command(disable_help_flag = true)]
    Cloud(CloudArguments),
    /// Pass messages between threads: the client of `ipc` scenarios
    // Records and scripts from before the rename say `relay`.
    #[command(hide = true, alias = "relay")]
    IpcBench(ClientArguments),
    /// Probe somebody else's address: the client of `endpoint` scenarios
    #[command(hide = true)]
    Endpoint(ClientArguments),
    /// Be the source and the subscribers of a replicator: the client of `fan-out` scenarios
    #[command(hide = true)]
    FanOutBench(ClientArguments),
    /// Send a feed, and follow it into a book: the client of `feed` scenarios
    #[command(hide = true)]
    FeedBench(ClientArguments),
    /// Send one order flow through a matching engine: the client of `engine` and `soak` scenarios
    // Records and scripts from before the rename say `workload`.
    #[command(hide = true, alias = "workload")]
    EngineBench(ClientArguments),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManArguments),
    /// Print the completions of a shell
    #[command(hide = true)]
    Completions(CompletionsArguments),
}

#[derive(Args)]
pub(crate) struct CloudArguments {
    /// Arguments of tickpath-cloud
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<std::ffi::OsString>,
}
