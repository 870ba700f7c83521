//! One established TLS 1.3 connection: records in and out, in buffers that are allocated once.
//!
//! rustls makes the handshake and derives the keys; ring encrypts and decrypts in place. rustls'
//! own record layer, buffered or not, allocates a vector for each record in both directions. An
//! order path can't have that, so the records (RFC 8446, section 5) are made here.
//!
//! See docs/decisions/015-tls.md.

use super::record::{
    ALERT, APPLICATION_DATA, BAD_RECORD_MAC, CLOSE_NOTIFY, DirectionKey, HANDSHAKE, HEAD_BYTES,
    ILLEGAL_PARAMETER, INPUT_BYTES, KEY_UPDATE, NEW_SESSION_TICKET, PLAIN_BYTES_MAX,
    RECORD_BYTES_MAX, RECORD_OVERFLOW, RECORD_OVERHEAD_BYTES, RecordError, UNEXPECTED_MESSAGE,
    record_bytes,
};
use crate::streams::StreamRead;
use rustls::ExtractedSecrets;
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use std::io;

/// AES-GCM keys are replaced after this many records: 2^24.5 is the limit of RFC 8446, 5.5.
pub(super) const KEY_RECORDS_MAX: u64 = 1 << 24;

/// The result of [`Session::take`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TakeOutcome {
    /// So many bytes; at least 1.
    Bytes(usize),
    /// No whole record is here.
    NeedsMore,
    /// The peer said that nothing more comes.
    Closed,
}

/// Gives new keys for a direction.
pub(super) enum Keys {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

impl Keys {
    fn next_sending(&mut self) -> Result<DirectionKey, RecordError> {
        Ok(DirectionKey::new(match self {
            Keys::Client(keys) => keys.update_tx_secret()?,
            Keys::Server(keys) => keys.update_tx_secret()?,
        }))
    }

    fn next_receiving(&mut self) -> Result<DirectionKey, RecordError> {
        Ok(DirectionKey::new(match self {
            Keys::Client(keys) => keys.update_rx_secret()?,
            Keys::Server(keys) => keys.update_rx_secret()?,
        }))
    }
}

/// Both directions of one connection.
pub struct Session {
    keys: Keys,
    sending: DirectionKey,
    receiving: DirectionKey,
    /// Records under one key of ours; then it is replaced.
    pub(super) key_records_max: u64,
    /// The peer asked for new keys of ours.
    owes_key_update: bool,
    /// Bytes of a handshake message that is not of interest and has not come whole.
    skipped: usize,
    /// Decrypted records of `plain`, then what is not decrypted, of `start..end`.
    input: Box<[u8]>,
    plain: std::ops::Range<usize>,
    start: usize,
    end: usize,
    /// When the read returned that brought the last bytes.
    pub(super) stamp_ns: u64,
    /// Sealed, and not taken by the kernel.
    out: Vec<u8>,
    /// So many of them are gone.
    out_gone: usize,
    /// So many bytes of plain text lie in `out`. The writer is told when all of it is gone.
    out_plain: usize,
    is_closed: bool,
    says_close: bool,
    /// In its set's list of streams with more here.
    pub(super) listed: bool,
    /// The kernel shall stamp the write that takes the last of the next bytes.
    pub(super) stamps_next: bool,
    /// The last record that was opened carried data of the application.
    ends_with_data: bool,
}

impl Session {
    /// `input` is what came behind the handshake.
    pub(super) fn new(secrets: ExtractedSecrets, keys: Keys, input: &[u8]) -> Session {
        let mut buffer = vec![0; INPUT_BYTES.max(input.len())].into_boxed_slice();
        buffer[..input.len()].copy_from_slice(input);
        Session {
            keys,
            sending: DirectionKey::new(secrets.tx),
            receiving: DirectionKey::new(secrets.rx),
            key_records_max: KEY_RECORDS_MAX,
            owes_key_update: false,
            skipped: 0,
            input: buffer,
            plain: 0..0,
            start: 0,
            end: input.len(),
            stamp_ns: 0,
            out: Vec::with_capacity(RECORD_BYTES_MAX + 1024),
            out_gone: 0,
            out_plain: 0,
            is_closed: false,
            says_close: false,
            listed: false,
            stamps_next: false,
            ends_with_data: false,
        }
    }

    /// Where the next bytes of the socket go; not empty once [`Session::take`] needs more.
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.plain.is_empty() && self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            (self.start, self.plain) = (0, 0..0);
        }
        &mut self.input[self.end..]
    }

    /// `n` bytes were put there.
    #[inline]
    pub(super) fn filled(&mut self, n: usize, stamp_ns: u64) {
        self.end += n;
        self.stamp_ns = stamp_ns;
    }

    /// The length of the next record, if it is here whole.
    #[inline]
    fn record(&self) -> Result<Option<usize>, RecordError> {
        let Some(bytes) = record_bytes(&self.input[self.start..self.end]) else { return Ok(None) };
        if bytes > RECORD_BYTES_MAX {
            return Err(RecordError::TooLong(bytes));
        }
        Ok((bytes <= self.end - self.start).then_some(bytes))
    }

    /// Whether [`Session::take`] would give something without another read.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        !self.plain.is_empty() || self.is_closed || !matches!(self.record(), Ok(None))
    }

    /// Whether the last byte that [`Session::take`] gave came with the last one that was received:
    /// no other record lies behind it.
    pub(crate) fn ends_read(&self) -> bool {
        self.plain.is_empty() && self.start == self.end && self.ends_with_data
    }

    /// Copies plain text to `into`: of all records that are here whole, as much as there is room
    /// for.
    #[inline]
    pub(super) fn take(&mut self, into: &mut [u8]) -> Result<TakeOutcome, RecordError> {
        let mut n = 0;
        while n < into.len() {
            if self.plain.is_empty() && !self.open_next()? {
                break;
            }
            let part = self.plain.len().min(into.len() - n);
            let from = self.plain.start..self.plain.start + part;
            into[n..n + part].copy_from_slice(&self.input[from]);
            self.plain.start += part;
            n += part;
        }
        Ok(match n {
            0 if self.is_closed => TakeOutcome::Closed,
            0 => TakeOutcome::NeedsMore,
            n => TakeOutcome::Bytes(n),
        })
    }

    /// Takes plain text to `into`; reads the socket by `read`, at most once, only if no record is
    /// here whole.
    #[inline]
    pub(crate) fn read_through(
        &mut self,
        into: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> StreamRead,
    ) -> Result<StreamRead, RecordError> {
        let mut taken = self.take(into)?;
        if taken == TakeOutcome::NeedsMore {
            match read(self.space()) {
                StreamRead::Bytes { n, stamp_ns } => self.filled(n, stamp_ns),
                other => return Ok(other),
            }
            taken = self.take(into)?;
        }
        Ok(match taken {
            TakeOutcome::Bytes(n) => StreamRead::Bytes { n, stamp_ns: self.stamp_ns },
            TakeOutcome::NeedsMore => StreamRead::Empty,
            TakeOutcome::Closed => StreamRead::Closed,
        })
    }

    /// Decrypts the next record; whether there was one. It may be without plain text.
    #[inline]
    fn open_next(&mut self) -> Result<bool, RecordError> {
        if self.is_closed {
            return Ok(false);
        }
        let Some(bytes) = self.record()? else { return Ok(false) };
        let start = self.start;
        let record = &mut self.input[start..start + bytes];
        if record[0] != APPLICATION_DATA || bytes < RECORD_OVERHEAD_BYTES {
            return Err(RecordError::UnexpectedRecord(record[0]));
        }
        let (kind, plain_bytes) = self.receiving.open(record)?;
        self.start += bytes;
        let plain = start + HEAD_BYTES..start + HEAD_BYTES + plain_bytes;
        self.ends_with_data = kind == APPLICATION_DATA;
        match kind {
            APPLICATION_DATA => self.plain = plain,
            _ => self.aside(kind, plain)?,
        }
        Ok(true)
    }

    /// A record that carries no data of the application.
    #[cold]
    fn aside(&mut self, kind: u8, plain: std::ops::Range<usize>) -> Result<(), RecordError> {
        match (kind, &self.input[plain.clone()]) {
            (ALERT | HANDSHAKE, []) => Err(RecordError::Empty(kind)),
            (ALERT, [_, CLOSE_NOTIFY]) => {
                self.is_closed = true;
                Ok(())
            }
            (ALERT, [_, alert]) => Err(RecordError::Alert(*alert)),
            (HANDSHAKE, _) => self.message(plain),
            _ => Err(RecordError::UnexpectedRecord(kind)),
        }
    }

    /// Handshake messages after the handshake: tickets, which are not used, and new keys.
    fn message(&mut self, plain: std::ops::Range<usize>) -> Result<(), RecordError> {
        let mut at = plain.start;
        loop {
            let skipped = self.skipped.min(plain.end - at);
            self.skipped -= skipped;
            at += skipped;
            match self.input[at..plain.end] {
                [] => return Ok(()),
                [NEW_SESSION_TICKET, a, b, c, ..] if matches!(self.keys, Keys::Client(_)) => {
                    self.skipped = 4 + u32::from_be_bytes([0, a, b, c]) as usize;
                }
                // New keys begin with a record.
                [KEY_UPDATE, 0, 0, 1, asked @ 0..=1] => {
                    self.receiving = self.keys.next_receiving()?;
                    self.owes_key_update |= asked == 1;
                    return Ok(());
                }
                [KEY_UPDATE, 0, 0, 1, asked] => return Err(RecordError::BadKeyUpdate(asked)),
                [other, ..] => return Err(RecordError::UnexpectedMessage(other)),
            }
        }
    }

    /// Sealed bytes that the kernel has not taken.
    #[inline]
    pub(crate) fn out(&self) -> &[u8] {
        &self.out[self.out_gone..]
    }

    /// The kernel has taken `n` of [`Session::out`]. Gives how many bytes of plain text are out
    /// with that: all at once, or none.
    #[inline]
    pub(super) fn written(&mut self, n: usize) -> usize {
        self.out_gone += n;
        if self.out_gone < self.out.len() {
            return 0;
        }
        self.out.clear();
        self.out_gone = 0;
        std::mem::take(&mut self.out_plain)
    }

    /// Seals the next record of `from` where nothing is left in [`Session::out`].
    #[inline]
    pub(super) fn seal(&mut self, from: &[u8]) -> Result<(), RecordError> {
        debug_assert!(self.out.is_empty());
        if self.owes_key_update || self.sending.sequence >= self.key_records_max {
            self.update_key()?;
        }
        let from = &from[..from.len().min(PLAIN_BYTES_MAX)];
        self.sending.seal(APPLICATION_DATA, from, &mut self.out);
        self.out_plain = from.len();
        Ok(())
    }

    /// Tells the peer that new keys follow, and uses them.
    #[cold]
    fn update_key(&mut self) -> Result<(), RecordError> {
        self.owes_key_update = false;
        self.sending.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], &mut self.out);
        self.sending = self.keys.next_sending()?;
        Ok(())
    }

    /// A record of a kind that carries no data of the application.
    #[cfg(any(test, fuzzing))]
    pub(super) fn seal_aside(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        self.sending.seal(kind, content, &mut record);
        record
    }

    /// A read of a socket that blocks.
    pub(crate) fn read_from(
        &mut self,
        socket: &mut impl io::Read,
        into: &mut [u8],
    ) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match self.take(into).map_err(io::Error::other)? {
                TakeOutcome::Bytes(n) => return Ok(n),
                TakeOutcome::Closed => return Ok(0),
                TakeOutcome::NeedsMore => {}
            }
            match socket.read(self.space())? {
                0 => return Ok(0),
                n => self.filled(n, 0),
            }
        }
    }

    /// A write to a socket that blocks. It takes one record.
    pub(crate) fn write_to(
        &mut self,
        socket: &mut impl io::Write,
        from: &[u8],
    ) -> io::Result<usize> {
        self.seal(from).map_err(io::Error::other)?;
        socket.write_all(self.out())?;
        Ok(self.written(self.out().len()))
    }

    /// Seals the end of our side behind what is left in [`Session::out`], once.
    pub(crate) fn close(&mut self) {
        if !std::mem::replace(&mut self.says_close, true) {
            self.sending.seal(ALERT, &[1, CLOSE_NOTIFY], &mut self.out);
        }
    }

    /// Seals the alert by which the peer learns why the connection ends, if there is one.
    #[cold]
    pub(crate) fn complain(&mut self, error: &RecordError) {
        let alert = match error {
            RecordError::Decrypt(_) => BAD_RECORD_MAC,
            RecordError::TooLong(_) | RecordError::TooMuchPlainText(_) => RECORD_OVERFLOW,
            RecordError::BadKeyUpdate(_) => ILLEGAL_PARAMETER,
            RecordError::UnexpectedRecord(_)
            | RecordError::UnexpectedMessage(_)
            | RecordError::Empty(_) => UNEXPECTED_MESSAGE,
            RecordError::Alert(_) | RecordError::Keys(_) => return,
        };
        if !std::mem::replace(&mut self.says_close, true) {
            self.sending.seal(ALERT, &[2, alert], &mut self.out);
        }
    }
}
