//! The primary's side of a TCP connection: connecting by name, and reading frames with a time-out.

use crate::frame::Frames;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A connection to the first address of that name that answers within the limit.
pub(crate) fn connect(follower: &str, limit: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in follower.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Reads what is there, or waits for the stream's time-out.
pub(crate) fn receive(mut stream: impl Read, frames: &mut Frames) -> io::Result<()> {
    let mut bytes = [0; 4096];
    match stream.read(&mut bytes) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => {
            frames.push(&bytes[..n]);
            Ok(())
        }
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                Ok(())
            }
            _ => Err(error),
        },
    }
}
