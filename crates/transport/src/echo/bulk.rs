//! Bulk flows to the raw echo over TCP, which then is a sink: it throws away the bytes that a
//! message announces, and sends nothing but the account that the message may ask for.
//!
//! | message | kind | sequence | body |
//! |---|---|---|---|
//! | block | [`BULK`] | bytes that follow its header | not looked at |
//! | account | [`BULK`] | bytes of all blocks so far | when the last of them was read, ns, u64 |

use crate::echo::{EchoMessage, HEADER_BYTES};
use crate::streams::StreamId;

/// The kind of a block, and of the account.
pub const BULK: u8 = b'B';
/// Limit on the bytes of a block.
pub const BLOCK_BYTES_MAX: u64 = 1 << 20;
/// Bytes of an account.
pub const ACCOUNT_BYTES: usize = HEADER_BYTES + 8;
/// Bytes of one read of a block, as iperf3 reads them.
const READ_BYTES: usize = 128 * 1024;

/// The sink's account of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Bytes of all blocks so far, without their headers.
    pub bytes: u64,
    /// When the read returned that brought the last of them, ns on the sink's clock.
    pub received_ns: u64,
}

impl Account {
    /// Decodes an account; `None` if the bytes are none.
    pub fn decode(bytes: &[u8; ACCOUNT_BYTES]) -> Option<Account> {
        let message = EchoMessage::decode(bytes).ok().flatten()?;
        let received_ns = u64::from_le_bytes(*bytes[HEADER_BYTES..].first_chunk()?);
        let is_account = message.kind == BULK && usize::from(message.length_bytes) == ACCOUNT_BYTES;
        is_account.then_some(Account { bytes: message.sequence, received_ns })
    }

    fn encode(self, out: &mut Vec<u8>) {
        let length_bytes = ACCOUNT_BYTES as u16;
        let sequence = self.bytes;
        EchoMessage { length_bytes, reply_bytes: 0, kind: BULK, sequence }.encode(out);
        let stamp_at = out.len() - 8;
        out[stamp_at..].copy_from_slice(&self.received_ns.to_le_bytes());
    }
}

/// The header of a block of this many bytes, at most [`BLOCK_BYTES_MAX`].
pub fn block(bytes: u64, asks_for_account: bool) -> EchoMessage {
    let reply_bytes = if asks_for_account { ACCOUNT_BYTES as u16 } else { 0 };
    EchoMessage { length_bytes: HEADER_BYTES as u16, reply_bytes, kind: BULK, sequence: bytes }
}

/// A header that announces no block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadBlock;

#[derive(Clone, Copy, Default)]
struct Flow {
    /// Bytes of the block that are still to come.
    left: u64,
    /// Bytes of all blocks so far.
    taken: u64,
    asks_for_account: bool,
}

/// The state of each connection's block.
#[derive(Default)]
pub(crate) struct Sink {
    flows: Vec<Flow>,
    /// Where the bytes of all connections go. Empty until there is a block.
    scratch: Vec<u8>,
}

impl Sink {
    pub(crate) fn opened(&mut self, id: StreamId) {
        while self.flows.len() <= id.index() {
            self.flows.push(Flow::default());
        }
        self.flows[id.index()] = Flow::default();
    }

    /// Whether the next bytes of the connection belong to a block.
    #[inline]
    pub(crate) fn is_in_block(&self, id: StreamId) -> bool {
        self.flows[id.index()].left > 0
    }

    /// Where they go: no further than the end of the block.
    pub(crate) fn space(&mut self, id: StreamId) -> &mut [u8] {
        let left = self.flows[id.index()].left.min(READ_BYTES as u64) as usize;
        &mut self.scratch[..left]
    }

    /// A block begins.
    ///
    /// # Errors
    /// If the header is out of range.
    pub(crate) fn begin(&mut self, id: StreamId, header: EchoMessage) -> Result<(), BadBlock> {
        let asks_for_account = usize::from(header.reply_bytes) == ACCOUNT_BYTES;
        let is_header = usize::from(header.length_bytes) == HEADER_BYTES
            && (asks_for_account || header.reply_bytes == 0)
            && (1..=BLOCK_BYTES_MAX).contains(&header.sequence);
        if !is_header {
            return Err(BadBlock);
        }
        self.scratch.resize(READ_BYTES, 0);
        let flow = &mut self.flows[id.index()];
        (flow.left, flow.asks_for_account) = (header.sequence, asks_for_account);
        Ok(())
    }

    /// Bytes of the block that are still to come.
    pub(crate) fn left(&self, id: StreamId) -> u64 {
        self.flows[id.index()].left
    }

    /// `n` bytes of the block were read at `stamp_ns`. An account that is due goes to `out`.
    pub(crate) fn took(&mut self, id: StreamId, n: usize, stamp_ns: u64, out: &mut Vec<u8>) {
        let flow = &mut self.flows[id.index()];
        flow.left = flow.left.saturating_sub(n as u64);
        flow.taken += n as u64;
        if flow.left == 0 && flow.asks_for_account {
            Account { bytes: flow.taken, received_ns: stamp_ns }.encode(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: StreamId = StreamId(0);

    #[test]
    fn an_account_is_of_all_blocks_and_of_the_last_read() {
        let mut sink = Sink::default();
        sink.opened(ID);
        let mut out = Vec::new();
        sink.begin(ID, block(300_000, false)).unwrap();
        assert_eq!(sink.space(ID).len(), READ_BYTES);
        for (n, stamp_ns) in [(131_072, 1), (131_072, 2), (37_856, 3)] {
            assert!(sink.is_in_block(ID));
            sink.took(ID, n, stamp_ns, &mut out);
        }
        assert!(!sink.is_in_block(ID) && out.is_empty());
        sink.begin(ID, block(10, true)).unwrap();
        assert_eq!(sink.space(ID).len(), 10, "no further than the block");
        sink.took(ID, 10, 7, &mut out);
        let account = Account::decode(out.as_slice().try_into().unwrap());
        assert_eq!(account, Some(Account { bytes: 300_010, received_ns: 7 }));
        sink.opened(ID);
        assert_eq!(sink.left(ID), 0, "the id is another connection's now");
    }

    #[test]
    fn a_header_out_of_range_begins_no_block() {
        let mut sink = Sink::default();
        sink.opened(ID);
        for bad in [
            block(0, true),
            block(BLOCK_BYTES_MAX + 1, false),
            EchoMessage { length_bytes: 32, ..block(1, false) },
            EchoMessage { reply_bytes: 4_096, ..block(1, false) },
        ] {
            assert_eq!(sink.begin(ID, bad), Err(BadBlock));
        }
        assert!(!sink.is_in_block(ID));
        let echoed = EchoMessage { kind: b'O', ..block(24, false) };
        let mut bytes = Vec::new();
        echoed.encode(&mut bytes);
        bytes.resize(ACCOUNT_BYTES, 0);
        assert_eq!(Account::decode(bytes.as_slice().try_into().unwrap()), None);
    }
}
