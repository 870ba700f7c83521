//! Two clocks whose true offset is known at every instant: a relay between the client and the echo
//! moves the echo's stamps by a function of time, and delays one direction.

use crate::datagrams::{BYTES, Echo, open_load, plan, run};
use clock::Clock;
use plan::faults::DatagramHarm;
use plan::process::orders::{DatagramPlan, OneWayPlan, Wire};
use plan::tables::load::Load;
use plan::tables::one_way::OneWay;
use record::between::HostClocks;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testing::unless;
use transport::echo::HEADER_BYTES;
use transport::echo::datagrams::STAMPED;

/// Harm that the relay does to replies.
struct Adapter<'a> {
    /// By how much the echo's clock is ahead of ours, at an instant of ours, ns.
    ahead_ns: &'a (dyn Fn(u64) -> i64 + Sync),
    delay: Duration,
}

/// Carries datagrams between one client and the echo until `stop` is set.
fn relay(front: &UdpSocket, echo: SocketAddr, adapter: &Adapter<'_>, stop: &AtomicBool) {
    let back = UdpSocket::bind("127.0.0.1:0").unwrap();
    back.connect(echo).unwrap();
    front.set_nonblocking(true).unwrap();
    back.set_nonblocking(true).unwrap();
    let (mut client, mut bytes) = (None, vec![0; 8192]);
    let mut held: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    while !stop.load(Ordering::Relaxed) {
        while let Ok((n, from)) = front.recv_from(&mut bytes) {
            client = Some(from);
            back.send(&bytes[..n]).unwrap();
        }
        while let Ok(n) = back.recv(&mut bytes) {
            let mut reply = bytes[..n].to_vec();
            if reply[4] == STAMPED {
                adapter.adapt(&mut reply);
            }
            held.push_back((Instant::now() + adapter.delay, reply));
        }
        while let Some((_, reply)) = held.pop_front_if(|(at, _)| *at <= Instant::now()) {
            front.send_to(&reply, client.expect("it asked")).unwrap();
        }
        // A read with a time-out would sleep for a jiffy.
        std::thread::sleep(Duration::from_micros(50));
    }
}

impl Adapter<'_> {
    /// Both ends read one clock: received, sent, received by the kernel, an earlier reply's
    /// departure.
    fn adapt(&self, reply: &mut [u8]) {
        for word in [1, 2, 3, 5] {
            let place = HEADER_BYTES + 8 * word;
            let stamp = reply[place..].first_chunk_mut::<8>().unwrap();
            let ns = u64::from_le_bytes(*stamp);
            if ns > 0 {
                *stamp = ns.saturating_add_signed((self.ahead_ns)(ns)).to_le_bytes();
            }
        }
    }
}

/// The clocks of a run of `seconds`. `ahead_ns` gets the time since before it.
fn between(
    seconds: f64,
    delay: Duration,
    stamp_every: u64,
    ahead_ns: &(dyn Fn(u64) -> i64 + Sync),
) -> (u64, HostClocks) {
    let clock = Clock::calibrate();
    let echo = Echo::start_by(clock);
    let front = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = front.local_addr().unwrap();
    let start_ns = clock.now_ns();
    let ahead_ns = |ns: u64| ahead_ns(ns.saturating_sub(start_ns));
    let adapter = Adapter { ahead_ns: &ahead_ns, delay };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| relay(&front, echo.address, &adapter, &stop));
        let directory = tempfile::tempdir().unwrap();
        let mut plan = plan(address, &directory, Load { stamp_every, ..open_load() });
        plan.seconds = seconds;
        let one_way = Some(OneWayPlan { clock, is_shared: false, shown: OneWay::Bracket });
        let harm = DatagramHarm::default();
        plan.wire = Wire::Datagrams(DatagramPlan { bytes: BYTES, patience_ms: 900, one_way, harm });
        let (result, _) = run(&plan);
        stop.store(true, Ordering::Relaxed);
        assert!(result.complete, "{:?}", result.failures);
        let [between] = &result.load.between[..] else { panic!("{:?}", result.load) };
        (start_ns, between.clone())
    })
}

const HOUR_NS: f64 = 3.6e12;

/// An hour ahead, faster by 100 ppm at one time and by 97 at another.
fn wanders(since_ns: u64) -> i64 {
    let seconds = since_ns as f64 / 1e9;
    // A rate of 1.5 ppm up and down, which changes by less than 1 ppm a second.
    let wave = 1_500.0 / 0.6 * (0.6 * seconds).sin();
    (HOUR_NS + 98.5e3 * seconds + wave) as i64
}

/// With a direction that takes 5 ms longer than the other the estimate is wrong by half of that,
/// and its interval doesn't say so. The bracket is right, with the kernels' stamps, too.
#[test]
fn a_clock_that_wanders_behind_an_uneven_path_stays_within_the_bracket() {
    let assumption = "a datagram of each 16th of a second is not 2 ms late";
    for stamp_every in [0, 1] {
        testing::quiet::or_doubled(assumption, |factor| {
            let delay = Duration::from_millis(5) * factor;
            let delay_ns = delay.as_nanos() as i64;
            let (start_ns, between) = between(f64::from(factor), delay, stamp_every, &wanders);
            let bracket = between.bracket.unwrap();
            let truth = wanders(between.at_ns - start_ns);
            let [low, high] = bracket.offset_ns;
            assert!(low <= truth && truth <= high, "{bracket:?}, not {truth}");
            assert_eq!((bracket.steps, bracket.windows_contradicted), (0, 0), "{bracket:?}");
            let [slow, fast] = bracket.drift_ppm.unwrap();
            assert!(slow <= 100.0 && 97.0 <= fast, "{bracket:?}");
            assert!(bracket.round_trip_ns_min.unwrap() >= delay_ns, "{bracket:?}");
            let Some(estimate) = between.estimate else { return Err("no estimate".to_owned()) };
            let wrong_ns = truth - estimate.offset_ns;
            let half_ns = delay_ns / 2;
            unless!((wrong_ns - half_ns).abs() < half_ns * 2 / 5, "{estimate:?}, not {truth}");
            unless!(estimate.interval_ns[1] < truth, "{estimate:?}, not {truth}");
            Ok(())
        });
    }
}

/// The far clock is set by 300 ms within the run. That is counted, no direction is given, and
/// before and after it the bracket holds the truth of then.
#[test]
fn a_clock_that_is_set_within_the_run_is_seen() {
    let assumption = "a request is answered within 50 ms, and a run begins within 0.3 s";
    for later in [false, true] {
        testing::quiet::or_doubled(assumption, |factor| {
            // The start of a run reads the clocks: about half a second.
            let seconds = 1.2 * f64::from(factor);
            let set_at = if later { 0.6 + 0.75 * seconds } else { 0.6 + 0.15 * seconds };
            let stepped = move |since_ns: u64| {
                let step_ns = if since_ns as f64 >= set_at * 1e9 { 300_000_000 } else { 0 };
                HOUR_NS as i64 + step_ns
            };
            let (start_ns, between) = between(seconds, Duration::ZERO, 0, &stepped);
            let bracket = between.bracket.clone().unwrap();
            let truth = stepped(between.at_ns - start_ns);
            unless!(bracket.steps == 1, "{} s of {seconds}: {bracket:?}", set_at);
            let [low, high] = bracket.offset_ns;
            unless!(low <= truth && truth <= high, "{bracket:?}, not {truth}");
            assert!(high - low < 150_000_000, "{bracket:?}");
            for way in ["forward.response", "forward.service", "reverse.service"] {
                let why = &between.withheld[way];
                assert!(why.contains("a clock was set"), "{why}");
            }
            Ok(())
        });
    }
}
