//! Wall-clock time as records write it: UTC, RFC 3339, whole seconds.

/// UTC time of `wall_ms` (ms since the epoch) as `2026-11-21T19:40:03Z`.
pub fn utc(wall_ms: u64) -> String {
    let seconds = wall_ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Seconds since the epoch of what [`utc`] wrote; `None` of anything else.
pub fn seconds(utc: &str) -> Option<u64> {
    let bytes = utc.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if bytes.len() != 20 || separators.iter().any(|(at, byte)| bytes[*at] != *byte) {
        return None;
    }
    let number = |at: usize, length: usize| -> Option<u64> {
        let digits = &bytes[at..at + length];
        let digit =
            |sum: u64, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'));
        digits.iter().try_fold(0, digit)
    };
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let days = days(year, month, day)?;
    (hour < 24 && minute < 60 && second < 60)
        .then(|| days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Year, month, day of a count of days since 1970-01-01: Hinnant's `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// Days from 1970-01-01 to a day that there is: Hinnant's `days_from_civil`.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) {
        return None;
    }
    let year_from_march = year - u64::from(month <= 2);
    let (era, year_of_era) = (year_from_march / 400, year_from_march % 400);
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    // 31 June is no day.
    (civil(days) == (year, month, day)).then_some(days)
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
        fn what_was_written_is_read(written in 0u64..253_402_300_800) {
            prop_assert_eq!(seconds(&utc(written * 1000)), Some(written));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = seconds(&text);
        }
    }
}
