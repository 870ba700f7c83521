//! Options of sockets, the same in every backend.

use rustix::net::{SocketType, sockopt};
use std::io;
use std::net::TcpStream;
use std::time::Duration;

/// After a failed accept, mostly for want of descriptors, the listener is not watched for this
/// long. Otherwise it would be ready all the time.
pub(crate) const ACCEPT_AGAIN_NS: u64 = 10_000_000;
/// The kernel probes a silent peer after this time, and then again and again.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// A peer is gone, and its stream fails, if for this long its kernel answered no probe or took no
/// bytes.
const PEER_GONE: Duration = Duration::from_secs(30);

/// Sets the options of a stream; a datagram socket has none of them.
///
/// # Errors
/// If the kernel rejects one.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    if sockopt::socket_type(stream)? == SocketType::DGRAM {
        return Ok(());
    }
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    Ok(sockopt::set_tcp_user_timeout(stream, PEER_GONE.as_millis() as u32)?)
}

/// By default the kernel may wake a sleeper 50 us late to save power.
///
/// # Errors
/// If the kernel rejects it.
pub(crate) fn wake_on_time() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(std::num::NonZeroU64::MIN))?)
}

/// Nothing now, or a signal came: either way the caller looks again.
pub(crate) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Clock;
    use std::net::TcpListener;

    /// The kernel does the rest. A peer that loses its power can't be had here.
    #[test]
    fn a_peer_that_is_gone_is_noticed_by_the_kernel() {
        for backend in crate::present::backends() {
            let mut streams = backend.open(Clock::calibrate()).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let _peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let stream = listener.accept().unwrap().0;
            let same = stream.try_clone().unwrap();
            streams.add(stream.into()).unwrap();
            assert!(sockopt::socket_keepalive(&same).unwrap());
            assert_eq!(sockopt::tcp_keepidle(&same).unwrap(), KEEPALIVE_IDLE);
            assert_eq!(sockopt::tcp_user_timeout(&same).unwrap(), PEER_GONE.as_millis() as u32);
        }
    }
}
