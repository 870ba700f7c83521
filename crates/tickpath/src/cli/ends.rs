//! Arguments of the two ends and of the gateway between them as processes of their own, and of the
//! clients that runs start.

use crate::cli::market_data::MarketDataArguments;
use crate::cli::replica::{ReplicateArguments, StandbyArguments};
use clap::Args;
use host::Scheduling;
use plan::backend::Queue;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ExchangeArguments {
    /// Address to listen on (port 0: the system chooses one)
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8888")]
    pub listen: String,
    /// Cores to pin to, such as 2,4-5: first the exchange's thread, then one per gateway thread
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cores: host::Cores,
    /// Number of gateway threads that own the sockets (0: the exchange thread does)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gateways: usize,
    /// Microseconds from a gateway's stamp of what a client sends until the exchange reads it, in
    /// the order of all gateways' stamps. Needs --gateways [default: none wait]
    #[arg(long, value_name = "N")]
    pub entry_hold_us: Option<u64>,
    /// Scheduling class of the threads: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: Scheduling,
    /// How to wait for data: spin, block, io_uring, io_uring_spin, or as root af_xdp or dpdk
    #[arg(long, default_value = "spin")]
    pub backend: String,
    /// With af_xdp: all receive queues of the interface, or the one to which the card steers our
    /// packets (`ethtool -N`) and nobody else's. That one may run without copies, so keep ssh off
    /// it
    #[arg(long, value_name = "all|N", default_value = "all")]
    pub queue: Queue,
    /// Initial book: synthetic, empty, or a Databento MBO file (.dbn, .dbn.zst)
    #[arg(long, default_value = "synthetic")]
    pub book: String,
    /// Instruments file (default: the four that ship)
    #[arg(long, value_name = "FILE")]
    pub instruments: Option<PathBuf>,
    /// Risk limits per account: order size, price collar, open orders, message rate, positions,
    /// self-trade prevention
    #[arg(long, value_name = "FILE")]
    pub risk: Option<PathBuf>,
    /// Accept only the tokens in this file: lines `"TOKEN" = "ACCOUNT"` under [tokens], and
    /// `"TOKEN" = "NAME"` under [operators]
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Accept any token as the account with that name. For benchmarks only
    #[arg(long, conflicts_with = "tokens")]
    pub any_token: bool,
    #[command(flatten)]
    pub tls: TlsArguments,
    #[command(flatten)]
    pub fix: FixArguments,
    /// Take orders in SBE over UDP on this address, too (port 0: the system chooses one). In plain
    /// text
    #[arg(long, value_name = "HOST:PORT")]
    #[arg(conflicts_with_all = ["echo", "gateways", "tls_certificate", "tls_self_signed"])]
    pub sbe_udp: Option<String>,
    /// Maximum number of simultaneous connections
    #[arg(long, value_name = "N")]
    pub connections_max: Option<usize>,
    /// Maximum number of connections from one address; loopback is exempt (default: 256)
    #[arg(long, value_name = "N")]
    pub connections_per_address: Option<usize>,
    /// Maximum number of open orders, including the initial book
    #[arg(long, value_name = "N")]
    pub open_orders_max: Option<u32>,
    /// Inputs kept in memory to check the final state by a replay (0: no check)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub replay_inputs_max: u64,
    /// Log every input in this directory before executing it; recover from a journal that is there
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// When to acknowledge an order: sync (it is durable), async (it is queued), none (no journal)
    #[arg(long, value_name = "MODE", default_value = "sync", requires = "journal")]
    #[arg(value_parser = ["none", "async", "sync"])]
    pub journal_mode: String,
    /// Core for the journal's threads (default: all cores but those of --cores)
    #[arg(long, value_name = "CORE", requires = "journal")]
    pub journal_core: Option<usize>,
    /// Write a snapshot every N seconds with new inputs, and at the end, to shorten recovery.
    /// Needs the memory of a second engine
    #[arg(long, value_name = "N", requires = "journal")]
    pub snapshot_seconds: Option<f64>,
    /// Time to reconnect after a start from a journal, for an account that had asked for
    /// cancel_on_disconnect; then its orders are cancelled
    #[arg(long, value_name = "N", default_value_t = 5.0, requires = "journal")]
    pub reconnect_seconds: f64,
    #[command(flatten)]
    pub replicate: ReplicateArguments,
    #[command(flatten)]
    pub standby: StandbyArguments,
    #[command(flatten)]
    pub market_data: MarketDataArguments,
    /// Clock for timestamps, as another process printed it (default: calibrate one)
    #[arg(long, value_name = "JSON", hide = true)]
    pub clock: Option<String>,
    /// Run the raw echo, which gives the floor, instead of an exchange; with --feed also the raw
    /// ticker
    #[arg(long, conflicts_with_all = ["tls_certificate", "tls_self_signed"])]
    pub echo: bool,
    /// Run an echo that only receives and sends, one connection at a time: the cost of the raw echo
    #[arg(long, requires = "echo")]
    pub bare: bool,
    /// Run the echo over UDP. It answers every sender with at most as many bytes as came: use it on
    /// a closed network, and end it afterwards
    #[arg(long, requires = "echo", conflicts_with_all = ["bare", "gateways", "feed"])]
    pub datagrams: bool,
    /// Inject a fault for tests: delay_us, stall_ms, stall_every_ms or drop_every
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "echo")]
    pub inject: Vec<String>,
    /// Read the plan that a run writes from stdin instead of other arguments; only -
    #[arg(long, value_name = "FILE", hide = true, value_parser = ["-"])]
    pub plan: Option<String>,
    /// End when this parent process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

#[derive(Args)]
pub(crate) struct FixArguments {
    /// Accept FIX 4.4 sessions on this address, too (port 0: the system chooses one)
    #[arg(long, value_name = "HOST:PORT", requires = "fix_store", conflicts_with = "echo")]
    pub fix: Option<String>,
    /// Keep the sessions' numbers and messages in this directory
    #[arg(long, value_name = "DIR", requires = "fix")]
    pub fix_store: Option<PathBuf>,
    /// CompID of the exchange: a client's TargetCompID
    #[arg(long, value_name = "NAME", default_value = "TICKPATH")]
    pub fix_comp_id: String,
}

#[derive(Args, Clone)]
pub(crate) struct TlsArguments {
    /// Speak TLS 1.3 with this certificate: a PEM file, with the authorities' behind it. SIGHUP
    /// reloads it and the key
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate: a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Speak TLS 1.3 with a certificate made for this run; the first line of output has it
    #[arg(long, conflicts_with = "tls_certificate")]
    pub tls_self_signed: bool,
}

#[derive(Args)]
pub(crate) struct GatewayArguments {
    /// Address of the exchange, in plain text. Its name is resolved once, at the start; it need not
    /// be reachable then
    #[arg(long, value_name = "HOST:PORT")]
    pub exchange: String,
    /// Address to listen on for clients (port 0: the system chooses one)
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Core to pin to (default: the kernel places the thread)
    #[arg(long, value_name = "N")]
    pub core: Option<usize>,
    /// Scheduling class of the thread: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: String,
    /// How to wait for data: spin, block, io_uring or io_uring_spin
    #[arg(long, default_value = "spin")]
    pub backend: String,
    #[command(flatten)]
    pub tls: TlsArguments,
    /// Maximum number of simultaneous clients; one more is closed at once
    #[arg(long, value_name = "N", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub connections_max: u32,
    /// Begin no connection with "PROXY UNKNOWN", for an exchange that isn't tickpath's. Through
    /// that line tickpath's exchange knows that the gateway's address is not the client's, and
    /// sends no market data there
    #[arg(long)]
    pub no_proxy_line: bool,
    /// End when this parent process ends
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
    /// Address of the exchange. Several, separated by commas: go on at another one when the
    /// exchange is lost
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "plan")]
    pub connect: Option<String>,
    /// Subject of the scenario (default: the first)
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub subject: Option<String>,
    /// HdrHistogram log to write; must not contain a run yet
    #[arg(long, value_name = "FILE", default_value = "trade.hlog")]
    pub hlog: PathBuf,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Read the plan (clients/CONTRACT.md) from this file instead; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "connect"])]
    pub plan: Option<PathBuf>,
    /// End when this parent process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

/// Arguments of a client that a run starts and gives its plan.
#[derive(Args)]
pub(crate) struct ClientArguments {
    /// Where to read the plan; only - (stdin)
    #[arg(long, value_name = "FILE", value_parser = ["-"])]
    pub plan: String,
    /// End when this parent process ends
    #[arg(long, value_name = "PID")]
    pub die_with_parent: Option<i32>,
}
