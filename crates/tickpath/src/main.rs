//! The one binary: parses the command line and joins the other crates.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod audit;
mod ci;
mod cli;
mod clients;
mod cloud;
mod compare;
mod doctor;
mod exchange;
mod gateway;
mod ipc_bench;
mod manual;
mod merge;
mod noise;
mod page;
mod plant;
mod print;
mod process;
mod progress;
mod project;
mod replay;
mod report;
mod run;
mod scenarios;
mod secure;
mod security_log;
mod selftest;
mod side_by_side;
mod signals;
mod snapshots;
mod sweep;
mod trade;
mod treatment;
mod tune;
mod turn;
mod watch;

use clap::Parser;
use record::directory;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Done, or a gate passed.
const DONE: u8 = 0;
/// A gate failed.
const GATE_FAILED: u8 = 1;
/// Usage or configuration.
const USAGE: u8 = 2;
/// The run is void, does not hold as far as asked, or was interrupted.
const NO_RESULT: u8 = 3;

/// A gate could be neither passed nor failed.
const INCONCLUSIVE: u8 = 4;
/// The name and version in records.
const TOOL: &str = concat!("tickpath ", env!("CARGO_PKG_VERSION"));

/// The command line that repeats this, for records.
fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let outcome = match cli.command {
        cli::Command::Run(arguments) => run::run(&arguments),
        cli::Command::Sweep(arguments) => sweep::sweep(&arguments),
        cli::Command::Watch(arguments) => watch::watch(&arguments),
        cli::Command::Scenarios(arguments) => scenarios::scenarios(&arguments),
        cli::Command::Compare(arguments) => compare::compare(&arguments),
        cli::Command::Report(arguments) => report::report(&arguments),
        cli::Command::Doctor(arguments) => doctor::doctor(&arguments),
        cli::Command::Tune(command) => tune::tune(&command),
        cli::Command::Selftest(arguments) => selftest::selftest(&arguments),
        cli::Command::Noise(arguments) => noise::noise(&arguments),
        cli::Command::Cloud(arguments) => cloud::cloud(&arguments),
        cli::Command::Exchange(arguments) => exchange::exchange(&arguments),
        cli::Command::Gateway(arguments) => gateway::gateway(&arguments),
        cli::Command::Trade(arguments) => trade::trade(&arguments),
        cli::Command::Replay(arguments) => replay::replay(&arguments),
        cli::Command::Audit(arguments) => audit::audit(&arguments),
        cli::Command::IpcBench(arguments) => ipc_bench::ipc_bench(&arguments),
        cli::Command::Endpoint(arguments) => clients::endpoint(&arguments),
        cli::Command::EngineBench(arguments) => clients::engine_bench(&arguments),
        cli::Command::Man(arguments) => manual::man(&arguments),
        cli::Command::Completions(arguments) => Ok(manual::completions(&arguments)),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {}", told(&error));
            ExitCode::from(USAGE)
        }
    }
}

/// A directory of its own for a record.
fn make_directory(out: &Path, name: &str) -> anyhow::Result<PathBuf> {
    directory::create(out, name).map_err(|error| {
        let (place, remedy) = (out.display(), directory::remedy(&error));
        anyhow::anyhow!("cannot write to {place}: {error}; {remedy} with --out")
    })
}

/// What to say of a place that can't be written.
fn not_written(place: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot write to {}: {error}; {}", place.display(), directory::remedy(error))
}

/// An error and what caused it, once: many of ours say their cause in the middle of a sentence.
fn told(error: &anyhow::Error) -> String {
    let mut told = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message once ended "…: No such file (os error 2); name a file that exists: No such file
    /// (os error 2)".
    #[test]
    fn a_cause_is_told_once() {
        let not_found = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let said =
            ::exchange::TokensError::Unreadable { file: "x".to_owned(), source: not_found() };
        assert_eq!(told(&said.into()).matches("entity not found").count(), 1);
        let wrapped = anyhow::Error::from(not_found()).context("cannot start");
        assert_eq!(told(&wrapped), "cannot start: entity not found");
    }
}
