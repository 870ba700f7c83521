//! Probes, and what each says about the offset.

use crate::Bounds;

/// A datagram from A to B, and B's reply if it arrived.
///
/// A copy of a datagram, or one that overtook another, is a probe as good as any: it arrived after
/// it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A's clock before A sent the request, in nanoseconds.
    pub sent_ns: i64,
    /// B's clock after the request arrived, in nanoseconds.
    pub received_ns: i64,
    /// The reply; `None` if it was lost.
    pub reply: Option<Reply>,
}

/// The reply of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// B's clock before B sent the reply, in nanoseconds.
    pub sent_ns: i64,
    /// A's clock after the reply arrived, in nanoseconds.
    pub received_ns: i64,
}

/// Stamps of a probe that were made nearer to the wire than its own, such as the kernel's; `None`:
/// there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NearerStamps {
    /// A's clock when the request left, at or after [`Probe::sent_ns`], in nanoseconds.
    pub sent_ns: Option<i64>,
    /// B's clock when it arrived.
    pub received_ns: Option<i64>,
    /// B's clock when the reply left.
    pub replied_ns: Option<i64>,
    /// A's clock when it arrived.
    pub returned_ns: Option<i64>,
    /// By how much those of A and those of B may be wrong, in either direction.
    pub error_ns: [i64; 2],
}

impl Probe {
    /// The same probe by the stamps that are nearer to the wire. Each is moved away from it by its
    /// error, so that a probe never becomes longer, and no shorter than the truth.
    #[must_use]
    pub fn narrowed(&self, nearer: &NearerStamps) -> Probe {
        let [a, b] = nearer.error_ns;
        let later = |own: i64, stamp: Option<i64>, error: i64| {
            stamp.map_or(own, |ns| own.max(ns.saturating_sub(error)))
        };
        let earlier = |own: i64, stamp: Option<i64>, error: i64| {
            stamp.map_or(own, |ns| own.min(ns.saturating_add(error)))
        };
        let reply = self.reply.map(|reply| Reply {
            sent_ns: later(reply.sent_ns, nearer.replied_ns, b),
            received_ns: earlier(reply.received_ns, nearer.returned_ns, a),
        });
        Probe {
            sent_ns: later(self.sent_ns, nearer.sent_ns, a),
            received_ns: earlier(self.received_ns, nearer.received_ns, b),
            reply,
        }
    }

    /// The round trip without the time that B kept the request; `None` if the reply was lost.
    pub fn round_trip_ns(&self) -> Option<i64> {
        self.round_trip().map(|round_trip| round_trip.at(0.0) as i64)
    }

    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        let reply = self.reply?;
        let whole = reply.received_ns.checked_sub(self.sent_ns)? as f64;
        Some(RoundTrip { whole, held: reply.sent_ns.checked_sub(self.received_ns)? as f64 })
    }
}

/// A round trip, and the part of it for which B kept the request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundTrip {
    /// On A's clock, in nanoseconds.
    whole: f64,
    /// On B's clock.
    held: f64,
}

impl RoundTrip {
    /// The part under way, on A's clock in nanoseconds, if B's clock gains `drift` on A's. Without
    /// that a long hold on a fast clock is longer than the whole.
    pub(crate) fn at(self, drift: f64) -> f64 {
        self.whole - self.held / (1.0 + drift)
    }
}

/// Where times and offsets are counted from. A wall clock's nanoseconds have more digits than an
/// `f64`; differences within a run don't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    at_ns: i64,
    offset_ns: i64,
}

impl Origin {
    /// The first probe's request. `None` without probes.
    pub(crate) fn of(probes: &[Probe]) -> Option<Origin> {
        let first = probes.iter().min_by_key(|probe| probe.sent_ns)?;
        let offset_ns = first.received_ns.wrapping_sub(first.sent_ns);
        Some(Origin { at_ns: first.sent_ns, offset_ns })
    }

    /// An instant of A's clock, from here.
    pub(crate) fn at(self, a_ns: i64) -> f64 {
        a_ns.wrapping_sub(self.at_ns) as f64
    }

    /// The offset of two stamps of one event, from here.
    pub(crate) fn offset(self, a_ns: i64, b_ns: i64) -> f64 {
        b_ns.wrapping_sub(a_ns).wrapping_sub(self.offset_ns) as f64
    }

    /// An instant of A's clock again.
    pub(crate) fn instant_ns(self, at: f64) -> i64 {
        self.at_ns.wrapping_add(at.round() as i64)
    }

    /// An offset again, rounded down or up so that an interval never shrinks.
    pub(crate) fn low_ns(self, offset: f64) -> i64 {
        self.offset_ns.wrapping_add(offset.floor() as i64)
    }

    /// As [`Origin::low_ns`], upwards.
    pub(crate) fn high_ns(self, offset: f64) -> i64 {
        self.offset_ns.wrapping_add(offset.ceil() as i64)
    }
}

/// At `at`, the offset is at most (`is_upper`) or at least `offset`.
///
/// A request that A sent at `a` and B received at `b`: when A's clock showed `a`, B's had not yet
/// reached `b`, so the offset was at most `b - a`. A reply that B sent at `b` and A received at
/// `a`: when A's clock showed `a`, B's had passed `b`, so it was at least `b - a`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) at: f64,
    pub(crate) offset: f64,
    pub(crate) is_upper: bool,
    /// The probe's round trip, if this is its reply.
    pub(crate) round_trip: Option<RoundTrip>,
}

/// The longest that a request and its reply took together, on A's clock. No datagram that
/// [`limits`] uses was longer under way.
pub(crate) fn longest(probes: &[Probe]) -> f64 {
    let whole = |probe: &Probe| Some(probe.reply?.received_ns.wrapping_sub(probe.sent_ns) as f64);
    probes.iter().filter_map(whole).fold(0.0, f64::max)
}

/// The limits that the probes set, in order of A's clock.
///
/// A request without a reply is left out: nobody knows how long it was under way, perhaps until a
/// clock was set.
pub(crate) fn limits(probes: &[Probe], origin: Origin, bounds: &Bounds) -> Vec<Limit> {
    let error = 2.0 * bounds.stamp_error_ns;
    let mut limits = Vec::with_capacity(2 * probes.len());
    for probe in probes {
        let (Some(reply), Some(round_trip)) = (probe.reply, probe.round_trip()) else {
            continue;
        };
        let offset = origin.offset(probe.sent_ns, probe.received_ns) + error;
        let at = origin.at(probe.sent_ns);
        limits.push(Limit { at, offset, is_upper: true, round_trip: None });
        let offset = origin.offset(reply.received_ns, reply.sent_ns) - error;
        let at = origin.at(reply.received_ns);
        limits.push(Limit { at, offset, is_upper: false, round_trip: Some(round_trip) });
    }
    limits.sort_by(|a, b| a.at.total_cmp(&b.at));
    limits
}
