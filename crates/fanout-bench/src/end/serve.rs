//! The process of an end: subscribers for one client at a time.

use crate::end::dialogue::{Dialogue, EndRequest, Line, VERSION};
use crate::end::receive::Receiver;
use crate::register;
use clock::{Clock, Deadline};
use plan::tables::fan_out::{END_ARRIVALS_MAX, SUBSCRIBERS_MAX};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::echo::datagrams::{self, DatagramCounts, Describe, EchoSocket};
use transport::echo::is_nothing;
use transport::stamps::Segments;

/// How long to sleep while no client comes.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a client may take to say what it asks for.
const ASKED_PATIENCE: Duration = Duration::from_secs(10);
/// The longest time of one client.
const CLIENT_MS_MAX: u64 = 24 * 3_600_000;

/// The counts of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// Clients that got their arrivals.
    pub served: u64,
    /// Clients that were lost, or asked for what can't be had.
    pub failed: u64,
    /// Clients that came while another one was served.
    pub turned_away: u64,
    /// Datagrams of the echo by which the clock is found.
    pub datagrams: DatagramCounts,
}

/// Has subscribers for whoever connects to `listener`, one client at a time, until `stop` is set;
/// and answers datagrams at `socket`, so that clients find the offset of `clock`.
///
/// # Errors
/// If a socket is broken.
pub fn serve(
    listener: &TcpListener,
    socket: UdpSocket,
    (clock, describe): (Clock, Describe<'_>),
    stop: &AtomicBool,
) -> io::Result<EndCounts> {
    listener.set_nonblocking(true)?;
    // Set when either thread ends, so that the other one does.
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            datagrams::serve(EchoSocket::Kernel(socket), false, (clock, describe), &ended)
        });
        let mut end = End { listener, clock, counts: EndCounts::default() };
        let mut failure = Ok(());
        while !stop.load(Ordering::Relaxed) && !echo.is_finished() {
            match listener.accept() {
                Ok((stream, _)) => end.client(stream, stop),
                Err(error) if is_nothing(&error) => std::thread::sleep(PAUSE),
                // A client that is gone again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    failure = Err(error);
                    break;
                }
            }
        }
        ended.store(true, Ordering::Relaxed);
        let echoed = echo.join().map_err(|_| io::Error::other("the echo's thread panicked"))?;
        failure?;
        end.counts.datagrams = echoed?;
        Ok(end.counts)
    })
}

struct End<'a> {
    listener: &'a TcpListener,
    clock: Clock,
    counts: EndCounts,
}

impl End<'_> {
    /// Serves a client, whatever becomes of it.
    fn client(&mut self, stream: TcpStream, stop: &AtomicBool) {
        match self.converse(stream, stop) {
            Ok(()) => self.counts.served += 1,
            Err(_) => self.counts.failed += 1,
        }
    }

    fn converse(&mut self, stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
        let mut dialogue = Dialogue::new(stream)?;
        let (receiver, lasts_ms) = match self.receiver(&mut dialogue, stop)? {
            Ok(receiver) => receiver,
            Err(why) => {
                dialogue.say(&Line::Rejected(why.clone()))?;
                return Err(io::Error::other(why));
            }
        };
        dialogue.say(&Line::Ready {})?;
        let deadline = Deadline::after(Duration::from_millis(lasts_ms));
        let ended = AtomicBool::new(false);
        let (heard, arrived) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.run(&ended));
            let heard = self.wait_for_finish(&mut dialogue, deadline, stop);
            ended.store(true, Ordering::Relaxed);
            (heard, receiving.join())
        });
        heard?;
        let (received, arrivals_ns) =
            arrived.map_err(|_| io::Error::other("the receiving thread panicked"))?;
        dialogue.say(&Line::Received(received))?;
        dialogue.say_arrivals(&arrivals_ns)
    }

    /// The subscribers that a client asks for, and how long it needs them, ms; or why there are
    /// none.
    fn receiver(
        &self,
        dialogue: &mut Dialogue,
        stop: &AtomicBool,
    ) -> io::Result<Result<(Receiver, u64), String>> {
        let Line::Asked(asked) = dialogue.line_within(ASKED_PATIENCE)? else {
            return Ok(Err("a client first says what it asks for".to_owned()));
        };
        if let Err(why) = check(&asked) {
            return Ok(Err(why));
        }
        let segments = Segments::new(self.clock);
        let (own, at) = (Ipv4Addr::UNSPECIFIED, asked.registration);
        let subscribers = register::all(own, at, asked.subscribers, self.clock, stop);
        Ok(subscribers.map_err(|error| error.to_string()).and_then(|subscribers| {
            let lasts_ms = asked.lasts_ms;
            let receiver = Receiver::new(asked, subscribers, self.clock, segments);
            receiver.map(|receiver| (receiver, lasts_ms)).map_err(|error| error.to_string())
        }))
    }

    /// Waits until the client has sent all, is lost, or is late. Others are turned away.
    fn wait_for_finish(
        &mut self,
        dialogue: &mut Dialogue,
        deadline: Deadline,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        loop {
            match dialogue.next()? {
                Some(Line::Finish {}) => return Ok(()),
                Some(_) => return Err(io::ErrorKind::InvalidData.into()),
                None if stop.load(Ordering::Relaxed) => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                None if deadline.left().is_zero() => return Err(io::ErrorKind::TimedOut.into()),
                None => self.turn_away(),
            }
        }
    }

    /// Tells the next one that waits that it has to come again.
    fn turn_away(&mut self) {
        let Ok((stream, from)) = self.listener.accept() else { return };
        self.counts.turned_away += 1;
        let why = format!(
            "another client is served; wait until its run has ended, or start another end ({from} \
             asked)"
        );
        // It may be gone again.
        let _ = Dialogue::new(stream).and_then(|mut one| one.say(&Line::Rejected(why)));
    }
}

/// Checks what a client asks for.
fn check(asked: &EndRequest) -> Result<(), String> {
    let EndRequest { version, subscribers, messages, lasts_ms, hops, .. } = *asked;
    if version != VERSION {
        return Err(format!(
            "it speaks version {version}, and this end version {VERSION}: use one version of \
             tickpath on all hosts"
        ));
    }
    let times = messages.saturating_mul(asked.times() as u64);
    if !(1..=SUBSCRIBERS_MAX).contains(&subscribers) || times > END_ARRIVALS_MAX {
        return Err(format!(
            "{subscribers} subscribers with {messages} messages each: an end has 1 to \
             {SUBSCRIBERS_MAX}, and keeps at most END_ARRIVALS_MAX = {END_ARRIVALS_MAX} arrivals"
        ));
    }
    if hops && subscribers != 1 {
        return Err(format!("{subscribers} subscribers: an end that says hops has one"));
    }
    match lasts_ms <= CLIENT_MS_MAX {
        true => Ok(()),
        false => Err(format!("{lasts_ms} ms: an end serves a client for a day at most")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_rejects_what_it_has_no_room_for() {
        let asked = |version, subscribers, messages, lasts_ms| EndRequest {
            version,
            registration: "192.0.2.1:9".parse().unwrap(),
            subscribers,
            first: 0,
            messages,
            hops: false,
            lasts_ms,
        };
        assert_eq!(check(&asked(VERSION, 64, 1_000, 9)), Ok(()));
        let hops = |subscribers, messages| EndRequest {
            hops: true,
            ..asked(VERSION, subscribers, messages, 1)
        };
        assert_eq!(check(&hops(1, END_ARRIVALS_MAX / 2)), Ok(()));
        for (asked, words) in [
            (hops(1, END_ARRIVALS_MAX / 2 + 1), "END_ARRIVALS_MAX"),
            (hops(2, 1), "has one"),
            (asked(VERSION + 1, 1, 1, 1), "one version"),
            (asked(VERSION, 0, 1, 1), "1 to 64"),
            (asked(VERSION, 65, 1, 1), "1 to 64"),
            (asked(VERSION, 2, u64::MAX, 1), "END_ARRIVALS_MAX"),
            (asked(VERSION, 1, 1, u64::MAX), "a day"),
        ] {
            let why = check(&asked).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
