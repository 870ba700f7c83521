//! The arguments of an exchange that a run starts, from its plan.

use crate::cli::ExchangeArguments;
use crate::plant;
use clap::{Args, FromArgMatches};
use host::Cores;
use plan::process::exchange::{
    ExchangePlan, FixPlan, FollowerPlan, JournalPlan, OtherEnd, StandbyPlan,
};
use std::path::PathBuf;

/// The arguments that a run's plan stands for.
pub(crate) fn arguments(plan: ExchangePlan) -> anyhow::Result<ExchangeArguments> {
    let command = ExchangeArguments::augment_args(clap::Command::new("exchange"));
    let defaults = command.try_get_matches_from(["exchange"])?;
    let mut arguments = ExchangeArguments::from_arg_matches(&defaults)?;
    arguments.listen = plan.listen;
    arguments.backend = plan.backend;
    arguments.queue = plan.queue;
    arguments.scheduling = plan.scheduling;
    arguments.gateways = plan.gateways;
    if !plan.cores.is_empty() {
        arguments.cores = Cores::List(plan.cores);
    }
    match plan.end {
        OtherEnd::Exchange(book) => {
            let book = *book;
            arguments.any_token = true;
            arguments.tls.tls_self_signed = book.tls;
            arguments.book = book.book;
            arguments.instruments = book.instruments.map(PathBuf::from);
            arguments.open_orders_max = Some(book.open_orders_max);
            arguments.connections_max = Some(book.connections_max);
            arguments.replay_inputs_max = book.replay_inputs_max;
            arguments.inject = book.inject.words();
            arguments.entry_hold_us = book.entry_hold_us;
            arguments.market_data.delivery_window_us = book.delivery_window_us;
            if let Some(FixPlan { listen, store }) = book.fix {
                arguments.fix.fix = Some(listen);
                arguments.fix.fix_store = Some(PathBuf::from(store));
            }
            arguments.sbe_udp = book.sbe_udp;
            if let Some(JournalPlan { directory, follower, standby }) = book.journal {
                arguments.journal = Some(PathBuf::from(directory));
                if let Some(FollowerPlan { address, mode, lost_ms }) = follower {
                    arguments.replicate.replicate = Some(mode);
                    arguments.replicate.follower = Some(address);
                    arguments.replicate.follower_seconds = lost_ms as f64 / 1e3;
                }
                if let Some(StandbyPlan { listen, silence_ms }) = standby {
                    arguments.standby.standby = Some(listen);
                    arguments.standby.standby_seconds = silence_ms as f64 / 1e3;
                }
            }
        }
        OtherEnd::Echo => arguments.echo = true,
        OtherEnd::Bare => (arguments.echo, arguments.bare) = (true, true),
        OtherEnd::Datagrams => (arguments.echo, arguments.datagrams) = (true, true),
    }
    plant::plan(&mut arguments.market_data, plan.feed, plan.flow);
    Ok(arguments)
}
