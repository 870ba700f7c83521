//! Two clocks by known functions, and a path that delays, loses, duplicates and reorders.

use clock::random::SplitMix64;
use sync::{NearerStamps, Probe, Reply};

/// Length of a run.
pub const RUN_NS: i64 = 2_000_000_000;
/// Mean time between probes.
const INTERVAL_NS: f64 = 1_000_000.0;

/// B's clock minus A's, which is the true time.
pub struct Clocks {
    pub shift_ns: f64,
    pub drift: f64,
    /// Amplitude, periods in a nanosecond, and phase of a wave.
    pub wander: (f64, f64, f64),
    /// When B is set, and by how much.
    pub steps: Vec<(i64, f64)>,
}

impl Clocks {
    pub fn offset_ns(&self, at_ns: i64) -> f64 {
        let (amplitude, frequency, phase) = self.wander;
        let wander = amplitude * (std::f64::consts::TAU * (frequency * at_ns as f64 + phase)).sin();
        let steps: f64 = self.steps.iter().filter(|step| step.0 <= at_ns).map(|step| step.1).sum();
        self.shift_ns + self.drift * at_ns as f64 + wander + steps
    }

    fn b_ns(&self, at_ns: f64) -> i64 {
        let whole = at_ns.floor() as i64;
        (at_ns + self.offset_ns(whole)).floor() as i64
    }
}

/// One direction.
#[derive(Clone, Copy)]
pub struct Path {
    pub base_ns: f64,
    /// Mean of an exponential queue.
    pub queue_ns: f64,
}

impl Path {
    fn delay_ns(self, random: &mut SplitMix64) -> f64 {
        self.base_ns - self.queue_ns * random.unit_open().ln()
    }
}

pub struct Harm {
    /// Shares of one.
    pub loss: f64,
    pub duplication: f64,
    /// Share of datagrams that are late by up to 3 ms, so that others overtake them.
    pub reordering: f64,
    /// When everything is delayed, by how much at most, and for how long.
    pub stall: Option<(i64, f64, i64)>,
}

pub struct Run {
    pub clocks: Clocks,
    pub there: Path,
    pub back: Path,
    pub harm: Harm,
    /// The longest that B keeps a request.
    pub hold_ns: f64,
}

impl Run {
    fn delay_ns(&self, path: Path, sent_ns: f64, random: &mut SplitMix64) -> f64 {
        let mut delay = path.delay_ns(random);
        if random.unit_open() < self.harm.reordering {
            delay += 3e6 * random.unit_open();
        }
        if let Some((from, by, length)) = self.harm.stall
            && (from..from + length).contains(&(sent_ns as i64))
        {
            delay += by * random.unit_open();
        }
        delay
    }

    /// The probes as applications stamp them, up to some 100 us before a datagram leaves and after
    /// it arrives, and the kernel's stamps beside, which are wrong by up to `error_ns` and missing
    /// at times.
    pub fn stamped_probes(
        &self,
        error_ns: i64,
        random: &mut SplitMix64,
    ) -> Vec<(Probe, NearerStamps)> {
        let wire = self.probes(random);
        wire.iter().map(|probe| with_application(probe, error_ns, random)).collect()
    }

    pub fn probes(&self, random: &mut SplitMix64) -> Vec<Probe> {
        let mut probes = Vec::new();
        let mut sent = 0.0;
        while sent < RUN_NS as f64 {
            sent -= INTERVAL_NS * random.unit_open().ln();
            if random.unit_open() < self.harm.loss {
                continue;
            }
            let copies = 1 + u32::from(random.unit_open() < self.harm.duplication);
            for _ in 0..copies {
                let arrived = sent + self.delay_ns(self.there, sent, random);
                let replied = arrived + self.hold_ns * random.unit_open();
                let returned = replied + self.delay_ns(self.back, replied, random);
                let reply = (random.unit_open() >= self.harm.loss).then(|| Reply {
                    sent_ns: self.clocks.b_ns(replied),
                    received_ns: returned.floor() as i64,
                });
                let received_ns = self.clocks.b_ns(arrived);
                probes.push(Probe { sent_ns: sent.floor() as i64, received_ns, reply });
            }
        }
        // Order of arrival, not of sending.
        probes.sort_by_key(|probe| probe.received_ns);
        probes
    }
}

/// A probe whose own stamps are further away from the wire than those of `wire`.
fn with_application(wire: &Probe, error_ns: i64, random: &mut SplitMix64) -> (Probe, NearerStamps) {
    let mut away = || between(random, 0.0, 100e3) as i64;
    let own = Probe {
        sent_ns: wire.sent_ns - away(),
        received_ns: wire.received_ns + away(),
        reply: wire.reply.map(|reply| Reply {
            sent_ns: reply.sent_ns - away(),
            received_ns: reply.received_ns + away(),
        }),
    };
    let mut stamp = |ns: i64| {
        let wrong = between(random, -1.0, 1.0) * error_ns as f64;
        (random.unit_open() < 0.9).then_some(ns + wrong as i64)
    };
    let nearer = NearerStamps {
        sent_ns: stamp(wire.sent_ns),
        received_ns: stamp(wire.received_ns),
        replied_ns: wire.reply.and_then(|reply| stamp(reply.sent_ns)),
        returned_ns: wire.reply.and_then(|reply| stamp(reply.received_ns)),
        error_ns: [error_ns; 2],
    };
    (own, nearer)
}

/// A number between two others.
pub fn between(random: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit_open()
}
