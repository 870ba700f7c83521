//! The exchange's address for SBE over UDP.

use anyhow::{Context, bail};
use clock::Clock;
use plan::backend as rows;
use serde_json::{Value, json};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::PoisonError;
use transport::Streams;
use transport::acked::{self, SharedCounts};

/// A socket that takes orders, before its exchange listens.
pub(crate) struct SbeUdp {
    /// Where it receives.
    pub address: SocketAddr,
    /// Its counts at the end.
    pub counts: SharedCounts,
    socket: UdpSocket,
}

impl SbeUdp {
    /// Takes `HOST:PORT`.
    ///
    /// # Errors
    /// If it can't be had.
    pub(crate) fn bind(address: &str) -> anyhow::Result<SbeUdp> {
        let bound = acked::bind(address).and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) =
            bound.with_context(|| format!("cannot take SBE over UDP at --sbe-udp {address}"))?;
        Ok(SbeUdp { address, counts: SharedCounts::default(), socket })
    }

    /// The streams of a backend, with those over UDP beside them. The bells wake it.
    ///
    /// # Errors
    /// If the backend has no sockets of the kernel, or can't be opened.
    pub(crate) fn open(
        &self,
        backend: &str,
        bells: &[BorrowedFd<'_>],
        clock: Clock,
    ) -> anyhow::Result<Box<dyn Streams>> {
        if rows::is_below(backend) {
            bail!("--sbe-udp needs sockets of the kernel, which {backend} lacks: use spin");
        }
        let backend = transport::backend(backend)?;
        let socket = self.socket.try_clone()?;
        Ok(acked::beside(backend, socket, bells, clock, self.counts.clone())?)
    }
}

/// The counts as an exchange's last line has them.
pub(crate) fn as_json(counts: &SharedCounts) -> Value {
    let counts = *counts.lock().unwrap_or_else(PoisonError::into_inner);
    json!({
        "peers": counts.accepted,
        "challenged": counts.challenged,
        "unchallenged": counts.unchallenged,
        "full": counts.full,
        "bad_cookies": counts.bad_cookies,
        "strangers": counts.strangers,
        "malformed": counts.malformed,
    })
}
