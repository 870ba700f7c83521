//! The error bound that the daemon of ClockBound publishes in shared memory
//! (github.com/aws/clock-bound, docs/PROTOCOL.md, versions 1 and 2). Bytes in, a bound out.

/// First two words of a segment, `AMZN` and `CB`, in this machine's byte order.
const MAGIC: [u32; 2] = [0x414D_5A4E, 0x4342_0200];
/// Length of magic, size, version and generation, bytes.
const HEADER_BYTES: usize = 16;
/// The clock follows a source, or runs on within a bound that grows.
const STATUS_KNOWN: [i32; 2] = [1, 2];

/// Why a segment gives no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockBoundError {
    /// These are other bytes, or fewer.
    #[error("ClockBound's shared memory is not a segment of version 1 or 2 ({0})")]
    Unreadable(String),
    /// The daemon was writing.
    #[error("ClockBound's daemon was writing its shared memory")]
    Unfinished,
    /// The daemon knows no bound.
    #[error("ClockBound says that the clock's error is unknown (status {0})")]
    Unknown(i32),
    /// The bound is older than the daemon allows.
    #[error("ClockBound's bound is out of date: its daemon does not run, or has no source")]
    Stale,
}

/// The largest distance of the wall clock from true time at `monotonic_ns` (`CLOCK_MONOTONIC`), ns:
/// the bound when it was made, and the drift since.
///
/// # Errors
/// If there is no bound at that time.
pub fn clock_bound_ns(segment: &[u8], monotonic_ns: u64) -> Result<u64, ClockBoundError> {
    let unreadable = |why: &str| ClockBoundError::Unreadable(why.to_owned());
    let short = || unreadable("it is too short");
    let word = |at: usize| -> Result<u32, ClockBoundError> {
        let bytes = segment.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u32::from_ne_bytes(*bytes)).ok_or_else(short)
    };
    let long = |at: usize| -> Result<i64, ClockBoundError> {
        let bytes = segment.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| i64::from_ne_bytes(*bytes)).ok_or_else(short)
    };
    let half = |at: usize| -> Result<u16, ClockBoundError> {
        let bytes = segment.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u16::from_ne_bytes(*bytes)).ok_or_else(short)
    };
    if [word(0)?, word(4)?] != MAGIC {
        return Err(unreadable("its first bytes are others"));
    }
    let (version, generation) = (half(12)?, half(14)?);
    if generation == 0 || !generation.is_multiple_of(2) {
        return Err(ClockBoundError::Unfinished);
    }
    let timespec_ns = |at: usize| -> Result<i128, ClockBoundError> {
        Ok(i128::from(long(at)?) * 1_000_000_000 + i128::from(long(at + 8)?))
    };
    let [as_of_ns, void_after_ns] = [timespec_ns(HEADER_BYTES)?, timespec_ns(HEADER_BYTES + 16)?];
    let bound_ns = long(48)?;
    // Version 2 has the marker of a disruption before the drift.
    let (drift_at, status_at) = match version {
        1 => (56, 64),
        2 => (64, 68),
        other => return Err(unreadable(&format!("it has version {other}"))),
    };
    let (drift_ppb, status) = (word(drift_at)?, word(status_at)? as i32);
    if !STATUS_KNOWN.contains(&status) {
        return Err(ClockBoundError::Unknown(status));
    }
    // The daemon's clock is the coarse one, some ms behind: a reading may seem to precede it.
    let since_ns = (i128::from(monotonic_ns) - as_of_ns).max(0);
    if i128::from(monotonic_ns) > void_after_ns || bound_ns <= 0 {
        return Err(ClockBoundError::Stale);
    }
    let drift_ns = (since_ns * i128::from(drift_ppb) + 999_999_999) / 1_000_000_000;
    u64::try_from(i128::from(bound_ns) + drift_ns).map_err(|_| ClockBoundError::Stale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the daemon writes it: version, generation, as-of, void-after, bound, drift, status.
    fn segment(
        version: u16,
        generation: u16,
        bound_ns: i64,
        drift_ppb: u32,
        status: i32,
    ) -> Vec<u8> {
        let mut bytes = MAGIC.map(u32::to_ne_bytes).as_flattened().to_vec();
        bytes.extend(80u32.to_ne_bytes());
        bytes.extend([version, generation].map(u16::to_ne_bytes).as_flattened());
        for word in [1_000, 500_000_000, 1_003, 0, bound_ns] {
            bytes.extend(i64::to_ne_bytes(word));
        }
        match version {
            1 => bytes.extend([drift_ppb, 0].map(u32::to_ne_bytes).as_flattened()),
            _ => {
                bytes.extend(7u64.to_ne_bytes());
                bytes.extend(drift_ppb.to_ne_bytes());
            }
        }
        bytes.extend(status.to_ne_bytes());
        bytes.resize(80, 0);
        bytes
    }

    const AS_OF_NS: u64 = 1_000_500_000_000;

    #[test]
    fn the_bound_grows_with_the_drift_since_it_was_made() {
        for version in [1, 2] {
            for status in [1, 2] {
                let segment = segment(version, 4, 25_000, 1_000, status);
                assert_eq!(clock_bound_ns(&segment, AS_OF_NS), Ok(25_000));
                assert_eq!(clock_bound_ns(&segment, AS_OF_NS - 4_000_000), Ok(25_000));
                assert_eq!(clock_bound_ns(&segment, AS_OF_NS + 2_000_000_000), Ok(27_000));
                assert_eq!(clock_bound_ns(&segment, AS_OF_NS + 1), Ok(25_001), "rounded up");
            }
        }
    }

    /// An old bound was once as good as a new one: nothing said that its daemon had ended.
    #[test]
    fn a_bound_that_nobody_vouches_for_is_none() {
        let at = |segment: &[u8], ns| clock_bound_ns(segment, ns).unwrap_err();
        let fine = segment(2, 4, 25_000, 1_000, 1);
        assert_eq!(at(&fine, 1_003_000_000_001), ClockBoundError::Stale);
        assert_eq!(at(&segment(2, 4, 0, 1_000, 1), AS_OF_NS), ClockBoundError::Stale);
        for status in [0, 3, 9] {
            let unknown = segment(2, 4, 25_000, 1_000, status);
            assert_eq!(at(&unknown, AS_OF_NS), ClockBoundError::Unknown(status));
        }
        for generation in [0, 5] {
            let unfinished = segment(2, generation, 25_000, 1_000, 1);
            assert_eq!(at(&unfinished, AS_OF_NS), ClockBoundError::Unfinished);
        }
        let unreadable = |segment: &[u8]| {
            matches!(clock_bound_ns(segment, AS_OF_NS), Err(ClockBoundError::Unreadable(_)))
        };
        assert!(unreadable(&segment(3, 4, 25_000, 1_000, 1)) && unreadable(&fine[..71]));
        assert!(unreadable(&[]) && unreadable(&[0; 80]));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(tail in proptest::collection::vec(any::<u8>(), 0..80), ns: u64) {
            let mut segment = MAGIC.map(u32::to_ne_bytes).as_flattened().to_vec();
            segment.extend(tail);
            let _ = clock_bound_ns(&segment, ns);
        }
    }
}
