//! `tickpath fan-out`: copies datagrams to subscribers.

use crate::cli::FanOutArguments;
use crate::exit::DONE;
use crate::process::{die_with, say};
use crate::signals;
use anyhow::{Context, bail};
use clock::Clock;
use fanout::replicate::{Counts, Gre, Replicator, Settings};
use fanout::subscribers::{SUBSCRIBERS_MAX, SentCounts};
use serde_json::{Value, json};
use std::net::SocketAddrV4;

pub(crate) fn fan_out(arguments: &FanOutArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let settings = settings(arguments)?;
    let stop = signals::stop_flag()?;
    // First the core, so that memory comes from its NUMA node.
    if let Some(core) = arguments.core {
        host::thread::pin(core)?;
    }
    let clock = Clock::calibrate();
    let replicator = Replicator::new(settings, clock)?;
    host::thread::set_scheduling(arguments.scheduling)?;
    let from = replicator.from()?;
    let registration = replicator.listening()?;
    let way = replicator.way();
    if let Some(obstacle) = replicator.obstacle() {
        eprintln!("warning: {obstacle}");
    }
    let ready =
        json!({ "listening": from, "registration": registration, "way": way, "clock": clock });
    say(&ready.to_string());
    let until_ns = arguments.time.map(|time| clock.now_ns() + time.as_nanos() as u64);
    let counts = replicator.run(&stop, until_ns)?;
    say(&last_line(&counts).to_string());
    Ok(DONE)
}

fn settings(arguments: &FanOutArguments) -> anyhow::Result<Settings> {
    let own = [Some(arguments.from), arguments.listen];
    if arguments.parent.is_some_and(|parent| own.contains(&Some(parent))) {
        bail!("--parent is an address of this replicator, which can't feed itself; name another");
    }
    Ok(Settings {
        from: arguments.from,
        interface: arguments.interface,
        source: arguments.source,
        to: arguments.to.as_deref().map(subscribers).transpose()?.unwrap_or_default(),
        listen: arguments.listen,
        lease_ms: arguments.lease_ms,
        parent: arguments.parent,
        order: arguments.order,
        seed: arguments.seed,
        gre: arguments.gre.map(|at| Gre { at, key: arguments.gre_key }),
        tunnel: arguments.tunnel,
        backend: arguments.backend,
        queue: arguments.queue,
    })
}

/// The addresses of a list, or of the file of that name: one on each line, `#` begins a comment.
fn subscribers(to: &str) -> anyhow::Result<Vec<SocketAddrV4>> {
    let address = |text: &str| text.trim().parse::<SocketAddrV4>();
    let listed: Result<Vec<_>, _> = to.split(',').map(address).collect();
    let found = match listed {
        Ok(listed) => listed,
        Err(_) => {
            let advice = "write --to IP:PORT,IP:PORT, or name a file with an address on each line";
            let text = std::fs::read_to_string(to)
                .with_context(|| format!("{to:?} is no list of addresses and no file; {advice}"))?;
            let lines = text.lines().enumerate().map(|(at, line)| {
                (at + 1, line.split_once('#').map_or(line, |(before, _)| before).trim())
            });
            let of_line = |(number, line): (usize, &str)| {
                address(line)
                    .with_context(|| format!("{to}:{number}: {line:?} is no address IP:PORT"))
            };
            lines.filter(|(_, line)| !line.is_empty()).map(of_line).collect::<Result<_, _>>()?
        }
    };
    if found.is_empty() {
        bail!("{to} names no subscriber; write an address IP:PORT on each line, or use --listen");
    }
    if found.len() > SUBSCRIBERS_MAX {
        let count = found.len();
        bail!("{to} has {count} subscribers, SUBSCRIBERS_MAX is {SUBSCRIBERS_MAX}; use a tree");
    }
    Ok(found)
}

/// The last line of output.
fn last_line(counts: &Counts) -> Value {
    let (copying_ns, _) = stats::percentiles(&counts.copying_ns);
    let subscribers = &counts.subscribers;
    let (former, others, others_count) = subscribers.former();
    let now = subscribers.all().iter().map(|one| row(one.address, &one.counts));
    let former = former.iter().map(|(address, counts)| row(*address, counts));
    let registration = counts.registrar.map(|registrar| {
        json!({
            "challenged": registrar.challenged,
            "unchallenged": registrar.unchallenged,
            "accepted": registrar.accepted,
            "renewed": registrar.renewed,
            "full": registrar.full,
            "bad_cookies": registrar.bad_cookies,
            "malformed": registrar.malformed,
            "expired": subscribers.expired(),
            "left": subscribers.left(),
        })
    });
    json!({
        "received": counts.received,
        "received_bytes": counts.received_bytes,
        "receive_dropped": counts.receive_dropped,
        "receive_buffer_bytes": counts.receive_buffer_bytes,
        "rejected": {
            "foreign": counts.rejects.foreign,
            "no_header": counts.rejects.no_header,
            "datagram_bytes_max": counts.rejects.too_long,
            "gre": counts.rejects.gre,
            "left_to_kernel": counts.rejects.left_to_kernel,
        },
        "interface_dropped": counts.interface_dropped,
        "without_subscribers": counts.without_subscribers,
        "copying_ns": copying_ns,
        "subscribers": now.collect::<Vec<_>>(),
        "former": former.collect::<Vec<_>>(),
        "former_more": { "count": others_count, "sent": others.sent, "no_room": others.no_room,
            "failed": others.failed },
        "registration": registration,
        "parent_full": counts.parent_full,
    })
}

fn row(address: SocketAddrV4, counts: &SentCounts) -> Value {
    let SentCounts { sent, no_room, failed, failure } = counts;
    json!({ "address": address, "sent": sent, "no_room": no_room, "failed": failed,
        "failure": failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_are_a_list_or_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let both: Vec<SocketAddrV4> =
            ["192.0.2.1:9", "192.0.2.2:9"].map(|text| text.parse().unwrap()).to_vec();
        assert_eq!(subscribers("192.0.2.1:9, 192.0.2.2:9").unwrap(), both);
        write("# ours\n192.0.2.1:9\n\n  192.0.2.2:9 # the other\n");
        assert_eq!(subscribers(&path).unwrap(), both);
        write("192.0.2.1:9\nnobody\n");
        let error = format!("{:#}", subscribers(&path).unwrap_err());
        assert!(error.contains(":2: \"nobody\""), "{error}");
        write("# none\n");
        assert!(subscribers(&path).unwrap_err().to_string().contains("no subscriber"));
        let error = subscribers("192.0.2.1").unwrap_err().to_string();
        assert!(error.contains("no list of addresses and no file"), "{error}");
        let many: Vec<String> =
            (0..=SUBSCRIBERS_MAX).map(|n| format!("192.0.2.1:{}", n + 1)).collect();
        let error = subscribers(&many.join(",")).unwrap_err().to_string();
        assert!(error.contains("SUBSCRIBERS_MAX"), "{error}");
    }
}
