//! Asks an echo over datagrams for its clock.

use clock::Clock;
use clock::time_base::{Bridge, TimeBase};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::Duration;
use transport::echo::datagrams::{TIME_BASE, TIME_BASE_BYTES};
use transport::echo::{HEADER_BYTES, Message, is_nothing};

/// Questions before the other end is taken to be absent.
const QUESTIONS_MAX: u64 = 5;
/// Time to wait for the answer to one of them. The echo asks its clock's keeper first.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// The clocks of both ends before a run.
pub(crate) struct Ends {
    ours: TimeBase,
    theirs: TimeBase,
}

impl Ends {
    /// Asks the echo at the other end of `flow`, and reads `clock`, by which we stamp.
    ///
    /// # Errors
    /// If the echo doesn't say its clock.
    pub(crate) fn ask(flow: &UdpSocket, clock: Clock) -> io::Result<Ends> {
        Ok(Ends { theirs: ask(flow)?, ours: host::utc::time_base(clock) })
    }

    /// The echo's clock, if it runs on this boot of this machine: both ends can read it.
    pub(crate) fn shared(&self) -> Option<Clock> {
        let is_ours = self.theirs.is_of(&self.ours.boot_id) && self.theirs.clock.is_readable();
        is_ours.then_some(self.theirs.clock)
    }

    /// Identify both clocks.
    pub(crate) fn clocks(&self) -> [String; 2] {
        [&self.ours, &self.theirs].map(identity)
    }

    /// Resolution of the coarser clock, ns.
    pub(crate) fn step_ns(&self) -> u64 {
        self.ours.clock.step_ns().max(self.theirs.clock.step_ns())
    }

    /// Asks again after the run. `None` if the echo doesn't answer, or restarted meanwhile.
    pub(crate) fn bridge(self, flow: &UdpSocket) -> Option<Bridge> {
        let ours = host::utc::time_base(self.ours.clock);
        Bridge::new([self.ours, ours], [self.theirs, ask(flow).ok()?])
    }
}

/// Identifies a clock by its boot and calibration; empty if they are unknown.
pub(crate) fn identity(end: &TimeBase) -> String {
    match (end.boot_id.as_str(), serde_json::to_string(&end.clock)) {
        ("", _) | (_, Err(_)) => String::new(),
        (boot_id, Ok(clock)) => format!("{boot_id} {clock}"),
    }
}

/// The time base of the echo at the other end of `flow`.
fn ask(flow: &UdpSocket) -> io::Result<TimeBase> {
    flow.set_nonblocking(false)?;
    flow.set_read_timeout(Some(ANSWER_PATIENCE))?;
    let length_bytes = TIME_BASE_BYTES as u16;
    let mut into = vec![0; TIME_BASE_BYTES];
    for sequence in 0..QUESTIONS_MAX {
        let mut question = Vec::with_capacity(TIME_BASE_BYTES);
        let message =
            Message { length_bytes, reply_bytes: length_bytes, kind: TIME_BASE, sequence };
        message.encode(&mut question);
        flow.send(&question)?;
        match flow.recv(&mut into) {
            Ok(n) => match Message::decode(&into[..n]) {
                Ok(Some(reply)) if reply.kind == TIME_BASE => return said(&into[HEADER_BYTES..n]),
                _ => {}
            },
            Err(error) if is_nothing(&error) || error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        ErrorKind::TimedOut,
        format!(
            "no answer to {QUESTIONS_MAX} datagrams of {TIME_BASE_BYTES} bytes that ask for the \
             echo's clock: let UDP and its fragments through, and start \
             `tickpath exchange --echo --datagrams` there"
        ),
    ))
}

/// Reads JSON before a padding of zeros.
fn said(body: &[u8]) -> io::Result<TimeBase> {
    let end = body.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    serde_json::from_slice(&body[..end]).map_err(|error| {
        let why = format!(
            "the echo does not say its clock ({error}), which figures one way need: start the echo \
             of this version of tickpath there"
        );
        io::Error::new(ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An older echo pads the reply to a kind that it doesn't know with zeros.
    #[test]
    fn an_echo_that_does_not_say_its_clock_is_named_with_the_remedy() {
        for body in [&[0; 30][..], b"", b"{}"] {
            let why = said(body).unwrap_err().to_string();
            assert!(why.contains("this version"), "{why}");
        }
        let time = host::utc::time_base(Clock::calibrate());
        let mut padded = serde_json::to_vec(&time).unwrap();
        assert!(padded.len() <= TIME_BASE_BYTES - HEADER_BYTES, "{} bytes", padded.len());
        padded.resize(TIME_BASE_BYTES - HEADER_BYTES, 0);
        assert_eq!(said(&padded).unwrap(), time);
    }
}
