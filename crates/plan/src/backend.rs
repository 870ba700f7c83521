//! The backends of sockets, by name. `transport` implements them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One way to wait, read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend {
    /// The name in scenarios and records.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether a waiting thread keeps its core busy.
    pub spins: bool,
}

/// Non-blocking sockets.
pub const SPIN: Backend = Backend {
    name: "spin",
    about: "non-blocking sockets, polled without a pause; keeps its core busy",
    spins: true,
};
/// Sockets in epoll.
pub const BLOCK: Backend = Backend {
    name: "block",
    about: "the thread sleeps in epoll until something is ready",
    spins: false,
};
/// io_uring that sleeps.
pub const IO_URING: Backend = Backend {
    name: "io_uring",
    about: "the thread sleeps in io_uring until a request completes",
    spins: false,
};
/// io_uring that polls.
pub const IO_URING_SPIN: Backend = Backend {
    name: "io_uring_spin",
    about: "io_uring, whose flag in shared memory is read without a pause; keeps its core busy",
    spins: true,
};

/// AF_XDP: a network interface without the kernel's stack.
pub const AF_XDP: Backend = Backend {
    name: "af_xdp",
    about: "past the kernel's stack, over AF_XDP as root; TCP in user space; keeps its core busy",
    spins: true,
};

/// AF_XDP, as a way to copy datagrams: the received frame becomes one of the copies.
pub const AF_XDP_IN_PLACE: Backend = Backend {
    name: "af_xdp_in_place",
    about: "copies datagrams over AF_XDP as root; the received frame becomes the last copy; keeps \
            its core busy",
    spins: true,
};

/// DPDK: a poll-mode driver without the kernel's stack.
pub const DPDK: Backend = Backend {
    name: "dpdk",
    about: "past the kernel's stack, over DPDK if built with it, as root; TCP in user space; keeps \
            its core busy",
    spins: true,
};
/// XDP programs that copy datagrams in the kernel: no process is in between.
pub const XDP: Backend = Backend {
    name: "xdp",
    about: "XDP programs copy datagrams in the kernel, as root; the thread sleeps",
    spins: false,
};
/// The ways of a replicator to copy datagrams.
pub const REPLICATORS: [Backend; 6] = [SPIN, BLOCK, AF_XDP, AF_XDP_IN_PLACE, DPDK, XDP];

/// The backends below the kernel: they have no sockets, and listen and connect by themselves.
pub const BELOW: [Backend; 2] = [AF_XDP, DPDK];

/// Limit on the connections of a process over one of [`BELOW`].
pub const BELOW_CONNECTIONS_MAX: usize = 256;

/// All backends over the kernel's sockets.
pub const BACKENDS: [Backend; 4] = [SPIN, BLOCK, IO_URING, IO_URING_SPIN];
/// Limit on an exchange's gateway threads.
pub const GATEWAYS_MAX: usize = 64;

/// Whether a waiting thread of the backend, or of the replicator's way, of that name keeps its core
/// busy.
pub fn spins(name: &str) -> bool {
    all().chain(REPLICATORS).any(|backend| backend.name == name && backend.spins)
}

/// Whether the backend of that name is plain sockets, read and written by one system call each.
pub fn is_plain(name: &str) -> bool {
    [SPIN.name, BLOCK.name].contains(&name)
}

/// Whether the backend of that name keeps datagrams apart.
pub fn takes_datagrams(name: &str) -> bool {
    is_plain(name) || is_below(name)
}

/// Whether the kernel can stamp what the backend of that name sends and receives.
pub fn stamps(name: &str) -> bool {
    is_plain(name)
}

/// Whether the backend of that name has no sockets of the kernel: it listens and connects by
/// itself.
pub fn is_below(name: &str) -> bool {
    BELOW.iter().any(|backend| backend.name == name)
}

/// Whether a backend, or a replicator's way, of that name uses [queues](Queue) of an interface.
pub fn has_queues(name: &str) -> bool {
    [AF_XDP.name, AF_XDP_IN_PLACE.name].contains(&name)
}

/// Whether a backend, or a replicator's way, of that name uses a network interface without the
/// kernel's sockets, which takes CAP_NET_ADMIN.
pub fn needs_net_admin(name: &str) -> bool {
    is_below(name) || [AF_XDP_IN_PLACE.name, XDP.name].contains(&name)
}

/// The receive queues of a network interface that [`AF_XDP`] uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "QueueText", into = "QueueText")]
pub enum Queue {
    /// All that it has.
    #[default]
    All,
    /// This one, to which the card steers our flows and nobody else's.
    One(u32),
}

impl Queue {
    /// Whether none was chosen.
    pub fn is_all(&self) -> bool {
        *self == Queue::All
    }
}

/// The forms of [`Queue`] in a file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum QueueText {
    Text(String),
    Number(u32),
}

impl TryFrom<QueueText> for Queue {
    type Error = NoQueue;

    fn try_from(written: QueueText) -> Result<Queue, NoQueue> {
        match written {
            QueueText::Text(text) => text.parse(),
            QueueText::Number(number) => Ok(Queue::One(number)),
        }
    }
}

impl From<Queue> for QueueText {
    fn from(queue: Queue) -> QueueText {
        match queue {
            Queue::All => QueueText::Text(queue.to_string()),
            Queue::One(number) => QueueText::Number(number),
        }
    }
}

impl FromStr for Queue {
    type Err = NoQueue;

    fn from_str(text: &str) -> Result<Queue, NoQueue> {
        match text {
            "all" => Ok(Queue::All),
            text => text.parse().map(Queue::One).map_err(|_| NoQueue(text.to_owned())),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Queue::All => f.write_str("all"),
            Queue::One(number) => write!(f, "{number}"),
        }
    }
}

/// That text names no queue.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no queue: write all, or the number of one, such as 1")]
pub struct NoQueue(String);

/// There is no backend of that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no backend {name:?}; there are: {known}")]
pub struct UnknownBackend {
    name: String,
    known: String,
}

impl UnknownBackend {
    /// The error of `name`.
    pub fn new(name: &str) -> UnknownBackend {
        UnknownBackend::among(name, all())
    }

    fn among(name: &str, known: impl Iterator<Item = Backend>) -> UnknownBackend {
        let known: Vec<&str> = known.map(|backend| backend.name).collect();
        UnknownBackend { name: name.to_owned(), known: known.join(", ") }
    }
}

/// The way of a replicator of that name.
///
/// # Errors
/// If there is none; the error lists [`REPLICATORS`].
pub fn replicator(name: &str) -> Result<Backend, UnknownBackend> {
    let found = REPLICATORS.into_iter().find(|backend| backend.name == name);
    found.ok_or_else(|| UnknownBackend::among(name, REPLICATORS.into_iter()))
}

/// All backends, those over sockets first.
pub fn all() -> impl Iterator<Item = Backend> {
    BACKENDS.into_iter().chain(BELOW)
}

/// The backend of that name.
///
/// # Errors
/// If there is none; the error lists all backends.
pub fn find(name: &str) -> Result<Backend, UnknownBackend> {
    all().find(|backend| backend.name == name).ok_or_else(|| UnknownBackend::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_all_or_a_number() {
        let of = |text: &str| -> Result<Queue, String> {
            #[derive(Deserialize)]
            struct One {
                queue: Queue,
            }
            let read: Result<One, toml::de::Error> = toml::from_str(&format!("queue = {text}"));
            read.map(|one| one.queue).map_err(|why| why.to_string())
        };
        assert_eq!(of("\"all\""), Ok(Queue::All));
        assert_eq!((of("3"), of("\"3\"")), (Ok(Queue::One(3)), Ok(Queue::One(3))));
        for wrong in ["\"\"", "\"-1\"", "\"first\""] {
            let why = of(wrong).unwrap_err();
            assert!(why.contains("such as 1"), "{why}");
        }
        assert_eq!(Queue::One(3).to_string().parse::<Queue>().unwrap(), Queue::One(3));
    }
}
