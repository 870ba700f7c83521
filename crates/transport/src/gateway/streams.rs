//! The exchange's side of the gateways: all their streams as one set. Its only system calls wake a
//! sleeping gateway, or sleep itself.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::channel;
use std::time::Duration;

use clock::Deadline;

use crate::connection::Connection;
use crate::gateway::end::{GatewayEnd, Stream};
use crate::gateway::link::{Handover, PATIENCE, least_busy, told};
use crate::gateway::message::{BYTES_MAX, HEAD_BYTES, Head, LinkKind};
use crate::gateway::state::Gateways;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};

/// The first sleep of a thread that spun: what it costs if a gateway sends something before it sees
/// that it must wake us.
const FIRST_REST_NS: u64 = 1_000_000;

impl Streams for Gateways {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let gateway = least_busy(&self.links);
        self.links[gateway].one_more();
        let (outcome, added) = channel();
        // Fails only if the gateway has ended; then nobody answers either.
        let _ = self.ends[gateway].given.send(Handover::Added(connection, outcome));
        self.links[gateway].wake_gateway();
        let number = told(&added)?;
        let id = self.take_in(gateway, number);
        self.ends[gateway].added.push_back((number, Some(id)));
        Ok(id)
    }

    fn remove(&mut self, id: StreamId) {
        self.say(id, LinkKind::Remove);
        let Some(stream) = self.streams.get_mut(id.index()).and_then(Option::take) else { return };
        self.ends[stream.gateway].forget(stream.number, id);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.say(id, LinkKind::Shutdown);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        let (outcome, listens) = channel();
        let _ = self.ends[0].given.send(Handover::Listener(listener, outcome));
        self.links[0].wake_gateway();
        told(&listens)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.incoming.pop_front().transpose()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        let stream = self.streams.get(id.index())?.as_ref()?;
        self.links[stream.gateway].peer(stream.number)
    }

    #[inline]
    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if std::mem::take(&mut self.rests) {
            self.links.iter().for_each(|link| link.spin());
        }
        self.wait_so(self.sleeps, until_ns, ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.sleeps {
            return self.wait_so(true, until_ns, ready);
        }
        if std::mem::replace(&mut self.rests, true) {
            return self.wait_so(true, until_ns, ready);
        }
        self.links.iter().for_each(|link| link.rest());
        let first_ns = self.clock.now_ns() + FIRST_REST_NS;
        self.wait_so(true, until_ns.min(first_ns), ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        let Some(&mut Stream { gateway, ended, .. }) = self.stream(id) else {
            return StreamRead::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Some(read) = self.ends[gateway].held.read(id, into) {
            return read;
        }
        match ended {
            None => StreamRead::Empty,
            Some(0) => StreamRead::Closed,
            Some(errno) => StreamRead::Failed(io::Error::from_raw_os_error(errno)),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let stream = self.streams.get_mut(id.index()).and_then(Option::as_mut);
        let Some(stream) = stream else {
            return Write::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Some(errno @ 1..) = stream.ended {
            return Write::Failed(io::Error::from_raw_os_error(errno));
        }
        let end = &mut self.ends[stream.gateway];
        let head = Head { kind: LinkKind::Write, stream: stream.number, value: 0 }.encode();
        self.message[..HEAD_BYTES].copy_from_slice(&head);
        let stamp_ns = self.clock.now_ns();
        let wanted = from.len().min(stream.window);
        let mut n = 0;
        // Earlier messages go first.
        while n < wanted && end.unsaid.is_empty() {
            let part = &from[n..wanted.min(n + BYTES_MAX)];
            let message = &mut self.message[..HEAD_BYTES + part.len()];
            message[HEAD_BYTES..].copy_from_slice(part);
            if end.to_gateway.try_send(message).is_err() {
                break;
            }
            n += part.len();
        }
        stream.window -= n;
        if n < wanted && !stream.short_of_room {
            stream.short_of_room = true;
            self.short_of_room.push(id);
        }
        if n > 0 {
            self.links[stream.gateway].wake_gateway();
        }
        Write::Bytes { n, stamp_ns }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        let stream = self.streams.get_mut(id.index()).and_then(Option::as_mut);
        let stream = stream.ok_or(io::ErrorKind::NotConnected)?;
        stream.watched = watch;
        if watch && stream.window > 0 && !stream.short_of_room {
            stream.short_of_room = true;
            self.short_of_room.push(id);
        }
        Ok(())
    }
}

impl Drop for Gateways {
    fn drop(&mut self) {
        self.ends.iter_mut().for_each(GatewayEnd::say);
        self.links.iter().for_each(|link| link.stop());
        let deadline = Deadline::after(PATIENCE);
        for thread in self.ends.iter_mut().filter_map(|end| end.thread.take()) {
            while !thread.is_finished() && !deadline.left().is_zero() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // One that hangs is left to the end of the process.
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}
