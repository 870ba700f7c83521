//! The one binary: parses the command line and joins the rooms.

#![forbid(unsafe_code)]

mod audit;
mod cli;
mod compare;
mod doctor;
mod exchange;
mod history;
mod merge;
mod noise;
mod page;
mod plant;
mod print;
mod process;
mod progress;
mod relay;
mod replay;
mod report;
mod run;
mod scenarios;
mod selftest;
mod signals;
mod sweep;
mod trade;
mod treatment;
mod workload;

use clap::Parser;
use std::process::ExitCode;

/// Done, or a gate passed.
const DONE: u8 = 0;
/// A gate failed.
const GATE_FAILED: u8 = 1;
/// Usage or configuration.
const USAGE: u8 = 2;
/// The run is invalid or was interrupted.
const INVALID: u8 = 3;

/// A gate could be neither passed nor failed.
const INCONCLUSIVE: u8 = 4;
/// Who writes records.
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
        cli::Command::Scenarios(arguments) => scenarios::scenarios(&arguments),
        cli::Command::Compare(arguments) => compare::compare(&arguments),
        cli::Command::Report(arguments) => report::report(&arguments),
        cli::Command::Doctor(arguments) => doctor::doctor(&arguments),
        cli::Command::Selftest(arguments) => selftest::selftest(&arguments),
        cli::Command::Noise(arguments) => noise::noise(&arguments),
        cli::Command::Exchange(arguments) => exchange::exchange(&arguments),
        cli::Command::Trade(arguments) => trade::trade(&arguments),
        cli::Command::Replay(arguments) => replay::replay(&arguments),
        cli::Command::Audit(arguments) => audit::audit(&arguments),
        cli::Command::Relay(arguments) => relay::relay(&arguments),
        cli::Command::Workload(arguments) => workload::workload(&arguments),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {}", told(&error));
            ExitCode::from(USAGE)
        }
    }
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

    /// "can't read the tokens from x: No such file (os error 2); name a file that exists: No such file (os error 2)" was
    /// what people were told.
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
