//! The bare echo: the same bytes as [`crate::echo`] over one connection, with nothing but receive
//! and send. It has no [`serve`](crate::serve) loop and no [`Streams`](crate::Streams), so the
//! difference to a floor is the cost of our own loop.

mod ticker;

use crate::echo::{EchoMessage, MESSAGE_BYTES_MAX, is_nothing};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use ticker::serve_ticks;

/// How often an end that sleeps in the kernel looks whether it is to stop.
const SLEEP_MAX: Duration = Duration::from_millis(50);
/// The same while no client is connected.
const ACCEPT_PAUSE: Duration = Duration::from_millis(1);

/// One end of the connection. A spinning end never sleeps; a blocking end sleeps in its read call.
pub struct Bare {
    stream: TcpStream,
}

/// How a read went.
#[derive(Debug, PartialEq, Eq)]
pub enum BareRead {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing so far: look whether to stop, then read again.
    Nothing,
}

impl Bare {
    /// Takes over a connected datagram socket: a receive gives one datagram.
    ///
    /// # Errors
    /// If the kernel rejects an option.
    pub fn of_datagrams(socket: UdpSocket, spins: bool) -> io::Result<Bare> {
        let stream = TcpStream::from(OwnedFd::from(socket));
        Bare::prepared(stream, spins)
    }

    /// Takes over a connected stream.
    ///
    /// # Errors
    /// If the kernel rejects an option.
    pub fn new(stream: TcpStream, spins: bool) -> io::Result<Bare> {
        stream.set_nodelay(true)?;
        Bare::prepared(stream, spins)
    }

    fn prepared(stream: TcpStream, spins: bool) -> io::Result<Bare> {
        stream.set_nonblocking(spins)?;
        stream.set_read_timeout(Some(SLEEP_MAX))?;
        stream.set_write_timeout(Some(SLEEP_MAX))?;
        Ok(Bare { stream })
    }

    /// One receive call.
    ///
    /// # Errors
    /// If the connection is broken; [`ErrorKind::UnexpectedEof`] if the other end closed it.
    #[inline]
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<BareRead> {
        match self.stream.read(into) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => Ok(BareRead::Bytes(n)),
            Err(error) if is_nothing(&error) => Ok(BareRead::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Sends all of `bytes`, as a rule in one call; asks `goes_on` when the kernel takes no more.
    ///
    /// # Errors
    /// If the connection is broken, or `goes_on` says no.
    #[inline]
    pub fn send(&mut self, mut bytes: &[u8], goes_on: impl Fn() -> bool) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if is_nothing(&error) && goes_on() => {}
                Err(error) if is_nothing(&error) => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Echoes one client after the other until `stop` is set. Each reply has the length that its
/// message asks for.
///
/// # Errors
/// If no client can be accepted any more; a connection that breaks just ends.
pub fn serve(listener: &TcpListener, spins: bool, stop: &AtomicBool) -> io::Result<()> {
    while let Some(stream) = accept(listener, stop)? {
        // A client that breaks off or sends nonsense ends its own connection.
        let _ = Bare::new(stream, spins).and_then(|mut bare| echo(&mut bare, stop));
    }
    Ok(())
}

/// The next client; `None` when `stop` is set.
///
/// # Errors
/// The error of a system call.
pub(crate) fn accept(listener: &TcpListener, stop: &AtomicBool) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => return Ok(Some(stream)),
            Err(error) if is_nothing(&error) => std::thread::sleep(ACCEPT_PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn echo(bare: &mut Bare, stop: &AtomicBool) -> io::Result<()> {
    let goes_on = || !stop.load(Ordering::Relaxed);
    let mut bytes = [0; 2 * MESSAGE_BYTES_MAX];
    let mut answer = Vec::with_capacity(MESSAGE_BYTES_MAX);
    let mut end = 0;
    while goes_on() {
        let BareRead::Bytes(n) = bare.receive(&mut bytes[end..])? else { continue };
        end += n;
        while let Some(message) = EchoMessage::decode(&bytes[..end]).map_err(io::Error::other)? {
            if let Some(reply) = message.reply() {
                answer.clear();
                reply.encode(&mut answer);
                bare.send(&answer, goes_on)?;
            }
            let length = usize::from(message.length_bytes);
            bytes.copy_within(length..end, 0);
            end -= length;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn served(spins: bool, client: impl FnOnce(TcpStream)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener, spins, &stop));
            client(TcpStream::connect(address).unwrap());
            stop.store(true, Ordering::Relaxed);
            let stopped = Instant::now();
            server.join().unwrap().unwrap();
            assert!(stopped.elapsed() < Duration::from_secs(1), "stops at once");
        });
    }

    /// Split and batched messages are answered in their order and in the length that they ask for.
    #[test]
    fn each_message_is_answered_in_the_length_that_it_asks_for() {
        for spins in [true, false] {
            served(spins, |mut stream| {
                let ask = |length_bytes, reply_bytes, sequence| EchoMessage {
                    length_bytes,
                    reply_bytes,
                    kind: b'O',
                    sequence,
                };
                let mut out = Vec::new();
                ask(100, 300, 1).encode(&mut out);
                ask(16, 0, 2).encode(&mut out);
                ask(4096, 16, 3).encode(&mut out);
                stream.write_all(&out[..10]).unwrap();
                stream.write_all(&out[10..]).unwrap();
                let mut answers = [0; 316];
                stream.read_exact(&mut answers).unwrap();
                let first = EchoMessage::decode(&answers).unwrap().unwrap();
                assert_eq!((first.length_bytes, first.sequence), (300, 1));
                let second = EchoMessage::decode(&answers[300..]).unwrap().unwrap();
                assert_eq!((second.length_bytes, second.sequence), (16, 3));
            });
        }
    }

    #[test]
    fn it_survives_a_client_that_sends_nonsense_and_one_that_leaves() {
        served(true, |mut stream| {
            stream.write_all(&[0; 64]).unwrap();
            let ended = stream.read(&mut [0; 16]);
            assert!(!matches!(ended, Ok(1..)), "{ended:?}");
            let again = TcpStream::connect(stream.peer_addr().unwrap()).unwrap();
            drop(again);
        });
    }
}
