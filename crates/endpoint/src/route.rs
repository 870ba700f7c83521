//! One address of the target, and the connections to it that stay open.

use crate::connection::ProbeConnection;
use crate::datagram::Echo;
use crate::segments::SegmentCounts;
use crate::target::{StepError, Target};
use crate::timed::StepTimer;
use clock::random::SplitMix64;
use clock::recorder::Recorder;
use plan::process::endpoint::SERIES;
use plan::tables::endpoint::{Probes, Protocol};
use std::io;
use std::net::SocketAddr;
use transport::stamps::Segments;

/// A ping over a connection that stays open, the main series; then the steps of a fresh connection,
/// in order. As in [`plan::process::endpoint::SERIES`].
pub(crate) const PING: usize = 0;
pub(crate) const CONNECT: usize = 1;
const HANDSHAKE: usize = 2;
const UPGRADE: usize = 3;
const FIRST_PING: usize = 4;
/// Datagrams that an echo server may lose before it counts as unreachable.
const FIRST_DATAGRAMS: u32 = 3;

/// The target and the means that all probes share.
pub(crate) struct Tools<'a> {
    pub target: Target<'a>,
    pub probes: &'a Probes,
    pub timed: StepTimer<'a>,
    pub random: SplitMix64,
    /// `None` without stamps.
    pub segments: Option<Segments>,
}

/// The counts of a part of a run, and where its times go.
#[derive(Default)]
pub(crate) struct Tally<'r> {
    /// `None`: the warm-up.
    pub recorder: Option<&'r mut Recorder>,
    /// Steps that were begun, and those that were answered.
    pub sent: u64,
    pub received: u64,
    /// Datagrams that answer no ping, or one that was answered.
    pub strange: u64,
    /// Counts of the stamped pings.
    pub segments: SegmentCounts,
    /// Number of the address' own series of pings; that of connections is the next one.
    rows: Option<usize>,
}

impl<'r> Tally<'r> {
    /// A tally of the measured part.
    pub(crate) fn into_recorder(recorder: &'r mut Recorder) -> Tally<'r> {
        Tally { recorder: Some(recorder), ..Tally::default() }
    }

    fn answered(&mut self, series: usize, ns: u64) {
        self.received += 1;
        self.record(series, ns);
    }

    fn record(&mut self, series: usize, ns: u64) {
        let Some(recorder) = &mut self.recorder else { return };
        recorder.record(series, ns);
        if let (Some(rows), PING | CONNECT) = (self.rows, series) {
            recorder.record(rows + series, ns);
        }
    }
}

enum OpenPeer {
    Connection(ProbeConnection),
    Echo(Box<Echo>),
}

/// One address.
pub(crate) struct Route {
    pub address: SocketAddr,
    /// Number of its own series; `None`: the name has no other address.
    pub rows: Option<usize>,
    /// Whether the name has it, as of the last look-up.
    pub is_named: bool,
    kept: Vec<OpenPeer>,
    /// Which of them was pinged last.
    turn: usize,
    /// Probes so far, warm-up included, and those of them that pinged an open connection.
    number: u64,
    pings: u64,
}

impl Route {
    pub(crate) fn new(address: SocketAddr) -> Route {
        let kept = Vec::new();
        Route { address, rows: None, is_named: true, kept, turn: 0, number: 0, pings: 0 }
    }

    /// Opens the connections that stay open, or one that doesn't where none do. `pause` is called
    /// before each.
    pub(crate) fn open(
        &mut self,
        tools: &mut Tools<'_>,
        pause: &mut dyn FnMut(&StepTimer<'_>),
    ) -> Result<(), StepError> {
        let keeps = if tools.probes.fresh_every == 1 { 0 } else { tools.probes.connections_kept };
        for number in 0..keeps.max(1) {
            pause(&tools.timed);
            if tools.timed.is_stopped() {
                break;
            }
            match self.open_one(tools)? {
                Some(kept) if number < keeps => self.kept.push(kept),
                Some(OpenPeer::Connection(line)) => line.close(),
                _ => {}
            }
        }
        Ok(())
    }

    fn open_one(&self, tools: &mut Tools<'_>) -> Result<Option<OpenPeer>, StepError> {
        if tools.probes.protocol == Protocol::Udp {
            return self.open_echo(tools).map(OpenPeer::Echo).map(Some);
        }
        let opened = tools.target.open(self.address, &tools.timed)?;
        if tools.probes.protocol == Protocol::Tcp {
            return Ok(None);
        }
        let upgraded = tools.target.upgrade(opened.connection, &tools.timed, &mut tools.random)?;
        Ok(Some(OpenPeer::Connection(upgraded.0)))
    }

    /// A socket over which at least one datagram came back.
    fn open_echo(&self, tools: &mut Tools<'_>) -> Result<Box<Echo>, StepError> {
        let mut echo = self.new_echo(tools)?;
        for _ in 0..FIRST_DATAGRAMS {
            let echoed = echo.ping(false, &tools.timed).map_err(StepError::at("ping"))?;
            if echoed.echo_ns.is_some() {
                return Ok(echo);
            }
        }
        let seconds = tools.timed.patience.as_secs_f64();
        let why = format!(
            "{FIRST_DATAGRAMS} datagrams got no echo within {seconds} s each: it takes an echo \
             server (RFC 862), and a firewall that lets UDP pass"
        );
        Err(StepError::at("ping")(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    fn new_echo(&self, tools: &mut Tools<'_>) -> Result<Box<Echo>, StepError> {
        let (payload_bytes, seed) = (tools.probes.payload_bytes, tools.random.bits());
        let stamps = tools.segments.is_some();
        let echo = Echo::open(self.address, payload_bytes, stamps, &tools.timed, seed);
        Ok(Box::new(echo.map_err(StepError::at("open a socket"))?))
    }

    /// Closes what is open.
    pub(crate) fn close(&mut self) {
        self.kept.clear();
    }

    /// Makes one probe.
    pub(crate) fn probe(
        &mut self,
        tools: &mut Tools<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<(), StepError> {
        self.number += 1;
        tally.rows = self.rows;
        if !self.number.is_multiple_of(u64::from(tools.probes.fresh_every)) {
            return self.again(tools, tally);
        }
        if tools.probes.protocol == Protocol::Udp {
            let mut echo = self.new_echo(tools)?;
            return ping_datagram(&mut echo, FIRST_PING, false, tools, tally);
        }
        self.fresh(tools, tally)
    }

    /// Opens a connection, pings once, closes it.
    fn fresh(&self, tools: &mut Tools<'_>, tally: &mut Tally<'_>) -> Result<(), StepError> {
        tally.sent += 1;
        let opened = tools.target.open(self.address, &tools.timed)?;
        tally.answered(CONNECT, opened.connect_ns);
        if let Some(handshake_ns) = opened.handshake_ns {
            tally.sent += 1;
            tally.answered(HANDSHAKE, handshake_ns);
        }
        if tools.probes.protocol == Protocol::Tcp {
            return Ok(());
        }
        tally.sent += 1;
        let (mut line, upgrade_ns) =
            tools.target.upgrade(opened.connection, &tools.timed, &mut tools.random)?;
        tally.answered(UPGRADE, upgrade_ns);
        tally.sent += 1;
        let ping_ns =
            line.ping(&tools.timed).map_err(StepError::at("ping over a fresh connection"))?;
        tally.answered(FIRST_PING, ping_ns);
        line.close();
        Ok(())
    }

    /// Pings over the connection whose turn it is.
    fn again(&mut self, tools: &Tools<'_>, tally: &mut Tally<'_>) -> Result<(), StepError> {
        // The plan's check keeps it from being empty.
        self.turn = (self.turn + 1) % self.kept.len();
        let every = u64::from(tools.probes.stamp_every);
        match &mut self.kept[self.turn] {
            OpenPeer::Echo(echo) => {
                self.pings += 1;
                let stamp = every > 0 && self.pings.is_multiple_of(every);
                ping_datagram(echo, PING, stamp, tools, tally)
            }
            OpenPeer::Connection(line) => {
                tally.sent += 1;
                let ping_ns = line.ping(&tools.timed).map_err(StepError::at("ping"))?;
                tally.answered(PING, ping_ns);
                Ok(())
            }
        }
    }
}

/// A lost datagram took at least the patience: so it is recorded, and not left out.
fn ping_datagram(
    echo: &mut Echo,
    series: usize,
    stamp: bool,
    tools: &Tools<'_>,
    tally: &mut Tally<'_>,
) -> Result<(), StepError> {
    let echoed = echo.ping(stamp, &tools.timed).map_err(StepError::at("ping"))?;
    if let (Some(segments), Some(stamps)) = (&tools.segments, echoed.stamps) {
        let segments = segments.of(stamps);
        tally.segments.add(&segments, &stamps.1);
        for (at, ns) in segments.into_iter().enumerate() {
            ns.into_iter().for_each(|ns| tally.record(SERIES.len() + at, ns));
        }
    }
    tally.sent += 1;
    tally.strange += echoed.strange;
    match echoed.echo_ns {
        Some(ns) => tally.answered(series, ns),
        None => tally.record(series, tools.timed.patience.as_nanos() as u64),
    }
    Ok(())
}
