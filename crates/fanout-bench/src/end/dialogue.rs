//! The words between a fan-out's source and the end that has subscribers on another host.
//!
//! ```text
//!   source  {"asked":{…}}     how many subscribers, where they register, the messages to expect
//!   end     {"ready":{}}      all are registered; or {"rejected":"why"}
//!   source  {"finish":{}}     all messages are sent
//!   end     {"received":{…}}  counts, then an arrival for each message and subscriber, 8 bytes;
//!                             or, if asked for hops, the replicator's two times of each message
//! ```

use clock::Deadline;
use clock::wall::WallLine;
use plan::tables::fan_out::REPLICATOR_TIMES;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;
use transport::echo::is_nothing;

/// The version of these words. An end rejects every other one.
pub(crate) const VERSION: u32 = 2;
/// Limit on the length of a line.
const LINE_BYTES_MAX: usize = 64 << 10;
/// How long one read waits for bytes.
const TURN: Duration = Duration::from_millis(20);
/// How long a write waits for an end that does not read.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that one read takes.
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of an arrival.
const WORD_BYTES: usize = 8;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The source asks for subscribers.
    Asked(EndRequest),
    /// All of them are registered.
    Ready {},
    /// There are none, and why.
    Rejected(String),
    /// All messages are sent: the end says what arrived.
    Finish {},
    /// Counts of what arrived. The arrivals follow.
    Received(EndReport),
}

/// The subscribers that a source asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndRequest {
    /// See [`VERSION`].
    pub version: u32,
    /// Where they register.
    pub registration: SocketAddrV4,
    /// How many.
    pub subscribers: usize,
    /// Number of the first measured message; those before it are the warm-up.
    pub first: u64,
    /// Measured messages.
    pub messages: u64,
    /// The end is on the replicator's host. It says when the replicator had received each message,
    /// and when it sent the copies, instead of when these arrived.
    pub hops: bool,
    /// How long after being ready the end waits for `finish`, ms.
    pub lasts_ms: u64,
}

impl EndRequest {
    /// Numbers that the end says of each message.
    pub(crate) fn times(&self) -> usize {
        if self.hops { REPLICATOR_TIMES as usize } else { self.subscribers }
    }
}

/// The counts of an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndReport {
    /// Measured copies that came a second time.
    pub duplicated: u64,
    /// Datagrams that are no copy of a message of this run.
    pub strange: u64,
    /// Copies that the kernel did not stamp.
    pub unstamped: u64,
    /// Copies that the kernel dropped in front of the subscribers; `None`: it does not say.
    pub dropped: Option<u64>,
    /// With hops: copies that have no times of the replicator.
    pub timeless: u64,
    /// With hops: copies that arrived before the replicator sent them, by its times.
    pub backwards: u64,
    /// The line by which the kernel's stamps are laid on the end's clock.
    pub wall: WallLine,
}

/// A connection between both.
pub(crate) struct Dialogue {
    stream: TcpStream,
    /// Bytes that came and were not taken yet.
    kept: Vec<u8>,
    chunk: Vec<u8>,
}

impl Dialogue {
    /// # Errors
    /// If the socket is broken.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Dialogue> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TURN))?;
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        Ok(Dialogue { stream, kept: Vec::new(), chunk: vec![0; CHUNK_BYTES] })
    }

    /// Looks whether the other end is still there. Doesn't wait, and takes nothing.
    ///
    /// # Errors
    /// If it closed the connection.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match peeked {
            Ok(0) => Err(closed()),
            Err(error) if !is_nothing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Says a line.
    ///
    /// # Errors
    /// If the other end is gone, or does not read.
    pub(crate) fn say(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.stream.write_all(&text)
    }

    /// Says arrivals, after their line.
    ///
    /// # Errors
    /// As [`Dialogue::say`].
    pub(crate) fn say_arrivals(&mut self, arrivals_ns: &[u64]) -> io::Result<()> {
        for some in arrivals_ns.chunks(CHUNK_BYTES / WORD_BYTES) {
            let bytes: Vec<u8> = some.iter().flat_map(|ns| ns.to_le_bytes()).collect();
            self.stream.write_all(&bytes)?;
        }
        Ok(())
    }

    /// The next line, if it is there within a moment.
    ///
    /// # Errors
    /// If the other end is gone, or says what is no line of this version.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        if !self.kept.contains(&b'\n') {
            self.read()?;
        }
        let Some(end) = self.kept.iter().position(|byte| *byte == b'\n') else {
            let is_long = self.kept.len() > LINE_BYTES_MAX;
            let why = || io::Error::new(ErrorKind::InvalidData, "it says a line without an end");
            return if is_long { Err(why()) } else { Ok(None) };
        };
        let line = serde_json::from_slice(&self.kept[..end]).map_err(|error| {
            io::Error::new(
                ErrorKind::InvalidData,
                format!("it says what makes no sense here ({error}); use one version of tickpath"),
            )
        });
        self.kept.drain(..=end);
        line.map(Some)
    }

    /// The next line, at most `patience` from now.
    ///
    /// # Errors
    /// As [`Dialogue::next`]; or if it does not come.
    pub(crate) fn line_within(&mut self, patience: Duration) -> io::Result<Line> {
        let deadline = Deadline::after(patience);
        loop {
            if let Some(line) = self.next()? {
                return Ok(line);
            }
            if deadline.left().is_zero() {
                let why = format!("it said nothing for {} s", patience.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, why));
            }
        }
    }

    /// `count` arrivals, of which none comes later than `patience` after the one before.
    ///
    /// # Errors
    /// As [`Dialogue::line_within`].
    pub(crate) fn arrivals(&mut self, count: usize, patience: Duration) -> io::Result<Vec<u64>> {
        let mut deadline = Deadline::after(patience);
        while self.kept.len() < count * WORD_BYTES {
            if self.read()? > 0 {
                deadline = Deadline::after(patience);
            } else if deadline.left().is_zero() {
                let why = format!("it sent no arrivals for {} s", patience.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, why));
            }
        }
        let (words, _) = self.kept.as_chunks::<WORD_BYTES>();
        Ok(words[..count].iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Takes what comes within a moment; 0 if nothing does.
    fn read(&mut self) -> io::Result<usize> {
        match self.stream.read(&mut self.chunk) {
            Ok(0) => Err(closed()),
            Ok(length) => {
                self.kept.extend_from_slice(&self.chunk[..length]);
                Ok(length)
            }
            Err(error) if is_nothing(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn pair() -> (Dialogue, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Dialogue::new(listener.accept().unwrap().0).unwrap(), stream)
    }

    #[test]
    fn lines_and_arrivals_come_as_they_were_said() {
        let (mut one, other) = pair();
        let mut other = Dialogue::new(other).unwrap();
        let asked = Line::Asked(EndRequest {
            version: VERSION,
            registration: "192.0.2.1:9".parse().unwrap(),
            subscribers: 3,
            first: 10,
            messages: 40_000,
            hops: true,
            lasts_ms: 9,
        });
        one.say(&asked).unwrap();
        one.say(&Line::Finish {}).unwrap();
        assert_eq!(other.line_within(PATIENCE).unwrap(), asked);
        assert_eq!(other.line_within(PATIENCE).unwrap(), Line::Finish {});
        let arrivals: Vec<u64> = (0..120_000).map(|number| number << 20).collect();
        let received = Line::Received(EndReport { dropped: None, ..EndReport::default() });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                other.say(&received).unwrap();
                other.say_arrivals(&arrivals).unwrap();
            });
            assert_eq!(one.line_within(PATIENCE).unwrap(), received);
            assert_eq!(one.arrivals(arrivals.len(), PATIENCE).unwrap(), arrivals);
        });
    }

    #[test]
    fn an_end_that_is_silent_or_gone_or_strange_is_an_error_in_time() {
        let (mut one, mut other) = pair();
        let moment = Duration::from_millis(50);
        assert_eq!(one.line_within(moment).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(one.arrivals(1, moment).unwrap_err().kind(), ErrorKind::TimedOut);
        other.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let why = one.line_within(PATIENCE).unwrap_err();
        assert!(why.to_string().contains("one version"), "{why}");
        one.check().unwrap();
        drop(other);
        let why = one.line_within(PATIENCE).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::UnexpectedEof, "{why}");
        assert_eq!(one.check().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let (mut one, mut other) = pair();
        let endless = std::thread::spawn(move || other.write_all(&vec![b'x'; 4 << 20]));
        let why = one.line_within(PATIENCE).unwrap_err();
        assert!(why.to_string().contains("without an end"), "{why}");
        drop(one);
        let _ = endless.join().unwrap();
    }
}
