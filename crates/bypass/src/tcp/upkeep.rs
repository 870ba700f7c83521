//! The sockets of a stack: which of them listen, wait, are open, closing or free.

use super::{ClosedConnection, TcpStack};
use crate::frames::Frames;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::{IpAddress, IpEndpoint, IpListenEndpoint};
use std::net::SocketAddrV4;

impl<F: Frames> TcpStack<F> {
    /// Whether the first segment of a connection from `from` to `to` belongs to one that exists. A
    /// listening socket would take it for another one. An old connection in TIME-WAIT gives way.
    pub(super) fn is_repeated(&mut self, from: SocketAddrV4, to: SocketAddrV4) -> bool {
        match self.existing(to, from) {
            Some((handle, State::TimeWait))
                if self.closing.iter().any(|one| one.handle == handle) =>
            {
                self.closing.retain(|one| one.handle != handle);
                self.recycle(handle);
                false
            }
            found => found.is_some(),
        }
    }

    /// The connection between two ends, and its state.
    pub(super) fn existing(
        &self,
        ours: SocketAddrV4,
        peer: SocketAddrV4,
    ) -> Option<(SocketHandle, State)> {
        let (local, remote) = (IpEndpoint::from(ours), IpEndpoint::from(peer));
        self.sockets.iter().find_map(|(handle, socket)| {
            let smoltcp::socket::Socket::Tcp(socket) = socket;
            let is_same =
                socket.remote_endpoint() == Some(remote) && socket.local_endpoint() == Some(local);
            is_same.then(|| (handle, socket.state()))
        })
    }

    /// After segments came: what peers opened is ready, what has ended is free.
    pub(super) fn sort_out(&mut self) {
        let mut at = 0;
        while let Some(&(handle, port)) = self.opening.get(at) {
            match self.sockets.get::<Socket<'_>>(handle).state() {
                State::Listen | State::SynReceived => at += 1,
                // The peer was silent or gave up.
                State::Closed => {
                    self.opening.swap_remove(at);
                    self.recycle(handle);
                    self.listen_with_one_more(port);
                }
                _ => {
                    self.opening.swap_remove(at);
                    self.ready.push_back(handle);
                }
            }
        }
        while let Some(at) = at_closed(&self.closing, &self.sockets) {
            let ClosedConnection { handle, .. } = self.closing.remove(at);
            self.recycle(handle);
        }
        self.refill();
    }

    /// Resets peers of closed connections that go on sending, or don't end their side: as the
    /// kernel does, and so that nobody keeps a connection for ever.
    pub(super) fn end_closed(&mut self) {
        for one in &self.closing {
            let socket: &mut Socket<'_> = self.sockets.get_mut(one.handle);
            if !ends_by_itself(socket) && (socket.can_recv() || self.now >= one.until) {
                socket.abort();
            }
        }
    }

    /// When the next of them is reset because it does not end its side.
    pub(super) fn next_reset(&self) -> Option<Instant> {
        let awaited = |one: &&ClosedConnection| !ends_by_itself(self.sockets.get(one.handle));
        self.closing.iter().filter(awaited).map(|one| one.until).min()
    }

    /// Gives every port as many listening sockets as the backlog has room for.
    pub(super) fn refill(&mut self) {
        let Some(share) = self.limits.backlog.checked_div(self.ports.len()) else { return };
        for at in 0..self.ports.len() {
            let port = self.ports[at];
            let used = self.opening.iter().filter(|one| one.1 == port).count();
            let waiting = self.ready.len();
            for _ in (used + waiting)..share.max(1) {
                if !self.listen_with_one_more(port) {
                    return;
                }
            }
        }
    }

    fn listen_with_one_more(&mut self, port: u16) -> bool {
        let Some(mut socket) = self.free_socket() else { return false };
        let local = IpListenEndpoint { addr: Some(IpAddress::Ipv4(self.address)), port };
        if socket.listen(local).is_err() {
            self.free.push(socket);
            return false;
        }
        self.opening.push((self.sockets.add(socket), port));
        true
    }

    /// A socket without a connection; if there is none, that of the longest TIME-WAIT.
    pub(super) fn free_socket(&mut self) -> Option<Socket<'static>> {
        if self.free.is_empty() {
            let waits = |one: &ClosedConnection| {
                self.sockets.get::<Socket<'_>>(one.handle).state() == State::TimeWait
            };
            let oldest = self.closing.iter().position(waits)?;
            let ClosedConnection { handle, .. } = self.closing.remove(oldest);
            self.recycle(handle);
        }
        self.free.pop()
    }

    pub(super) fn recycle(&mut self, handle: SocketHandle) {
        let smoltcp::socket::Socket::Tcp(mut socket) = self.sockets.remove(handle);
        // A socket that is closed may be opened again, which resets it.
        socket.abort();
        self.free.push(socket);
    }
}

/// Whether a closed connection needs nothing more of its peer.
fn ends_by_itself(socket: &Socket<'_>) -> bool {
    matches!(socket.state(), State::TimeWait | State::Closed)
}

/// Where the first closed connection stands that has nothing more to send.
fn at_closed(closing: &[ClosedConnection], sockets: &SocketSet<'_>) -> Option<usize> {
    let has_ended = |one: &ClosedConnection| {
        let socket: &Socket<'_> = sockets.get(one.handle);
        // The reset of an aborted one leaves with the next poll; then the peer is forgotten.
        socket.state() == State::Closed && socket.remote_endpoint().is_none()
    };
    closing.iter().position(has_ended)
}
