//! Arguments of both ends of a replicated journal.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ReplicateArguments {
    /// Ship the journal to a follower. sync: acknowledge an order once it is durable there, too;
    /// async: the follower may lag
    #[arg(long, value_name = "MODE", requires_all = ["journal", "follower"])]
    #[arg(value_parser = ["async", "sync"], conflicts_with = "echo")]
    pub replicate: Option<String>,
    /// Address of the follower (tickpath follower). Its name is resolved for each connection
    #[arg(long, value_name = "HOST:PORT", requires = "replicate")]
    pub follower: Option<String>,
    /// Encrypt the connection to the follower, and check its certificate by the authorities in this
    /// PEM file. To a follower that asks for one, the exchange shows --tls-certificate
    #[arg(long, value_name = "FILE", requires = "replicate")]
    pub follower_ca: Option<PathBuf>,
    /// Time without an acknowledgement after which the follower is lost. In mode sync the exchange
    /// then rejects every message that would change its state, until the follower is back
    #[arg(long, value_name = "N", default_value_t = 1.0, requires = "replicate")]
    pub follower_seconds: f64,
    /// Maximum number of records that the follower may lack. With more, the exchange rejects orders
    /// and amendments
    #[arg(long, value_name = "N", default_value_t = 4_000_000, requires = "replicate")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub follower_lag_max: u64,
}

#[derive(Args)]
pub(crate) struct StandbyArguments {
    /// First keep a copy of another exchange's journal, as a follower on this address; become the
    /// exchange when the other one is silent or has ended. The other one needs --replicate sync
    /// --follower HOST:PORT
    #[arg(long, value_name = "HOST:PORT", requires = "journal", conflicts_with = "echo")]
    pub standby: Option<String>,
    /// As a standby, accept only encrypted connections of an exchange that shows a certificate of
    /// the authorities in this PEM file. The standby shows --tls-certificate
    #[arg(long, value_name = "FILE", requires_all = ["standby", "tls_certificate"])]
    pub primary_ca: Option<PathBuf>,
    /// Silence of the other exchange after which the standby takes over; at least 0.15 times its
    /// --follower-seconds, which are three heartbeats
    #[arg(long, value_name = "N", default_value_t = 0.5, requires = "standby")]
    pub standby_seconds: f64,
}

#[derive(Args)]
pub(crate) struct FollowerArguments {
    /// Directory for the copy of the journal: empty, or a copy that is continued
    #[arg(long, value_name = "DIR")]
    pub journal: PathBuf,
    /// Address to listen on for the exchange (port 0: the system chooses one). Without --primary-ca
    /// any program that can connect there can write the copy: use a closed network
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Speak TLS 1.3 with this certificate: a PEM file, with the authorities' behind it. SIGHUP
    /// reads it and its key again
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate: a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Accept only an exchange that shows a certificate of the authorities in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub primary_ca: Option<PathBuf>,
    /// Core for the follower's threads (default: the kernel places them)
    #[arg(long, value_name = "CORE")]
    pub core: Option<usize>,
    /// Send each acknowledgement N us later, as if the follower were a round trip of that length
    /// away. For measurements on one host
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub delay_us: u64,
    /// Send each acknowledgement up to N us later than that, at random; they keep their order
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub jitter_us: u64,
    /// End when this parent process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub die_with_parent: Option<i32>,
}
