//! UTCTimestamp: `YYYYMMDD-HH:MM:SS` with an optional fraction.

/// Bytes of a timestamp with milliseconds.
pub const TIMESTAMP_BYTES: usize = 21;

const DAY_SECONDS: u64 = 86_400;

/// Writes the time with milliseconds; `utc_ns` counts from 1970. Years beyond 9999 do not fit and
/// can't occur: the counter ends in 2554.
pub fn put_timestamp(out: &mut [u8; TIMESTAMP_BYTES], utc_ns: u64) {
    let seconds = utc_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / DAY_SECONDS);
    let second = seconds % DAY_SECONDS;
    *out = *b"00000000-00:00:00.000";
    digits(&mut out[..4], year);
    digits(&mut out[4..6], month);
    digits(&mut out[6..8], day);
    digits(&mut out[9..11], second / 3600);
    digits(&mut out[12..14], second / 60 % 60);
    digits(&mut out[15..17], second % 60);
    digits(&mut out[18..], utc_ns / 1_000_000 % 1000);
}

/// The time as ns since 1970. `None` if it is no timestamp or before 1970; the fraction may have 1
/// to 9 digits. A leap second counts as the second after it.
pub fn parse_timestamp(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = match text.len() {
        17 => (text, &[][..]),
        19..=27 if text[17] == b'.' => (&text[..17], &text[18..]),
        _ => return None,
    };
    if (whole[8], whole[11], whole[14]) != (b'-', b':', b':') {
        return None;
    }
    let field = |from: usize, to: usize| number(&whole[from..to]);
    let (year, month, day) = (field(0, 4)?, field(4, 6)?, field(6, 8)?);
    let (hour, minute, second) = (field(9, 11)?, field(12, 14)?, field(15, 17)?);
    let days = days_before(year, month, day)?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut ns = number(fraction)?;
    for _ in fraction.len()..9 {
        ns *= 10;
    }
    let seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

fn digits(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0, |n, &digit| digit.is_ascii_digit().then(|| n * 10 + u64::from(digit - b'0')))
}

/// Year, month and day of a day since 1970. Source: Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", `civil_from_days`.
fn civil(day: u64) -> (u64, u64, u64) {
    let z = day + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + u64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// Days from 1970 to that date; `None` if there is no such date.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let y = year - u64::from(month <= 2);
    let era = y / 400;
    let yoe = y % 400;
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468;
    (civil(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        assert_eq!(parse_timestamp(b"19700101-00:00:00"), Some(0));
        assert_eq!(parse_timestamp(b"20240229-12:30:45.5"), Some(1_709_209_845_500_000_000));
        let wrong = [
            "20230229-00:00:00",
            "20241301-00:00:00",
            "20240001-00:00:00",
            "19691231-23:59:59",
            "20240101-24:00:00",
            "20240101-00:60:00",
            "20240101 00:00:00",
            "20240101-00:00:00.",
            "20240101-00:00:00.1234567890",
            "2024-01-01",
            "",
            "2024010a-00:00:00",
        ];
        for text in wrong {
            assert_eq!(parse_timestamp(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        #[test]
        fn what_is_written_is_read(ms in 0u64..18_000_000_000_000) {
            let mut text = [0; TIMESTAMP_BYTES];
            put_timestamp(&mut text, ms * 1_000_000);
            prop_assert_eq!(parse_timestamp(&text), Some(ms * 1_000_000));
        }

        #[test]
        fn any_bytes_are_read_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            parse_timestamp(&bytes);
        }
    }
}
