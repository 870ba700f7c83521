//! The bare ticker: the datagrams and replies of [`TickerEcho`] over one connection, with nothing
//! but send and receive. It spins with every backend, because a ticker has a schedule to keep.

use crate::echo::bare::{Bare, BareRead, accept};
use crate::echo::ticker::TickerEcho;
use crate::echo::{EchoMessage, MESSAGE_BYTES_MAX};
use crate::streams::StreamId;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

/// The only stream.
const STREAM: StreamId = StreamId(0);

/// Serves one client after the other until `stop` is set.
///
/// # Errors
/// If no client can be accepted any more; a connection that breaks just ends.
pub fn serve_ticks(
    listener: &TcpListener,
    ticker: &mut TickerEcho,
    stop: &AtomicBool,
) -> io::Result<()> {
    while let Some(stream) = accept(listener, stop)? {
        ticker.opened_by(STREAM, stream.peer_addr().ok());
        // A client that breaks off or sends nonsense ends its own connection.
        let _ = Bare::new(stream, true).and_then(|mut bare| tick(&mut bare, ticker, stop));
        ticker.closed_by(STREAM);
    }
    Ok(())
}

fn tick(bare: &mut Bare, ticker: &mut TickerEcho, stop: &AtomicBool) -> io::Result<()> {
    let goes_on = || !stop.load(Ordering::Relaxed);
    let mut bytes = [0; 2 * MESSAGE_BYTES_MAX];
    let mut answer = Vec::with_capacity(MESSAGE_BYTES_MAX);
    let mut end = 0;
    while goes_on() {
        answer.clear();
        if let Some((_, ended)) = ticker.tick(None) {
            ended.encode(&mut answer);
        }
        if let BareRead::Bytes(n) = bare.receive(&mut bytes[end..])? {
            let stamp_ns = ticker.now_ns();
            end += n;
            while let Some(message) =
                EchoMessage::decode(&bytes[..end]).map_err(io::Error::other)?
            {
                ticker.answer(STREAM, message, stamp_ns, &mut answer);
                let length = usize::from(message.length_bytes);
                bytes.copy_within(length..end, 0);
                end -= length;
            }
        }
        bare.send(&answer, goes_on)?;
    }
    Ok(())
}
