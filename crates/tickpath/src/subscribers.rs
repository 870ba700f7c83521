//! `tickpath subscribers`: subscribers of a fan-out on a host of their own.

use crate::cli::SubscribersArguments;
use crate::echo::{counted, described};
use crate::exit::DONE;
use crate::process::{FirstLine, bind, clock_of, die_with, raise_descriptors, say, say_ready};
use crate::signals;
use anyhow::Context;
use fanout_bench::EndCounts;
use plan::tables::fan_out::SUBSCRIBERS_MAX;
use serde_json::json;
use std::net::{TcpListener, UdpSocket};

/// How often a port is looked for that is free for TCP and UDP, where the system chooses it.
const PORTS_TRIED: usize = 20;

pub(crate) fn subscribers(arguments: &SubscribersArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    raise_descriptors(SUBSCRIBERS_MAX as u64);
    let clock = clock_of(arguments.clock.as_deref())?;
    let (listener, socket) = both(&arguments.listen)?;
    say_ready(listener.local_addr()?, &FirstLine::of(clock))?;
    let describe = |kernel| described(clock, kernel);
    let counts = fanout_bench::serve(&listener, socket, (clock, &describe), &stop)?;
    let EndCounts { served, failed, turned_away, datagrams } = counts;
    let counts = json!({
        "served": served, "failed": failed, "turned_away": turned_away,
        "datagrams": counted(&datagrams),
    });
    say(&counts.to_string());
    Ok(DONE)
}

/// One port, for TCP and for UDP.
fn both(address: &str) -> anyhow::Result<(TcpListener, UdpSocket)> {
    let mut tried = 0;
    loop {
        let listener = bind(address)?;
        let at = listener.local_addr()?;
        match UdpSocket::bind(at) {
            Ok(socket) => return Ok((listener, socket)),
            Err(_) if address.ends_with(":0") && tried < PORTS_TRIED => tried += 1,
            Err(error) => {
                return Err(error).with_context(|| {
                    format!(
                        "cannot receive datagrams on {at}, where clients find this clock; choose a \
                         port that no other program has for UDP"
                    )
                });
            }
        }
    }
}
