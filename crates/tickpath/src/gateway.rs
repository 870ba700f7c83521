//! `tickpath gateway`: an order gateway as a process of its own, in front of an exchange.

use crate::cli::GatewayArguments;
use crate::exit::DONE;
use crate::process::{FirstLine, bind, die_with, raise_descriptors, say, say_ready};
use crate::secure::Secure;
use crate::security_log;
use anyhow::{Context, bail};
use clock::Clock;
use host::Scheduling;
use serde_json::{Value, json};
use std::net::{SocketAddr, ToSocketAddrs};
use transport::forward::{CarriedBytes, Counts, Limits, Target, forward};
use transport::{proxy, tls};

pub(crate) fn gateway(arguments: &GatewayArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let exchange = resolve(&arguments.exchange)?;
    let scheduling: Scheduling = arguments.scheduling.parse()?;
    let backend = transport::backend(&arguments.backend)?;
    let secure = Secure::new(&arguments.tls, &arguments.listen)?;
    let stop = Secure::stop_flag(secure.as_ref(), None)?;
    let unreachable = security_log::start_unreachable()?;
    // First the core, so that memory comes from its NUMA node.
    if let Some(core) = arguments.core {
        host::thread::pin(core)?;
    }
    let connections_max = arguments.connections_max as usize;
    // Each client has a connection to the exchange.
    raise_descriptors(2 * u64::from(arguments.connections_max));
    let clock = Clock::calibrate();
    let mut streams =
        backend.open(clock).with_context(|| format!("cannot open backend {}", backend.row.name))?;
    if let Some(secure) = &secure {
        streams = tls::around(streams, Some(secure.acceptor()), clock);
    }
    let listener = bind(&arguments.listen)?;
    let address = listener.local_addr()?;
    streams.listen(listener)?;
    host::thread::set_scheduling(scheduling)?;
    let certificate = secure.as_ref().and_then(Secure::certificate);
    say_ready(address, &FirstLine { certificate, ..FirstLine::of(clock) })?;
    let limits = Limits { connections_max, ..Limits::default() };
    // Failures that the log can't take now are in its next count.
    let mut report = |failed| drop(unreachable.try_send(failed));
    let greeting = if arguments.no_proxy_line { b"" } else { proxy::UNKNOWN };
    let exchange = Target { addresses: &exchange, greeting };
    let counts = forward(&mut *streams, exchange, limits, clock, &stop, &mut report)?;
    let mut last = last_line(&counts);
    if let Some(secure) = &secure {
        last["tls"] = secure.counts();
    }
    say(&last.to_string());
    Ok(DONE)
}

/// The addresses of `HOST:PORT`.
fn resolve(exchange: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let advice = "write --exchange HOST:PORT, and try the name with `getent hosts HOST`";
    let found = exchange
        .to_socket_addrs()
        .with_context(|| format!("cannot resolve the exchange's address {exchange}; {advice}"))?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() {
        bail!("the exchange's name in {exchange} has no address; {advice}");
    }
    Ok(addresses)
}

/// The last line of output.
fn last_line(counts: &Counts) -> Value {
    let Counts { to_exchange, to_client, .. } = counts;
    json!({
        "connections": counts.connections,
        "refused": {
            "connections_max": counts.rejected_connections,
            "accepts_failed": counts.accepts_failed,
            "linger_ns_max": counts.cut,
            "stuck_ns_max": counts.slow_readers,
        },
        "exchange_unreachable": counts.exchange_unreachable,
        "bytes_to_exchange": to_exchange.bytes,
        "bytes_to_client": to_client.bytes,
        "to_exchange": carried(to_exchange),
        "to_client": carried(to_client),
    })
}

/// How long reads stayed in the process, and how many had to wait for the socket.
fn carried(carried: &CarriedBytes) -> Value {
    let (residence_ns, _) = stats::percentiles(&carried.residence_ns);
    json!({ "residence_ns": residence_ns, "reads_deferred": carried.deferred })
}
