//! A session's connection to the exchange while it is set up, which blocks.

use clock::Deadline;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use transport::{Connection, proxy};
use wire::frame::{Opcode, write_frame_with};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};
use wire::request::{Channel, encode_authenticate, encode_subscribe};

/// Limit of the whole set-up. The exchange is in the same process, so it takes far less; a longer
/// one would delay the other sessions.
const PATIENCE: Duration = Duration::from_secs(1);

/// The frames' mask. It protects proxies from clients, and there is none between the two threads.
const MASK: [u8; 4] = [0x5a, 0xc3, 0x96, 0x3c];

/// Makes a secure connection of a socket, or leaves it as it is.
pub type Secure = dyn Fn(TcpStream) -> io::Result<Connection> + Send;

/// Appends a frame with the text that `encode` writes.
pub(crate) fn put_frame(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    write_frame_with(out, Opcode::Text, Some(MASK), encode);
}

/// The use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Orders, and reports about them.
    Orders { cancels_on_disconnect: bool },
    /// Market data.
    MarketData,
}

/// Connects, authenticates with `token`, and for orders subscribes the account's reports. Bytes
/// that came after the answers stay in the reader.
pub(crate) fn open(
    exchange: SocketAddr,
    secure: &Secure,
    token: &str,
    purpose: Purpose,
) -> io::Result<(Connection, MessageReader)> {
    let deadline = Deadline::after(PATIENCE);
    let socket = TcpStream::connect_timeout(&exchange, PATIENCE)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut stream = secure(socket)?;
    let key = UpgradeKey::from_nonce(*b"tickpath and fix");
    let mut out = proxy::UNKNOWN.to_vec();
    upgrade_request(&mut out, &exchange.to_string(), "/", &key, &[]);
    stream.write_all(&out)?;
    let mut head = Vec::new();
    // A byte at a time, to leave everything after the head unread.
    while check_upgrade_response(&head, &key, &[]).map_err(io::Error::other)?.is_none() {
        wait_at_most(&stream, deadline)?;
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut reader = MessageReader::new(Role::Client, FrameLimits::default());
    out.clear();
    let cancels = match purpose {
        Purpose::Orders { cancels_on_disconnect } => Some(cancels_on_disconnect),
        Purpose::MarketData => None,
    };
    put_frame(&mut out, |out| encode_authenticate(out, token, cancels, None));
    if purpose != Purpose::MarketData {
        put_frame(&mut out, |out| encode_subscribe(out, &[Channel::named("ORDERS")]));
    }
    stream.write_all(&out)?;
    loop {
        while let Some(received) = reader.next().map_err(io::Error::other)? {
            let Message::Text(text) = received.message else { continue };
            match decode_reply(text).map_err(io::Error::other)? {
                Reply::Subscriptions(_) => return Ok((stream, reader)),
                Reply::Authenticated if purpose == Purpose::MarketData => {
                    return Ok((stream, reader));
                }
                Reply::Error { reason } => return Err(io::Error::other(reason.into_owned())),
                _ => {}
            }
        }
        wait_at_most(&stream, deadline)?;
        match stream.read(reader.space())? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => reader.filled(n, 0),
        }
    }
}

fn wait_at_most(stream: &Connection, deadline: Deadline) -> io::Result<()> {
    let left = deadline.left();
    if left.is_zero() {
        let why = "the exchange does not answer the FIX gateway's log-on";
        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
    }
    stream.set_read_timeout(Some(left))
}
