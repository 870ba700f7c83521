//! Two short measurements that tell a quiet machine from a contended one: the round trip of a cache
//! line between two cores, and a blocking round trip over loopback TCP.
//!
//! Both end by a deadline on any machine. A probe thread on a core that a real-time thread holds
//! never runs, so the threads are not joined. The caller waits for a limited time and then abandons
//! them; they end by their own deadline as soon as they run.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use clock::Clock;
use record::machine::Probes;

use crate::cache_line::{self, GRACE, report_of, start_on};

/// Time for each of the two probes.
pub const PROBE_BUDGET: Duration = Duration::from_millis(40);
/// Fewer samples than this give no median.
pub const SAMPLES_MIN: usize = 100;
/// Bytes each way in the blocking round trip: the average payload of the order flow that AWS and
/// One Trading describe in "Cloud-native colocation for crypto trading".
pub const PAYLOAD_BYTES: usize = 120;

const SAMPLES: usize = 400;
const SAMPLES_WARM_UP: usize = 50;

/// Number of tries of each probe; the best counts. A hypervisor places a virtual core anew when it
/// wakes, at first often badly. The probes should show lasting changes; short ones show in the
/// spread between runs.
pub const TRIES: u32 = 3;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(30);

const CACHE_LINE: &str = "cache line round trip";
const BLOCKING: &str = "blocking round trip";

/// Takes the probes on two cores, [`TRIES`] times, within a second. A probe that fails in all tries
/// is `None`, with the reason in `missing_because`.
pub fn run(clock: &Clock, cores: Option<(usize, usize)>) -> Probes {
    let mut best = once(clock, cores);
    for _ in 1..TRIES {
        if best.cache_line_round_trip_ns_p50.is_none() && best.blocking_round_trip_ns_p50.is_none()
        {
            break;
        }
        thread::sleep(PAUSE);
        let again = once(clock, cores);
        let better = |best: &mut Option<u64>, again: Option<u64>| {
            *best = [*best, again].into_iter().flatten().min();
        };
        better(&mut best.cache_line_round_trip_ns_p50, again.cache_line_round_trip_ns_p50);
        better(&mut best.blocking_round_trip_ns_p50, again.blocking_round_trip_ns_p50);
    }
    for (what, found) in [
        (CACHE_LINE, best.cache_line_round_trip_ns_p50),
        (BLOCKING, best.blocking_round_trip_ns_p50),
    ] {
        best.missing_because
            .retain(|why| found.is_none() || !why.starts_with(&format!("no {what}")));
    }
    best
}

fn once(clock: &Clock, cores: Option<(usize, usize)>) -> Probes {
    let mut probes = Probes {
        cores,
        clock_cost_ns: Some(clock.cost_ns()),
        clock_counter: Some(clock.source().name().to_owned()),
        ..Probes::default()
    };
    let (first, second) = match cores {
        Some((first, second)) if first != second => (first, second),
        _ => {
            let reason = "the round trips between cores were not probed: they need two cores";
            probes.missing_because.push(reason.to_owned());
            return probes;
        }
    };
    let mut keep = |what: &str, result: Result<u64, String>| {
        result.map_err(|why| probes.missing_because.push(format!("no {what}: {why}"))).ok()
    };
    probes.cache_line_round_trip_ns_p50 =
        keep(CACHE_LINE, cache_line_round_trip_ns(*clock, first, second));
    probes.blocking_round_trip_ns_p50 =
        keep(BLOCKING, blocking_round_trip_ns(*clock, first, second));
    probes
}

fn cache_line_round_trip_ns(clock: Clock, first: usize, second: usize) -> Result<u64, String> {
    median(cache_line::round_trips_ns(clock, (first, second), SAMPLES, PROBE_BUDGET)?)
}

fn blocking_round_trip_ns(clock: Clock, first: usize, second: usize) -> Result<u64, String> {
    let no_pair = |error: io::Error| format!("no loopback TCP connection: {error}");
    let (asking, answering) = tcp_pair().map_err(no_pair)?;
    // A shutdown ends the threads' reads. A read time-out would arm a timer for each read, and so
    // be part of the measurement.
    let stop = asking.try_clone().map_err(no_pair)?;
    let deadline_ns = deadline_ns(&clock);
    let answer = start_on(second, move || answer_stream(answering))?;
    let ask = start_on(first, move || {
        let mut samples = Vec::with_capacity(SAMPLES);
        // An error ends the connection; the samples so far count.
        let _ = ask_stream(&asking, &clock, deadline_ns, &mut samples);
        let _ = asking.shutdown(Shutdown::Both);
        samples
    });
    let samples = ask.and_then(|ask| report_of(&ask, PROBE_BUDGET + GRACE));
    let _ = stop.shutdown(Shutdown::Both);
    let answered = report_of(&answer, GRACE);
    let samples = samples?;
    answered?;
    median(samples)
}

fn ask_stream(
    mut stream: &TcpStream,
    clock: &Clock,
    deadline_ns: u64,
    samples: &mut Vec<u64>,
) -> io::Result<()> {
    let mut payload = [0; PAYLOAD_BYTES];
    for sample in 0..SAMPLES_WARM_UP + SAMPLES {
        let start_ns = clock.now_ns();
        if start_ns > deadline_ns {
            break;
        }
        stream.write_all(&payload)?;
        stream.read_exact(&mut payload)?;
        if sample >= SAMPLES_WARM_UP {
            samples.push(clock.now_ns() - start_ns);
        }
    }
    Ok(())
}

fn answer_stream(mut stream: TcpStream) {
    let mut payload = [0; PAYLOAD_BYTES];
    while stream.read_exact(&mut payload).is_ok() && stream.write_all(&payload).is_ok() {}
}

/// Two ends of a TCP connection over loopback.
fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let near = TcpStream::connect_timeout(&listener.local_addr()?, GRACE)?;
    // The connection may reach the listener's queue a moment after `connect` returns.
    let mut far = listener.accept();
    for _ in 0..GRACE.as_millis() {
        match &far {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(1));
                far = listener.accept();
            }
            _ => break,
        }
    }
    let (far, peer) = far?;
    if peer != near.local_addr()? {
        return Err(io::Error::other("another process connected to the probe's port"));
    }
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

fn deadline_ns(clock: &Clock) -> u64 {
    clock.now_ns() + PROBE_BUDGET.as_nanos() as u64
}

fn median(mut samples: Vec<u64>) -> Result<u64, String> {
    if samples.len() < SAMPLES_MIN {
        return Err(format!(
            "{} samples in {} ms, fewer than {SAMPLES_MIN}: the cores are busy",
            samples.len(),
            PROBE_BUDGET.as_millis()
        ));
    }
    samples.sort_unstable();
    Ok(samples[samples.len() / 2])
}
