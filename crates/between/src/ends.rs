//! Asks an echo over datagrams for its clock.

use clock::Clock;
use clock::time_base::{Bridge, EchoClock, TimeBase};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::time::Duration;
use transport::echo::datagrams::{TIME_BASE, TIME_BASE_BYTES};
use transport::echo::{EchoMessage, HEADER_BYTES, is_nothing};

/// Questions before the other end is taken to be absent.
const QUESTIONS_MAX: u64 = 5;
/// Time to wait for the answer to one of them. The echo asks its clock's keeper first.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);

/// The clocks of both ends before a run.
pub struct ClocksBefore {
    ours: TimeBase,
    theirs: EchoClock,
}

/// Both clocks once more, after the run.
#[derive(Default)]
pub struct ClocksAfter {
    /// `None` if the echo doesn't answer, or restarted meanwhile.
    pub bridge: Option<Bridge>,
    /// Largest error of its kernel's stamps on its clock, ns; `None` if it has none, or if its wall
    /// clock was set meanwhile.
    pub kernel_error_ns: Option<u64>,
}

impl ClocksBefore {
    /// Asks the echo at the other end of `flow`, and reads `clock`, by which we stamp.
    ///
    /// # Errors
    /// If the echo doesn't say its clock.
    pub fn ask(flow: &UdpSocket, clock: Clock) -> io::Result<ClocksBefore> {
        Ok(ClocksBefore { theirs: ask(flow)?, ours: host::utc::time_base(clock) })
    }

    /// The echo's clock, if it runs on this boot of this machine: both ends can read it.
    pub fn shared(&self) -> Option<Clock> {
        let theirs = &self.theirs.time;
        let is_ours = theirs.is_of(&self.ours.boot_id) && theirs.clock.is_readable();
        is_ours.then_some(theirs.clock)
    }

    /// Identify both clocks.
    pub fn clocks(&self) -> [String; 2] {
        [&self.ours, &self.theirs.time].map(identity)
    }

    /// Resolution of the coarser clock, ns.
    pub fn step_ns(&self) -> u64 {
        self.ours.clock.step_ns().max(self.theirs.time.clock.step_ns())
    }

    /// Asks the echo for its clock once more, after the run. `last_ns`: its last stamp, on its
    /// clock.
    pub fn after(self, flow: &UdpSocket, last_ns: u64) -> ClocksAfter {
        let ours = host::utc::time_base(self.ours.clock);
        let Ok(theirs) = ask(flow) else { return ClocksAfter::default() };
        ClocksAfter {
            kernel_error_ns: kernel_error_ns(&self.theirs, &theirs, last_ns),
            bridge: Bridge::new([self.ours, ours], [self.theirs.time, theirs.time]),
        }
    }
}

/// The error of the echo's kernel's stamps between two of its answers. The echo repeats an answer
/// for a while, so the second may be older than the stamps that it is to vouch for.
fn kernel_error_ns(before: &EchoClock, after: &EchoClock, last_ns: u64) -> Option<u64> {
    let is_same =
        before.time.clock == after.time.clock && before.time.boot_id == after.time.boot_id;
    let (earlier, later) = before.kernel.zip(after.kernel)?;
    let holds = is_same && earlier.steps == later.steps && after.time.wall.clock_ns >= last_ns;
    holds.then_some(later.bound_ns)
}

/// Identifies a clock by its boot and calibration; empty if they are unknown.
pub fn identity(end: &TimeBase) -> String {
    match (end.boot_id.as_str(), serde_json::to_string(&end.clock)) {
        ("", _) | (_, Err(_)) => String::new(),
        (boot_id, Ok(clock)) => format!("{boot_id} {clock}"),
    }
}

/// The clock of the echo at the other end of `flow`.
fn ask(flow: &UdpSocket) -> io::Result<EchoClock> {
    flow.set_nonblocking(false)?;
    flow.set_read_timeout(Some(ANSWER_PATIENCE))?;
    let length_bytes = TIME_BASE_BYTES as u16;
    let mut into = vec![0; TIME_BASE_BYTES];
    for sequence in 0..QUESTIONS_MAX {
        let mut question = Vec::with_capacity(TIME_BASE_BYTES);
        let message =
            EchoMessage { length_bytes, reply_bytes: length_bytes, kind: TIME_BASE, sequence };
        message.encode(&mut question);
        flow.send(&question)?;
        match flow.recv(&mut into) {
            Ok(n) => match EchoMessage::decode(&into[..n]) {
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
             other end's clock: let UDP and its fragments through, and start that end \
             (`tickpath exchange --echo --datagrams`, or `tickpath subscribers` of a fan-out)"
        ),
    ))
}

/// Reads JSON before a padding of zeros.
fn said(body: &[u8]) -> io::Result<EchoClock> {
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
    use clock::wall::WallLine;

    /// An older echo pads the reply to a kind that it doesn't know with zeros.
    #[test]
    fn an_echo_that_does_not_say_its_clock_is_named_with_the_remedy() {
        for body in [&[0; 30][..], b"", b"{}"] {
            let why = said(body).unwrap_err().to_string();
            assert!(why.contains("this version"), "{why}");
        }
        let time = host::utc::time_base(Clock::calibrate());
        let kernel = Some(WallLine { bound_ns: 90, steps: 2 });
        let echo = EchoClock { time: time.clone(), kernel };
        let mut padded = serde_json::to_vec(&echo).unwrap();
        assert!(padded.len() <= TIME_BASE_BYTES - HEADER_BYTES, "{} bytes", padded.len());
        padded.resize(TIME_BASE_BYTES - HEADER_BYTES, 0);
        assert_eq!(said(&padded).unwrap(), echo);
        let without_stamps = serde_json::to_vec(&time).unwrap();
        assert_eq!(said(&without_stamps).unwrap(), EchoClock { time, kernel: None });
    }

    #[test]
    fn a_wall_clock_that_was_set_or_not_read_again_vouches_for_no_stamp() {
        let time = host::utc::time_base(Clock::calibrate());
        let read_ns = time.wall.clock_ns;
        let echo = |bound_ns, steps| EchoClock {
            time: time.clone(),
            kernel: Some(WallLine { bound_ns, steps }),
        };
        let of = |after: &EchoClock, last_ns| kernel_error_ns(&echo(90, 1), after, last_ns);
        assert_eq!(of(&echo(120, 1), read_ns), Some(120));
        assert_eq!(of(&echo(120, 1), read_ns + 1), None, "an answer from before that stamp");
        assert_eq!(of(&echo(120, 2), read_ns), None, "it was set");
        assert_eq!(of(&EchoClock { kernel: None, ..echo(0, 0) }, read_ns), None);
        let mut other = echo(120, 1);
        other.time.boot_id += "another";
        assert_eq!(of(&other, read_ns), None, "another boot");
    }
}
