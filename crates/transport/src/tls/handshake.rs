//! A handshake, by rustls, one flight at a time. It may allocate: it is off the order path.

use super::error::{HandshakeError, Side};
use super::hello::offers_tls13;
use super::record::{
    ALERT, CHANGE_CIPHER_SPEC, HANDSHAKE, INPUT_BYTES, MISSING_EXTENSION, PROTOCOL_VERSION,
    RECORD_BYTES_MAX, record_bytes,
};
use super::session::{Keys, Session};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{ClientConfig, Error, PeerIncompatible, ServerConfig};
use rustls_pki_types::ServerName;
use std::sync::Arc;

/// A handshake that is not over.
pub(super) struct Handshake {
    connection: Connection,
    input: Vec<u8>,
    /// So many bytes of the input are whole records that rustls has been shown. It sees no record
    /// behind its last one: that belongs to the [`Session`].
    shown: usize,
    out: Vec<u8>,
    out_gone: usize,
    /// The alert that the peer gets in place of the one that rustls chose.
    alert: Option<u8>,
}

enum Connection {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// How far a handshake is.
pub(super) enum Progress {
    /// The peer's next flight is awaited.
    Waits,
    /// Done, once what is in [`Handshake::out`] is out.
    Done,
}

/// The outcome of one call of rustls.
enum Step {
    Again,
    Waits,
    Done,
}

impl Handshake {
    pub(super) fn client(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Handshake, HandshakeError> {
        let connection = UnbufferedClientConnection::new(config, name)
            .map_err(|error| HandshakeError::of(Side::Client, error))?;
        Ok(Handshake::new(Connection::Client(connection)))
    }

    pub(super) fn server(config: Arc<ServerConfig>) -> Result<Handshake, HandshakeError> {
        let connection = UnbufferedServerConnection::new(config)
            .map_err(|error| HandshakeError::of(Side::Server, error))?;
        Ok(Handshake::new(Connection::Server(connection)))
    }

    fn new(connection: Connection) -> Handshake {
        let (input, out) = (Vec::with_capacity(INPUT_BYTES), Vec::new());
        Handshake { connection, input, shown: 0, out, out_gone: 0, alert: None }
    }

    fn side(&self) -> Side {
        match self.connection {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        }
    }

    /// Takes what was read.
    pub(super) fn received(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Bytes that are kept until their record is whole.
    #[cfg(any(test, fuzzing))]
    pub(super) fn input_bytes(&self) -> usize {
        self.input.len()
    }

    /// Bytes to send.
    pub(super) fn out(&self) -> &[u8] {
        &self.out[self.out_gone..]
    }

    /// `n` bytes of [`Handshake::out`] were sent.
    pub(super) fn written(&mut self, n: usize) {
        self.out_gone += n;
    }

    /// Goes as far as what was received leads. After an error [`Handshake::out`] has what the peer
    /// is to be told.
    pub(super) fn advance(&mut self) -> Result<Progress, HandshakeError> {
        loop {
            let step = match self.step() {
                Ok(step) => step,
                Err(error) => {
                    // The next call gives the alert that rustls has made, if one may be sent. A
                    // second one would look at the input again.
                    let _ = self.step();
                    if let Some(alert) = self.alert {
                        self.out = vec![ALERT, 3, 3, 0, 2, 2, alert];
                        self.out_gone = 0;
                    }
                    return Err(error);
                }
            };
            match step {
                Step::Again => {}
                Step::Done => return Ok(Progress::Done),
                Step::Waits if self.show_next()? => {}
                Step::Waits => return Ok(Progress::Waits),
            }
        }
    }

    fn step(&mut self) -> Result<Step, HandshakeError> {
        let side = self.side();
        let Handshake { connection, input, shown, out, alert, .. } = self;
        let shown_bytes = &mut input[..*shown];
        let (discard, mut step) = match connection {
            Connection::Client(client) => step(client.process_tls_records(shown_bytes), out),
            Connection::Server(server) => step(server.process_tls_records(shown_bytes), out),
        };
        // Clients older than TLS 1.2 don't send that extension. rustls looks for it before it looks
        // at the version, and answers handshake_failure.
        if let Err(Error::PeerIncompatible(lack)) = &mut step
            && *lack == PeerIncompatible::SignatureAlgorithmsExtensionRequired
        {
            if offers_tls13(shown_bytes) {
                *alert = Some(MISSING_EXTENSION);
            } else {
                *alert = Some(PROTOCOL_VERSION);
                *lack = PeerIncompatible::SupportedVersionsExtensionRequired;
            }
        }
        input.drain(..discard);
        *shown -= discard;
        step.map_err(|error| HandshakeError::of(side, error))
    }

    /// Shows rustls one more record; whether there is a whole one.
    fn show_next(&mut self) -> Result<bool, HandshakeError> {
        let next = &self.input[self.shown..];
        if let Some(&first) = next.first()
            && !matches!(first, CHANGE_CIPHER_SPEC..=HANDSHAKE | 23)
        {
            return Err(HandshakeError::not_tls(self.side(), next));
        }
        let Some(bytes) = record_bytes(next) else { return Ok(false) };
        if bytes > RECORD_BYTES_MAX {
            return Err(HandshakeError::not_tls(self.side(), next));
        }
        if bytes > next.len() {
            return Ok(false);
        }
        self.shown += bytes;
        Ok(true)
    }

    /// The connection, when the handshake is done and everything is out.
    pub(super) fn finish(self) -> Result<Session, HandshakeError> {
        let side = self.side();
        let failed = |error| HandshakeError::of(side, error);
        let (secrets, keys) = match self.connection {
            Connection::Client(client) => {
                let (secrets, keys) = client.dangerous_into_kernel_connection().map_err(failed)?;
                (secrets, Keys::Client(keys))
            }
            Connection::Server(server) => {
                let (secrets, keys) = server.dangerous_into_kernel_connection().map_err(failed)?;
                (secrets, Keys::Server(keys))
            }
        };
        Ok(Session::new(secrets, keys, &self.input[self.shown..]))
    }
}

fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    out: &mut Vec<u8>,
) -> (usize, Result<Step, rustls::Error>) {
    let UnbufferedStatus { discard, state } = status;
    let step = state.map(|state| match state {
        ConnectionState::EncodeTlsData(mut data) => {
            let end = out.len();
            if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
                data.encode(&mut [])
            {
                out.resize(end + required_size, 0);
                // There is room now.
                let _ = data.encode(&mut out[end..]);
            }
            Step::Again
        }
        // It is sent before the next bytes are awaited.
        ConnectionState::TransmitTlsData(data) => {
            data.done();
            Step::Again
        }
        ConnectionState::WriteTraffic(_) => Step::Done,
        _ => Step::Waits,
    });
    (discard, step)
}
