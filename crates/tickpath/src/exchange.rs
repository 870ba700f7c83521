//! `tickpath exchange`: the exchange, or the raw echo in its place.

use crate::cli::ExchangeArguments;
use crate::clients::plan_on_stdin;
use crate::echo;
use crate::entrance::{Entrance, Threads, backend_of, listen};
use crate::entry_hold;
use crate::exchange_plan;
use crate::exit::DONE;
use crate::fix::{self, FixDoor};
use crate::plant;
use crate::process::{clock_of, die_with, say};
use crate::recovered::tell_recovery;
use crate::replicate::{self, FollowerTls};
use crate::sbe_udp;
use crate::secure::{Secure, reload};
use crate::security_log;
use crate::snapshots::Snapshots;
use crate::standby::{self, TakenOver, Turn};
use anyhow::bail;
use clock::Clock;
use exchange::{Config, Exchange, Instruments, Journal, Limits, Risk, StartBook, Tokens};
use host::Root;
use record::ExchangeResult;
use std::path::PathBuf;
use std::time::Duration;

/// Limits of the interval between snapshots.
const SNAPSHOT_SECONDS_MIN: f64 = 0.01;
const SNAPSHOT_SECONDS_MAX: f64 = 86_400.0;

pub(crate) fn exchange(arguments: &ExchangeArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    match arguments.plan {
        None => run(arguments),
        Some(_) => {
            let planned = exchange_plan::arguments(plan_on_stdin()?)?;
            run(&ExchangeArguments { die_with_parent: arguments.die_with_parent, ..planned })
        }
    }
}

fn run(arguments: &ExchangeArguments) -> anyhow::Result<u8> {
    let secure = Secure::new(&arguments.tls, &arguments.listen)?;
    let primaries = standby::acceptor(arguments)?;
    let follower_tls = FollowerTls::new(arguments)?;
    let others = [primaries.clone().map(reload), follower_tls.as_ref().map(FollowerTls::reload)];
    let stop = Secure::stop_flag(secure.as_ref(), others.into_iter().flatten())?;
    let threads = Threads::new(arguments)?;
    let clock = clock_of(arguments.clock.as_deref())?;
    // First the core, so that memory comes from its NUMA node.
    if let Some(&core) = threads.cores.first() {
        host::thread::pin(core)?;
    }
    if arguments.echo {
        return echo::run(arguments, threads, clock, &stop);
    }
    // Before a standby waits, so that it finds out at its start whether it could take over.
    let config = config(arguments, &threads, clock)?;
    let device = config.feed_device.clone();
    let taken_over = match standby::wait(arguments, primaries, &stop, &threads.journal)? {
        Turn::Exchange(taken_over) => taken_over,
        Turn::Stopped => return Ok(DONE),
    };
    let (fence, clients, fix_clients) = match taken_over {
        Some(TakenOver { fence, clients, fix }) => (Some(fence), Some(clients), fix),
        None => (None, None, None),
    };
    let mut sessions = fix::sessions(arguments, &config)?;
    let mut exchange = Exchange::new(config)?;
    if let Some(sessions) = &mut sessions {
        fix::recover(sessions, clock)?;
    }
    // Its tables exist by now, and are accessed at random.
    host::huge_pages::use_huge_pages(&Root::system());
    let limits = exchange.limits().serve();
    tell_recovery(&exchange);
    plant::tell_short_flow(&exchange, &arguments.market_data);
    let snapshots = snapshots(arguments, &exchange, &threads)?;
    let (has_taken_over, cores) = (fence.is_some(), &threads.journal);
    let shipper =
        replicate::start(arguments, &exchange, follower_tls.as_ref(), has_taken_over, cores)?;
    let door = FixDoor::open(arguments, (sessions, fix_clients), clock)?;
    let over_fix = door.as_ref().map(|door| door.counts.clone());
    let entrance = Entrance::new(
        arguments,
        threads,
        secure.as_ref(),
        (limits, clock),
        (clients, device),
        door,
    )?;
    let hold = entrance.hold.clone();
    let over_udp = entrance.udp.as_ref().map(|udp| udp.counts.clone());
    let rejections = listen(entrance, &mut exchange, secure.as_ref(), &stop)?;
    let closed = exchange.close_journal();
    let replicated = shipper.map(replicate::end);
    drop(fence);
    if let Some(snapshots) = snapshots {
        snapshots.end();
    }
    let check = exchange.replay_check();
    let counts = exchange.counts().with_rejected(rejections);
    let mut all = serde_json::to_value(&counts)?;
    plant::add_counts(&exchange, &mut all)?;
    if let Some(secure) = &secure {
        all["tls"] = secure.counts();
    }
    if let Some(over_fix) = over_fix {
        all["fix"] = fix::as_json(&over_fix);
    }
    if let Some(hold) = hold {
        all["entry_hold"] = entry_hold::counts(&hold);
    }
    if let Some(over_udp) = over_udp {
        all["sbe_udp"] = sbe_udp::as_json(&over_udp);
    }
    if let Some(replicated) = replicated {
        all["replica"] = replicated;
    }
    let result = ExchangeResult {
        orders: counts.orders,
        cancels: counts.cancels,
        state_hash: format!("{:016x}", exchange.state_hash()),
        replay_equal: check.equal,
        replay_detail: check.why,
        counts: all,
    };
    say(&serde_json::to_string(&result)?);
    match closed {
        Ok(()) => Ok(DONE),
        Err(why) => bail!("the journal has failed: {why}"),
    }
}

fn config(
    arguments: &ExchangeArguments,
    threads: &Threads,
    clock: Clock,
) -> anyhow::Result<Config> {
    let tokens = match (&arguments.tokens, arguments.any_token) {
        (Some(path), _) => Tokens::read(path)?,
        // A scenario started it, so no user needs the warning.
        (None, true) if arguments.die_with_parent.is_some() => Tokens::Any,
        (None, true) => {
            eprintln!(
                "warning: --any-token accepts every client as any account; use it for benchmarks on a \
                 closed network only"
            );
            Tokens::Any
        }
        (None, false) => bail!(
            "the exchange would reject every login: name the accepted tokens with --tokens FILE, or \
             use --any-token for a benchmark"
        ),
    };
    let instruments = match &arguments.instruments {
        Some(path) => Instruments::read(path)?,
        None => Instruments::shipped(),
    };
    let risk = match &arguments.risk {
        Some(path) => Risk::read(path, &instruments)?,
        None => Risk::default(),
    };
    let start_book = match arguments.book.as_str() {
        "synthetic" => StartBook::default(),
        "empty" => StartBook::Empty,
        path => StartBook::DatabentoMbo(PathBuf::from(path)),
    };
    let reconnect_seconds = arguments.reconnect_seconds;
    let mut limits = Limits { reconnect_seconds, ..Limits::default() };
    if let Some(connections_max) = arguments.connections_max {
        limits.connections_max = connections_max;
    }
    if let Some(open_orders_max) = arguments.open_orders_max {
        limits.open_orders_max = open_orders_max;
    }
    if let Some(connections_per_address_max) = arguments.connections_per_address {
        limits.connections_per_address_max = connections_per_address_max;
    } else if arguments.die_with_parent.is_some() {
        // A scenario's own exchange: all its clients may be on one address.
        limits.connections_per_address_max = limits.connections_max;
    }
    let replay_inputs_max = usize::try_from(arguments.replay_inputs_max)?;
    let journal = journal(arguments, threads);
    let config = Config { tokens, instruments, risk, start_book, limits, ..Config::default() };
    let (feed, flow) = (plant::feed(&arguments.market_data)?, plant::flow(&arguments.market_data));
    let (process, clock) = (plant::about(&clock)?, Some(clock));
    let feed_allowed = arguments.market_data.feed_allow.clone();
    let failed_logins = Some(security_log::start()?);
    let delivery_window_us = arguments.market_data.delivery_window_us;
    let device = backend_of(arguments)?.shared_device();
    let feed_device = device.filter(|_| feed.is_some());
    let config = Config { feed_allowed, feed_device, failed_logins, delivery_window_us, ..config };
    Ok(Config { journal, replay_inputs_max, feed, flow, process, clock, ..config })
}

fn journal(arguments: &ExchangeArguments, threads: &Threads) -> Option<Journal> {
    let mode = match arguments.journal_mode.as_str() {
        "none" => return None,
        "async" => journal::Mode::Async,
        _ => journal::Mode::Sync,
    };
    let directory = arguments.journal.clone()?;
    let cores = threads.journal.clone();
    let replication = replicate::replication(&arguments.replicate);
    let options = journal::Options { mode, cores, replication, ..journal::Options::default() };
    Some(Journal { directory, options })
}

/// The thread that writes snapshots, with --snapshot-seconds.
fn snapshots(
    arguments: &ExchangeArguments,
    exchange: &Exchange,
    threads: &Threads,
) -> anyhow::Result<Option<Snapshots>> {
    let (Some(seconds), Some(directory)) = (arguments.snapshot_seconds, &arguments.journal) else {
        return Ok(None);
    };
    if !(SNAPSHOT_SECONDS_MIN..=SNAPSHOT_SECONDS_MAX).contains(&seconds) {
        bail!(
            "--snapshot-seconds {seconds}: use {SNAPSHOT_SECONDS_MIN} to {SNAPSHOT_SECONDS_MAX} \
             seconds"
        );
    }
    let Some(watch) = exchange.journal_watch() else {
        bail!("--snapshot-seconds needs a journal: set --journal-mode to async or sync");
    };
    let cores = threads.journal.clone();
    let place = move || host::thread::run_on(&cores);
    let interval = Duration::from_secs_f64(seconds);
    Ok(Some(Snapshots::start(directory.clone(), watch, interval, place)?))
}
