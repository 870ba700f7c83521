//! One stream of the set: its socket, its requests, and what came and was not read yet.

use super::ring::{Completion, PIECE_BYTES, PIECES, Piece, Ring};
use crate::streams::StreamRead;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;

/// With this many unread pieces a stream takes more than its share of those of all streams.
const SHARE: usize = PIECES as usize / 16;

/// A request that is made again when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Request {
    #[default]
    Off,
    /// In the list of those that the next wait hands to the kernel.
    Queued,
    /// The kernel has it.
    Armed,
}

/// Bytes that came in one piece.
struct ReceivedPiece {
    piece: Piece,
    /// Bytes of it that were read.
    read: usize,
    stamp_ns: u64,
}

/// Why nothing more comes.
enum StreamEnd {
    Closed,
    Failed(Errno),
}

#[derive(Default)]
pub(super) struct UringLane {
    pub socket: Option<TcpStream>,
    pub receive: Request,
    pub poll: Request,
    /// Whether the stream is watched until it takes bytes again.
    pub watched: bool,
    /// Nothing more is to be received for now.
    pub paused: bool,
    /// It took more than its share: it receives one piece a request, the next when that is read,
    /// until its socket is empty.
    pub rationed: bool,
    /// Its receive request is being cancelled.
    pub cancelling: bool,
    /// It is in the list of streams with something to read.
    pub listed: bool,
    received: VecDeque<ReceivedPiece>,
    end: Option<StreamEnd>,
    /// The end was read.
    told: bool,
}

impl UringLane {
    /// Takes a new socket.
    pub fn open(&mut self, socket: TcpStream) {
        self.socket = Some(socket);
        // It may come to have all pieces.
        self.received.reserve(usize::from(PIECES));
    }

    /// Whether its number can be used again: a removed stream keeps it to its last completion.
    pub fn is_vacant(&self) -> bool {
        self.socket.is_none() && self.receive != Request::Armed && self.poll != Request::Armed
    }

    pub fn is_readable(&self) -> bool {
        !self.received.is_empty() || (self.end.is_some() && !self.told)
    }

    /// Whether more may come.
    pub fn receives(&self) -> bool {
        self.socket.is_some() && self.end.is_none()
    }

    /// Whether a receive request is to be made.
    pub fn wants_request(&self) -> bool {
        self.receives() && !self.paused
    }

    /// Whether that must wait until something was read.
    pub fn has_its_share(&self) -> bool {
        self.rationed && !self.received.is_empty()
    }

    /// Takes a completion of its receive request, with the stamp of the call that brought it.
    pub fn completed(&mut self, completion: Completion, stamp_ns: u64, ring: &mut Ring) {
        let Completion { result, piece, .. } = completion;
        match piece {
            Some(piece) if piece.len() > 0 && self.receives() => {
                // A piece that is not full was the last in the socket.
                self.rationed &= piece.len() == PIECE_BYTES;
                self.received.push_back(ReceivedPiece { piece, read: 0, stamp_ns });
                self.rationed |= self.received.len() >= SHARE;
                return;
            }
            Some(piece) => ring.give_back(piece),
            None => {}
        }
        // Bytes that come after the stream was removed belong to nobody.
        if !self.receives() {
            return;
        }
        if result == 0 {
            self.end = Some(StreamEnd::Closed);
            return;
        }
        let errno = Errno::from_raw_os_error(-result);
        // No piece was left, or something broke the request off: it is made again.
        let goes_on = [Errno::NOBUFS, Errno::INTR, Errno::AGAIN, Errno::CANCELED].contains(&errno);
        if result < 0 && !goes_on {
            self.end = Some(StreamEnd::Failed(errno));
        }
    }

    /// Bytes that came with the same stamp, as many as there is room for.
    #[inline]
    pub fn read(&mut self, into: &mut [u8], ring: &mut Ring) -> StreamRead {
        let Some(first) = self.received.front() else { return self.ended() };
        let stamp_ns = first.stamp_ns;
        let mut n = 0;
        while n < into.len()
            && let Some(received) = self.received.front_mut()
            && received.stamp_ns == stamp_ns
        {
            let rest = &ring.bytes(&received.piece)[received.read..];
            let taken = rest.len().min(into.len() - n);
            into[n..n + taken].copy_from_slice(&rest[..taken]);
            n += taken;
            received.read += taken;
            if received.read == received.piece.len()
                && let Some(ReceivedPiece { piece, .. }) = self.received.pop_front()
            {
                ring.give_back(piece);
            }
        }
        StreamRead::Bytes { n, stamp_ns }
    }

    fn ended(&mut self) -> StreamRead {
        self.told |= self.end.is_some();
        match &self.end {
            None => StreamRead::Empty,
            Some(StreamEnd::Closed) => StreamRead::Closed,
            Some(StreamEnd::Failed(errno)) => StreamRead::Failed(io::Error::from(*errno)),
        }
    }

    /// Gives back what nobody has read and forgets everything but the requests.
    pub fn clear(&mut self, ring: &mut Ring) {
        while let Some(ReceivedPiece { piece, .. }) = self.received.pop_front() {
            ring.give_back(piece);
        }
        (self.end, self.told, self.watched, self.paused) = (None, false, false, false);
        (self.rationed, self.cancelling) = (false, false);
    }
}
