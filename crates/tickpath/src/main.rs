//! The one binary: parses the command line and joins the rooms.

#![forbid(unsafe_code)]

mod cli;
mod exchange;
mod print;
mod process;
mod report;
mod run;
mod scenarios;
mod signals;
mod sweep;
mod trade;

use clap::Parser;
use std::process::ExitCode;

/// Done, or a gate passed.
const DONE: u8 = 0;
/// Usage or configuration.
const USAGE: u8 = 2;
/// The run is invalid or was interrupted.
const INVALID: u8 = 3;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let outcome = match cli.command {
        cli::Command::Run(arguments) => run::run(&arguments),
        cli::Command::Sweep(arguments) => sweep::sweep(&arguments),
        cli::Command::Scenarios(arguments) => scenarios::scenarios(&arguments),
        cli::Command::Report(arguments) => report::report(&arguments),
        cli::Command::Exchange(arguments) => exchange::exchange(&arguments),
        cli::Command::Trade(arguments) => trade::trade(&arguments),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(USAGE)
        }
    }
}
