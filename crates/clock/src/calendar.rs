//! Wall-clock time as records write it: UTC, RFC 3339, whole seconds.

use jiff::Timestamp;

/// UTC time of `wall_ms` (ms since the epoch) as `2026-11-21T19:40:03Z`; at most the last day of
/// year 9999.
pub fn utc(wall_ms: u64) -> String {
    let seconds = (wall_ms / 1000).min(Timestamp::MAX.as_second().cast_unsigned());
    Timestamp::from_second(seconds.cast_signed()).unwrap_or(Timestamp::MAX).to_string()
}

/// Seconds since the epoch of a text that [`utc`] wrote; `None` for any other.
pub fn seconds(text: &str) -> Option<u64> {
    let seconds = text.parse::<Timestamp>().ok()?.as_second().try_into().ok()?;
    (utc(u64::checked_mul(seconds, 1000)?) == text).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utc_of_known_moments() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_795_290_003_000), "2026-11-21T19:40:03Z");
    }

    #[test]
    fn what_is_no_moment_has_no_seconds() {
        for text in [
            "",
            "2026-11-21",
            "2026-11-21 19:40:03Z",
            "2026-11-21T19:40:03+01",
            "2026-11-21T19-40-03Z",
            "2026-02-29T00:00:00Z",
            "2026-06-31T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "20é6-1-21T19:40:03Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(written in 0u64..253_402_200_000) {
            prop_assert_eq!(seconds(&utc(written * 1000)), Some(written));
        }

        #[test]
        fn any_text_is_read_or_rejected(text in "\\PC{0,24}") {
            let _ = seconds(&text);
        }
    }
}
