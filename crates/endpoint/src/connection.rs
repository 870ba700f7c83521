//! An open WebSocket to the target, and a ping over it.

use crate::timed::StepTimer;
use clock::random::SplitMix64;
use std::io::{self, Write};
use transport::Connection;
use wire::frame::{Opcode, write_frame};
use wire::reader::{FrameLimits, Message, MessageReader, Role};

/// Limit on the length of what a target may push.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

pub(crate) struct ProbeConnection {
    connection: Connection,
    reader: MessageReader,
    random: SplitMix64,
    payload: Vec<u8>,
    out: Vec<u8>,
}

impl ProbeConnection {
    /// `early` is what came after the answer to the upgrade.
    pub(crate) fn new(
        connection: Connection,
        early: &[u8],
        payload_bytes: usize,
        seed: u64,
    ) -> ProbeConnection {
        let limits = FrameLimits { message_bytes_max: MESSAGE_BYTES_MAX };
        let mut reader = MessageReader::new(Role::Client, limits);
        // Less than one read, which there is room for.
        let taken = reader.fill_from(early, 0);
        debug_assert_eq!(taken, early.len());
        let (random, payload) = (SplitMix64::new(seed), vec![0; payload_bytes]);
        ProbeConnection { connection, reader, random, payload, out: Vec::new() }
    }

    /// From just before the write of a ping until just after the read that brought the first byte
    /// of its pong, ns. What the target pushes meanwhile is read and dropped.
    pub(crate) fn ping(&mut self, timed: &StepTimer<'_>) -> io::Result<u64> {
        let mut payload = std::mem::take(&mut self.payload);
        fill(&mut payload, &mut self.random);
        self.encode(Opcode::Ping, &payload);
        let pinged = self.wait_for_pong(&payload, timed);
        self.payload = payload;
        pinged
    }

    fn wait_for_pong(&mut self, payload: &[u8], timed: &StepTimer<'_>) -> io::Result<u64> {
        let start_ns = timed.clock.now_ns();
        self.connection.write_all(&self.out)?;
        loop {
            if let Some(pong_ns) = self.find_pong(payload)? {
                // A pong that came before its ping would be of somebody else's making.
                return Ok(pong_ns.saturating_sub(start_ns));
            }
            let space = self.reader.space();
            let (n, read_ns) = timed.read(&mut self.connection, space)?;
            self.reader.filled(n, read_ns);
        }
    }

    /// Reads messages that are here; when the pong came, if it is among them.
    fn find_pong(&mut self, payload: &[u8]) -> io::Result<Option<u64>> {
        let mut asked = None;
        let mut found = None;
        while let Some(received) = self.reader.next().map_err(io::Error::other)? {
            match received.message {
                Message::Pong(answer) if answer == payload => found = Some(received.first_byte_ns),
                // The latest is enough (RFC 6455, section 5.5.3).
                Message::Ping(wanted) => asked = Some(wanted.to_vec()),
                Message::Close { reason, .. } => {
                    let reason = String::from_utf8_lossy(reason);
                    return Err(io::Error::other(format!("the target closed: {reason}")));
                }
                _ => {}
            }
        }
        if let Some(wanted) = asked {
            self.encode(Opcode::Pong, &wanted);
            self.connection.write_all(&self.out)?;
        }
        Ok(found)
    }

    fn encode(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = (self.random.bits() as u32).to_ne_bytes();
        self.out.clear();
        write_frame(&mut self.out, true, opcode, Some(mask), payload);
    }

    /// Says good-bye. The answer is not awaited.
    pub(crate) fn close(mut self) {
        self.encode(Opcode::Close, &1000u16.to_be_bytes());
        // The connection goes either way.
        let _ = self.connection.write_all(&self.out);
    }
}

/// Fills `payload` with bytes that no earlier one had.
pub(crate) fn fill(payload: &mut [u8], random: &mut SplitMix64) {
    for chunk in payload.chunks_mut(8) {
        chunk.copy_from_slice(&random.bits().to_ne_bytes()[..chunk.len()]);
    }
}
