//! Connections and flows to one exchange, as a plan asks for them.

use crate::load::error::TraderError;
use crate::load::session::OrderProtocol;
use clock::Clock;
use plan::process::orders::OrdersPlan;
use plan::trust::Trust;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;
use transport::tls::{self, Connector};
use transport::{Connection, Dialogue, StreamId, Streams};

/// Time limit for connecting, and for each step of logging on.
const LOG_ON: Duration = Duration::from_secs(5);

/// Makes connections to one exchange, as a plan asks for them.
pub(crate) struct Dialler<'a> {
    target: &'a str,
    tls: Option<Connector>,
    datagrams: bool,
    patience: Duration,
}

impl Dialler<'_> {
    pub(crate) fn new<'a>(
        target: &'a str,
        tls: Option<&Trust>,
    ) -> Result<Dialler<'a>, TraderError> {
        let tls = tls.map(|trust| Connector::new(trust, target)).transpose()?;
        Ok(Dialler { target, tls, datagrams: false, patience: LOG_ON })
    }

    /// The same; makes flows of datagrams if `datagrams`.
    pub(super) fn over_datagrams(self, datagrams: bool) -> Self {
        Self { datagrams, ..self }
    }

    /// The same with another time limit for connecting, reading and writing.
    pub(crate) fn patient_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// A fresh connection that blocks, but not for ever.
    pub(crate) fn connect(&self) -> io::Result<Connection> {
        if self.datagrams {
            return dial_datagrams(self.target).map(Connection::of_datagrams);
        }
        let socket = dial_within(self.target, self.patience)?;
        match &self.tls {
            None => Ok(socket.into()),
            Some(connector) => connector.connect(socket),
        }
    }

    /// Streams that such connections can be added to, or that dial by themselves as this one would.
    pub(crate) fn around(&self, streams: Box<dyn Streams>, clock: Clock) -> Box<dyn Streams> {
        match &self.tls {
            None => streams,
            Some(connector) => tls::dialling(streams, connector.clone(), clock),
        }
    }
}

/// A fresh flow of datagrams to the first address of `HOST:PORT`.
pub(crate) fn dial_datagrams(target: &str) -> io::Result<UdpSocket> {
    transport::datagram::flow_to(first_address(target)?)
}

pub(crate) fn first_address(target: &str) -> io::Result<SocketAddr> {
    let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    target.to_socket_addrs()?.next().ok_or_else(none)
}

/// A fresh, blocking connection to `HOST:PORT`, with a time-out.
pub(crate) fn dial(target: &str) -> io::Result<TcpStream> {
    dial_within(target, LOG_ON)
}

fn dial_within(target: &str, patience: Duration) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = target.to_socket_addrs()?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A fresh connection, logged on.
pub(super) fn log_on<E: OrderProtocol>(
    dialler: &Dialler,
    plan: &OrdersPlan,
    lane: usize,
    entry: &mut E,
) -> io::Result<Connection> {
    let mut stream = dialler.connect()?;
    entry.log_on(lane, &mut stream, &accounts(plan, lane))?;
    Ok(stream)
}

/// A fresh stream of a set without sockets of the kernel, logged on.
pub(super) fn log_on_below<E: OrderProtocol>(
    streams: &mut dyn Streams,
    plan: &OrdersPlan,
    lane: usize,
    entry: &mut E,
    clock: Clock,
) -> io::Result<StreamId> {
    let id = streams.dial(first_address(&plan.target)?)?;
    let (patience, is_secure) = (LOG_ON, plan.tls.is_some());
    let mut stream = Dialogue { streams, id, clock, patience, is_secure };
    entry.log_on(lane, &mut stream, &accounts(plan, lane))?;
    Ok(id)
}

/// The accounts that share a connection.
pub(super) fn accounts(plan: &OrdersPlan, lane: usize) -> Vec<usize> {
    (lane..plan.load.accounts).step_by(plan.load.connections).collect()
}
