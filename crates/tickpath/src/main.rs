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
mod echo;
mod entrance;
mod entry_hold;
mod errors;
mod exchange;
mod exchange_plan;
mod exit;
mod fan_out;
mod fix;
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
mod race;
mod recovered;
mod replay;
mod replicate;
mod report;
mod run;
mod sbe_udp;
mod scenarios;
mod secure;
mod security_log;
mod selftest;
mod side_by_side;
mod signals;
mod snapshots;
mod standby;
mod subscribers;
mod sweep;
mod tool;
mod trade;
mod treatment;
mod tune;
mod turn;
mod watch;

use clap::{ColorChoice, Parser};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.color {
        // The environment and the terminal decide.
        ColorChoice::Auto => {}
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
    }
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
        cli::Command::Follower(arguments) => replicate::follower(&arguments),
        cli::Command::Gateway(arguments) => gateway::gateway(&arguments),
        cli::Command::FanOut(arguments) => fan_out::fan_out(&arguments),
        cli::Command::Subscribers(arguments) => subscribers::subscribers(&arguments),
        cli::Command::Trade(arguments) => trade::trade(&arguments),
        cli::Command::Race(arguments) => race::race(&arguments),
        cli::Command::Replay(arguments) => replay::replay(&arguments),
        cli::Command::Audit(arguments) => audit::audit(&arguments),
        cli::Command::IpcBench(arguments) => ipc_bench::ipc_bench(&arguments),
        cli::Command::Endpoint(arguments) => clients::endpoint(&arguments),
        cli::Command::FanOutBench(arguments) => clients::fan_out_bench(&arguments),
        cli::Command::FeedBench(arguments) => clients::feed_bench(&arguments),
        cli::Command::EngineBench(arguments) => clients::engine_bench(&arguments),
        cli::Command::Man(arguments) => manual::man(&arguments),
        cli::Command::Completions(arguments) => Ok(manual::completions(&arguments)),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let red = anstyle::AnsiColor::Red.on_default().bold();
            anstream::eprintln!("{red}error:{red:#} {}", errors::one_line(&error));
            ExitCode::from(exit::USAGE)
        }
    }
}
