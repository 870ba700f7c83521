//! Arguments of `fan-out`.

use crate::cli::values::duration;
use clap::Args;
use fanout::replicate::Tunnel;
use host::Scheduling;
use plan::backend::{Backend, Queue};
use plan::tables::fan_out::SendOrder;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct FanOutArguments {
    /// Where the source's datagrams arrive: an address of this host, or a multicast group, which is
    /// joined (port 0: the system chooses one)
    #[arg(long, value_name = "IP:PORT")]
    pub from: SocketAddrV4,
    /// Address of the interface on which a group is joined (default: the kernel chooses)
    #[arg(long, value_name = "IP", default_value = "0.0.0.0", hide_default_value = true)]
    pub interface: Ipv4Addr,
    /// Copy only datagrams from this host (default: anybody's)
    #[arg(long, value_name = "IP")]
    pub source: Option<Ipv4Addr>,
    /// Receive the datagrams in a GRE tunnel (RFC 2784) that leads to this address of this host
    /// (0.0.0.0: any); --from is then the receiver in the tunnel. As root
    #[arg(long, value_name = "IP", conflicts_with_all = ["parent", "interface"])]
    pub gre: Option<Ipv4Addr>,
    /// Key that packets of the tunnel must have (default: any, or none)
    #[arg(long, value_name = "N", requires = "gre")]
    pub gre_key: Option<u32>,
    /// Subscribers: addresses IP:PORT with commas between them, or a file with one on each line
    #[arg(long, value_name = "LIST|FILE", required_unless_present = "listen")]
    pub to: Option<String>,
    /// Where subscribers register, and where copies come from (port 0: the system chooses one)
    #[arg(long, value_name = "IP:PORT")]
    pub listen: Option<SocketAddrV4>,
    /// Time that a registration lasts unless it is renewed, ms
    #[arg(long, value_name = "MS", default_value_t = 10_000, requires = "listen")]
    #[arg(value_parser = clap::value_parser!(u32).range(100..=3_600_000))]
    pub lease_ms: u32,
    /// Register at another replicator, at its --listen address, which then feeds this one
    #[arg(long, value_name = "IP:PORT")]
    pub parent: Option<SocketAddrV4>,
    /// Which subscriber gets a datagram first: always the first of the list, each in turn, or a
    /// random one
    #[arg(long, value_name = "ORDER", default_value = "fixed")]
    #[arg(value_parser = send_order)]
    pub order: SendOrder,
    /// Seed of random orders
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Tunnel header (magic 0x4D324355 and group): none (copy whatever comes), keep (and stamp),
    /// add, or remove
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = tunnel)]
    pub tunnel: Tunnel,
    /// End after this time, such as 90s, 10m or 2h
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Core to pin to (default: the kernel places the thread)
    #[arg(long, value_name = "N")]
    pub core: Option<usize>,
    /// Scheduling class of the thread: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "other")]
    pub scheduling: Scheduling,
    /// Way to copy: spin or block (sockets of the kernel), af_xdp (frames, past the kernel's
    /// stack), af_xdp_in_place (the same; the received frame becomes the last copy), dpdk (frames,
    /// by a driver of DPDK, in a build with it) or xdp (programs in the kernel copy); all but spin
    /// and block as root
    #[arg(long, default_value = "spin", value_parser = backend)]
    pub backend: Backend,
    /// With af_xdp and af_xdp_in_place: all receive queues of the interface, or the one to which
    /// the card steers the source's datagrams (`ethtool -N`)
    #[arg(long, value_name = "all|N", default_value = "all")]
    pub queue: Queue,
    /// End when this parent process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

#[derive(Args)]
pub(crate) struct SubscribersArguments {
    /// Address to listen on, over TCP and UDP (port 0: the system chooses one)
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7000")]
    pub listen: String,
    /// Clock for timestamps, as another process printed it (default: calibrate one)
    #[arg(long, value_name = "JSON", hide = true)]
    pub clock: Option<String>,
    /// End when this parent process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}

fn backend(text: &str) -> Result<Backend, String> {
    plan::backend::replicator(text).map_err(|error| error.to_string())
}

fn tunnel(text: &str) -> Result<Tunnel, String> {
    match text {
        "none" => Ok(Tunnel::None),
        "keep" => Ok(Tunnel::Keep),
        "add" => Ok(Tunnel::Add),
        "remove" => Ok(Tunnel::Remove),
        _ => Err("there are none, keep, add and remove".to_owned()),
    }
}

fn send_order(text: &str) -> Result<SendOrder, String> {
    let known = SendOrder::ALL.into_iter().find(|order| order.name() == text);
    known.ok_or_else(|| "there are fixed, rotating and random".to_owned())
}
