//! `exchange --echo`: the raw echo in the exchange's place, over connections or datagrams.

use crate::cli::ExchangeArguments;
use crate::entrance::{Entrance, Threads, backend_of, listen};
use crate::exit::DONE;
use crate::plant;
use crate::process::{FirstLine, bind, say, say_ready};
use anyhow::{Context, bail};
use clock::Clock;
use clock::time_base::EchoClock;
use clock::wall::WallLine;
use plan::backend;
use std::sync::atomic::AtomicBool;
use transport::echo::datagrams::{DatagramCounts, EchoSocket};
use transport::echo::{Echo, bare, datagrams};
use transport::serve;

/// Runs the raw echo, the floor of orders, or the raw ticker, the floor of ticks and orders.
pub(crate) fn run(
    arguments: &ExchangeArguments,
    threads: Threads,
    clock: Clock,
    stop: &AtomicBool,
) -> anyhow::Result<u8> {
    if arguments.bare {
        return bare(arguments, &threads, clock, stop);
    }
    if arguments.datagrams {
        return datagrams(arguments, &threads, clock, stop);
    }
    let limits = serve::Limits { connections_max: 4096, ..serve::Limits::default() };
    let device = backend_of(arguments)?.shared_device();
    let ticker = plant::ticker(&arguments.market_data, clock, device.as_ref())?;
    let device = device.filter(|_| ticker.is_some());
    let entrance = Entrance::new(arguments, threads, None, (limits, clock), (None, device), None)?;
    let Some(mut ticker) = ticker else {
        listen(entrance, &mut Echo::default(), None, stop)?;
        return Ok(DONE);
    };
    listen(entrance, &mut ticker, None, stop)?;
    say(&serde_json::json!({ "ticker": ticker.counts() }).to_string());
    Ok(DONE)
}

/// The raw echo over datagrams.
fn datagrams(
    arguments: &ExchangeArguments,
    threads: &Threads,
    clock: Clock,
    stop: &AtomicBool,
) -> anyhow::Result<u8> {
    let chosen = backend_of(arguments)?;
    let row = chosen.row;
    if !backend::takes_datagrams(row.name) {
        bail!("--backend {}: an echo over datagrams takes spin, block, af_xdp or dpdk", row.name);
    }
    let address = &arguments.listen;
    let socket = EchoSocket::bind(address, &chosen).with_context(|| {
        format!("cannot receive datagrams on {address}; port 0 lets the system choose one")
    })?;
    host::thread::set_scheduling(threads.scheduling)?;
    let stack = socket.stack();
    say_ready(socket.local_addr()?, &FirstLine { stack, ..FirstLine::of(clock) })?;
    let describe = |kernel| described(clock, kernel);
    let counts = datagrams::serve(socket, row.spins, (clock, &describe), stop)?;
    say(&serde_json::json!({ "datagrams": counted(&counts) }).to_string());
    Ok(DONE)
}

/// The clock of an echo over datagrams, for clients that ask.
pub(crate) fn described(clock: Clock, kernel: Option<WallLine>) -> String {
    let said = EchoClock { time: host::utc::time_base(clock), kernel };
    serde_json::to_string(&said).unwrap_or_default()
}

/// Its counts.
pub(crate) fn counted(counts: &DatagramCounts) -> serde_json::Value {
    let DatagramCounts { received, replied, rejected, uncounted, unsent } = counts;
    serde_json::json!({
        "received": received, "replied": replied, "rejected": rejected, "uncounted": uncounted,
        "unsent": unsent,
    })
}

/// The same bytes without the server loop.
fn bare(
    arguments: &ExchangeArguments,
    threads: &Threads,
    clock: Clock,
    stop: &AtomicBool,
) -> anyhow::Result<u8> {
    let spins = transport::backend(&arguments.backend)?.row.spins;
    let listener = bind(&arguments.listen)?;
    host::thread::set_scheduling(threads.scheduling)?;
    say_ready(listener.local_addr()?, &FirstLine::of(clock))?;
    match plant::ticker(&arguments.market_data, clock, None)? {
        None => bare::serve(&listener, spins, stop)?,
        Some(mut ticker) => bare::serve_ticks(&listener, &mut ticker, stop)?,
    }
    Ok(DONE)
}
