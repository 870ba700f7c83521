//! Properties of TLS for any bytes from a stranger: no panic, no more than a few records in memory,
//! and no byte given to the reader that the peer did not seal. Proptest and the fuzz target `tls`
//! hold both.

use super::handshake::{Handshake, Progress};
use super::record::{INPUT_BYTES, RECORD_BYTES_MAX};
use super::session::TakeOutcome;
use super::{Acceptor, CertificatePair, Connector, Session};
use plan::trust::Trust;
use std::sync::OnceLock;

/// The name in the certificate of [`ends`].
const NAME: &str = "exchange.test";

/// Both ends with one certificate, which is made once.
fn ends() -> &'static (Acceptor, Connector) {
    static ENDS: OnceLock<(Acceptor, Connector)> = OnceLock::new();
    ENDS.get_or_init(|| {
        let pair = CertificatePair::self_signed(&[NAME.to_owned()]).expect("a name");
        let acceptor = Acceptor::of(&pair).expect("a pair that belongs together");
        let ca_pem = String::from_utf8(pair.certificate).ok();
        let trust = Trust { ca_pem, ..Trust::default() };
        (acceptor, Connector::new(&trust, NAME).expect("a certificate to trust"))
    })
}

/// Both ends of one connection, handshake done: the client's, then the server's.
pub(crate) fn sessions() -> (Session, Session) {
    let (acceptor, connector) = ends();
    let (mut client, mut server) = (connector.begin().unwrap(), acceptor.begin().unwrap());
    let (mut client_done, mut server_done) = (false, false);
    for _ in 0..4 {
        client_done |= matches!(client.advance().unwrap(), Progress::Done);
        pass(&mut client, &mut server);
        server_done |= matches!(server.advance().unwrap(), Progress::Done);
        pass(&mut server, &mut client);
    }
    assert!(client_done && server_done);
    (client.finish().unwrap(), server.finish().unwrap())
}

/// Each piece alone, as a network may.
fn pass(from: &mut Handshake, to: &mut Handshake) {
    let bytes = from.out().to_vec();
    from.written(bytes.len());
    for piece in bytes.chunks(7) {
        to.received(piece);
        if to.advance().is_err() {
            break;
        }
    }
}

/// A stranger's bytes instead of a handshake, at either end. The first byte says how many come at
/// once, and whether an honest first flight precedes them.
pub fn handshake(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let (acceptor, connector) = ends();
    let (mut client, mut server) = (connector.begin().unwrap(), acceptor.begin().unwrap());
    client.advance().expect("a client's hello needs nobody");
    if first & 1 == 1 {
        pass(&mut client, &mut server);
    }
    for (end, is_server) in [(&mut server, true), (&mut client, false)] {
        for piece in bytes.chunks(usize::from(first >> 1).max(1) * 16) {
            end.received(piece);
            match end.advance() {
                Ok(Progress::Waits) => {}
                Ok(Progress::Done) => panic!("secure with a stranger; server: {is_server}"),
                Err(_) => break,
            }
            let held = end.input_bytes();
            assert!(held <= INPUT_BYTES + piece.len(), "{held} bytes are kept");
        }
    }
}

/// Records of an honest peer, of one that has the keys and says what it likes, and changed ones.
/// Each action takes two bytes of `data`, then its content.
pub fn records(data: &[u8]) {
    let (mut client, mut server) = sessions();
    client.key_records_max = 5;
    let (mut sealed, mut opened) = (Vec::new(), Vec::new());
    let mut rest = data;
    while let [action, length, tail @ ..] = rest {
        let (content, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let mut bytes = match action % 8 {
            0..=4 => {
                client.seal(content).expect("keys for as many records as asked");
                let bytes = client.out().to_vec();
                client.written(bytes.len());
                sealed.extend_from_slice(content);
                bytes
            }
            5 => client.seal_aside(22, content),
            6 => client.seal_aside(21, content),
            _ => content.to_vec(),
        };
        if action & 0x80 != 0
            && let Some(byte) = bytes.get_mut(usize::from(*length) * 7 % 40)
        {
            *byte ^= 1 + (action >> 3);
        }
        if !receive(&mut server, &bytes, &mut opened) {
            break;
        }
    }
    assert!(sealed.starts_with(&opened), "a byte was opened that nobody sealed");
}

/// Gives `bytes` to a session, as many as it has room for at a time; whether it goes on.
fn receive(session: &mut Session, bytes: &[u8], opened: &mut Vec<u8>) -> bool {
    let mut into = [0; 333];
    let mut left = bytes;
    loop {
        match session.take(&mut into) {
            Ok(TakeOutcome::Bytes(n)) => opened.extend_from_slice(&into[..n]),
            Ok(TakeOutcome::NeedsMore) if left.is_empty() => return true,
            Ok(TakeOutcome::NeedsMore) => {
                let space = session.space();
                assert!(!space.is_empty(), "no room for the rest of a record");
                let n = left.len().min(space.len()).min(RECORD_BYTES_MAX);
                space[..n].copy_from_slice(&left[..n]);
                session.filled(n, 1);
                left = &left[n..];
            }
            Ok(TakeOutcome::Closed) => return false,
            Err(error) => {
                session.complain(&error);
                assert!(session.out().len() <= RECORD_BYTES_MAX, "one alert at most");
                return false;
            }
        }
    }
}
