//! The connection to one end.

use crate::end::dialogue::{Dialogue, EndReport, EndRequest, Line, VERSION};
use crate::hosts::place::EndErrors;
use crate::hosts::prober::{Prober, ProvenOffsets};
use crate::run::FanOutBenchError;
use between::ends::ClocksBefore;
use clock::Clock;
use plan::process::fan_out::FanOutPlan;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long an end may take to register each of its subscribers, and for what else it does first.
const REGISTER_PATIENCE: Duration = Duration::from_secs(12);
/// How long an end may take to say what arrived, and be silent in between.
const FINISH_PATIENCE: Duration = Duration::from_secs(15);
/// How much longer than the messages take an end waits for a source that may be gone.
const GONE: Duration = Duration::from_secs(60);

/// One end.
pub(super) struct Link {
    /// As the plan names it.
    pub host: String,
    /// Number of its first subscriber, from 0.
    pub first: usize,
    /// Its subscribers that count: none on the replicator's host.
    pub subscribers: usize,
    /// Numbers that it says of each message: an arrival for each subscriber, or the times of the
    /// replicator.
    pub times: usize,
    dialogue: Dialogue,
}

/// The subscribers that an end is to have.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Number of the first one, from 0.
    pub first: usize,
    pub subscribers: usize,
    /// The end is on the replicator's host, and says its times.
    pub hops: bool,
}

/// The copies that an end received.
pub(super) struct Copies {
    pub received: EndReport,
    /// By message and subscriber, or time of the replicator, ns on the end's clock; 0: it did not
    /// come.
    pub times_ns: Vec<u64>,
}

impl Link {
    /// Connects to the end at `host`, has its share of the subscribers there, and asks for the
    /// clock.
    pub(super) fn open(
        plan: &FanOutPlan,
        host: &str,
        share: Share,
        clock: Clock,
    ) -> Result<(Link, Prober), FanOutBenchError> {
        let failed = |why: String| FanOutBenchError::End { host: host.to_owned(), why };
        let (stream, at) = connect(host).map_err(|error| {
            failed(format!(
                "{error}; start `tickpath subscribers --listen {host}` there, and let TCP and UDP \
                 to that port through"
            ))
        })?;
        let lost = |error: io::Error| failed(lost(&error));
        let mut dialogue = Dialogue::new(stream).map_err(lost)?;
        let asked = asked(plan, share);
        let (Share { first, subscribers, hops }, times) = (share, asked.times());
        dialogue.say(&Line::Asked(asked)).map_err(lost)?;
        let patience = REGISTER_PATIENCE * u32::try_from(subscribers).unwrap_or(u32::MAX);
        match dialogue.line_within(patience).map_err(lost)? {
            Line::Ready {} => {}
            Line::Rejected(why) => return Err(failed(why)),
            _ => return Err(failed("it answers what nobody asked".to_owned())),
        }
        let socket =
            transport::datagram::connected(at).map_err(|error| failed(error.to_string()))?;
        let ends = ClocksBefore::ask(&socket, clock).map_err(|error| failed(error.to_string()))?;
        let lasts = Duration::from_secs_f64(seconds(plan));
        let of = plan.hosts.len() + usize::from(plan.replicator_end.is_some());
        let prober = Prober::new(socket, ends, clock, (of, lasts));
        let prober = prober.map_err(|error| failed(error.to_string()))?;
        let counted = if hops { 0 } else { subscribers };
        let link = Link { host: host.to_owned(), first, subscribers: counted, times, dialogue };
        Ok((link, prober))
    }

    /// The error, if the end has closed the connection. Doesn't wait.
    pub(super) fn check(&self) -> Result<(), FanOutBenchError> {
        self.dialogue.check().map_err(|error| FanOutBenchError::End {
            host: self.host.clone(),
            why: format!("in mid-run {}", lost(&error)),
        })
    }

    /// The error that the end is lost, though it did not close the connection.
    pub(super) fn silent(&self) -> FanOutBenchError {
        let why = "in mid-run it answered none of ten probes of its clock in a row: look whether \
                   `tickpath subscribers` still runs there and gets a core, and whether UDP to its \
                   port gets through and back within 50 ms, and run it again";
        FanOutBenchError::End { host: self.host.clone(), why: why.to_owned() }
    }

    /// Says that all messages are sent, and gets what arrived of `messages`.
    pub(super) fn finish(&mut self, messages: u64) -> Result<Copies, FanOutBenchError> {
        let count = messages as usize * self.times;
        let (host, dialogue) = (&self.host, &mut self.dialogue);
        let lost =
            |error: io::Error| FanOutBenchError::End { host: host.clone(), why: lost(&error) };
        dialogue.say(&Line::Finish {}).map_err(lost)?;
        match dialogue.line_within(FINISH_PATIENCE).map_err(lost)? {
            Line::Received(received) => {
                let times_ns = dialogue.arrivals(count, FINISH_PATIENCE).map_err(lost)?;
                Ok(Copies { received, times_ns })
            }
            _ => Err(lost(io::Error::other("it answers what nobody asked"))),
        }
    }

    /// Why some of its arrivals have no place on the source's clock.
    pub(super) fn fault(
        &self,
        received: &EndReport,
        errors: &EndErrors,
        probed: &ProvenOffsets,
    ) -> Option<String> {
        let (host, EndErrors { received: copies, unplaced, .. }) = (&self.host, *errors);
        if received.wall.steps > 0 {
            return Some(format!(
                "the wall clock of {host} was set during the run, and its kernel stamps arrivals \
                 by it: let the keeper of that clock slew it only (chrony: no makestep), and run \
                 it again"
            ));
        }
        if received.timeless > 0 {
            return Some(format!(
                "{} copies at {host} have no times of the replicator: start it with --tunnel \
                 keep, or leave out fan_out.replicator_end",
                received.timeless
            ));
        }
        if received.backwards > 0 {
            return Some(format!(
                "{} copies arrived at {host} before the replicator sent them: start an end on the \
                 replicator's own host, and name that one with fan_out.replicator_end",
                received.backwards
            ));
        }
        if self.subscribers == 0 && copies == 0 {
            return Some(format!(
                "no copy arrived at {host}, beside the replicator: only over --backend spin or \
                 block does it send copies to its own host; use one of these, or leave out \
                 fan_out.replicator_end"
            ));
        }
        let (answered, probes) = (probed.answered, probed.answered + probed.lost);
        match (answered, unplaced) {
            (0, _) => Some(format!(
                "{host} answered none of {probes} probes of its clock: let UDP to its port through"
            )),
            (_, 0) => None,
            _ => Some(format!(
                "at {unplaced} of {copies} copies the offset of the clock of {host} is unknown: a \
                 clock was set, or drifts by more than 200 ppm ({answered} of {probes} probes were \
                 answered)"
            )),
        }
    }
}

fn lost(error: &io::Error) -> String {
    format!("{error}; look at what `tickpath subscribers` said there, and start it again")
}

fn asked(plan: &FanOutPlan, Share { subscribers, hops, .. }: Share) -> EndRequest {
    let lasts = Duration::from_secs_f64(seconds(plan)) + GONE;
    // The ends after this one take their time, too.
    let others = REGISTER_PATIENCE * plan.subscribers as u32;
    EndRequest {
        version: VERSION,
        registration: plan.registration,
        subscribers,
        first: plan.warm_up_messages,
        messages: plan.messages,
        hops,
        lasts_ms: (lasts + others).as_millis() as u64,
    }
}

/// How long the source sends.
fn seconds(plan: &FanOutPlan) -> f64 {
    (plan.warm_up_messages + plan.messages) as f64 / plan.rate_per_second
}

/// Connects to `HOST:PORT`. Returns also the address.
fn connect(host: &str) -> io::Result<(TcpStream, SocketAddr)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for at in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&at, CONNECT_PATIENCE) {
            Ok(stream) => return Ok((stream, at)),
            Err(error) => last = error,
        }
    }
    Err(last)
}
