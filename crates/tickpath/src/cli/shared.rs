//! Arguments that several commands share.

use clap::Args;
use std::path::PathBuf;

/// Scenario of `run` and of treatments of `compare` that name none.
pub(crate) const SCENARIO_DEFAULT: &str = "order-to-ack";

/// Arguments of every command that writes a record.
#[derive(Args)]
pub(crate) struct Output {
    /// Directory for records [default: runs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Fail if another measurement has the same cores, instead of waiting for it
    #[arg(long)]
    pub no_wait: bool,
}

/// Overrides of a scenario.
#[derive(Args)]
pub(crate) struct Settings {
    /// Override a key, such as load.rate_per_second=400k or subject.rust.backend=block
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Files for a CI server.
#[derive(Args)]
pub(crate) struct Summaries {
    /// Also write the gates to FILE, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also append verdict, figures and gates to FILE, as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// An exchange that runs already.
#[derive(Args)]
pub(crate) struct Target {
    /// Measure this exchange instead of starting one (with --set exchange.start=false)
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,
    /// Raw echo on the same machine, for the floor (`tickpath exchange --echo`)
    #[arg(long, value_name = "HOST:PORT", requires = "connect")]
    pub connect_floor: Option<String>,
}
