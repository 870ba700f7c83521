//! An exchange as a stream in memory.

use std::io;
use std::time::Duration;
use transport::Blocking;

/// The exchange's end of a dialect.
pub(super) trait Answer {
    /// Takes the whole messages from the start of `inbound`, and appends the answers to `out`.
    fn answer(&mut self, inbound: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<()>;
}

/// An exchange as a stream.
pub(super) struct InMemory<A> {
    peer: A,
    inbound: Vec<u8>,
    out: Vec<u8>,
}

impl<A: Answer> InMemory<A> {
    pub(super) fn of(peer: A) -> InMemory<A> {
        InMemory { peer, inbound: Vec::new(), out: Vec::new() }
    }
}

impl<A: Answer> io::Write for InMemory<A> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inbound.extend_from_slice(bytes);
        self.peer.answer(&mut self.inbound, &mut self.out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<A: Answer> io::Read for InMemory<A> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = into.len().min(self.out.len());
        into[..n].copy_from_slice(&self.out[..n]);
        self.out.drain(..n);
        Ok(n)
    }
}

impl<A: Answer> Blocking for InMemory<A> {
    fn set_patience(&mut self, _: Duration) -> io::Result<()> {
        Ok(())
    }

    fn is_secure(&self) -> bool {
        false
    }
}
