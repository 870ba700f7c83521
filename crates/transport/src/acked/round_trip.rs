//! When to send a datagram again, as TCP does it (RFC 6298).

/// The shortest time until a datagram is sent again, ns: well above the other end's delay of an
/// acknowledgement.
pub const RETRANSMIT_NS_MIN: u64 = 10_000_000;
/// The longest, ns.
pub const RETRANSMIT_NS_MAX: u64 = 1_000_000_000;
/// While no round trip is known, ns.
const RETRANSMIT_NS_FIRST: u64 = 100_000_000;

#[derive(Clone, Copy, Default)]
pub(super) struct RoundTrip {
    /// 0: none is known yet.
    pub smoothed_ns: u64,
    variation_ns: u64,
    /// How often the time was doubled since the last new acknowledgement.
    doubled: u32,
}

impl RoundTrip {
    /// A datagram that was sent once was acknowledged after `took_ns`.
    #[inline]
    pub fn sample(&mut self, took_ns: u64) {
        if self.smoothed_ns == 0 {
            (self.smoothed_ns, self.variation_ns) = (took_ns.max(1), took_ns / 2);
            return;
        }
        let off_ns = self.smoothed_ns.abs_diff(took_ns);
        self.variation_ns = (3 * self.variation_ns + off_ns) / 4;
        self.smoothed_ns = ((7 * self.smoothed_ns + took_ns) / 8).max(1);
    }

    /// Time until a datagram is sent again.
    #[inline]
    pub fn retransmit_ns(&self) -> u64 {
        let ns = match self.smoothed_ns {
            0 => RETRANSMIT_NS_FIRST,
            smoothed_ns => smoothed_ns.saturating_add(4 * self.variation_ns),
        };
        let ns = ns.clamp(RETRANSMIT_NS_MIN, RETRANSMIT_NS_MAX);
        (ns << self.doubled).min(RETRANSMIT_NS_MAX)
    }

    /// It was not acknowledged in that time.
    pub fn back_off(&mut self) {
        // 10 ms doubled seven times is past the longest.
        self.doubled = (self.doubled + 1).min(7);
    }

    #[inline]
    pub fn recovered(&mut self) {
        self.doubled = 0;
    }
}
