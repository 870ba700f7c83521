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
    let Time { year, month, day, second, ns } = Time::parse(text)?;
    let seconds = days_before(year, month, day) * DAY_SECONDS + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Whether it is one.
#[inline]
pub(crate) fn is_timestamp(text: &[u8]) -> bool {
    match Time::parse(text) {
        // The counter of nanoseconds ends within that year.
        Some(time) if time.year >= 2554 => parse_timestamp(text).is_some(),
        time => time.is_some(),
    }
}

/// A valid timestamp.
struct Time {
    year: u64,
    month: u64,
    day: u64,
    /// Since the day began.
    second: u64,
    /// Since the second began.
    ns: u64,
}

impl Time {
    #[inline]
    fn parse(text: &[u8]) -> Option<Time> {
        let (date, rest) = text.split_first_chunk::<8>()?;
        let (hyphen, rest) = rest.split_first()?;
        let (time, fraction) = rest.split_first_chunk::<8>()?;
        if (*hyphen, time[2], time[5]) != (b'-', b':', b':') {
            return None;
        }
        let [century, of_century, month, day] = four_pairs(*date)?;
        let year = century * 100 + of_century;
        let leap_of = if of_century == 0 { century } else { of_century };
        if year < 1970 || day == 0 || day > month_days(month, leap_of % 4 == 0)? {
            return None;
        }
        let [h, hh, _, m, mm, _, s, ss] = *time;
        let [hour, minute, second, _] = four_pairs([h, hh, m, mm, s, ss, b'0', b'0'])?;
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let second = hour * 3600 + minute * 60 + second;
        Some(Time { year, month, day, second, ns: fraction_ns(fraction)? })
    }
}

/// A point and 1 to 9 digits, or nothing.
#[inline]
fn fraction_ns(text: &[u8]) -> Option<u64> {
    match text {
        [] => Some(0),
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            Some(number(digits)? * 10u64.pow(9 - digits.len() as u32))
        }
        _ => None,
    }
}

/// The numbers of four times two digits, all at once.
#[inline]
fn four_pairs(text: [u8; 8]) -> Option<[u64; 4]> {
    let each = |byte| u64::from_ne_bytes([byte; 8]);
    let digits = u64::from_le_bytes(text) ^ each(b'0');
    if (digits | digits.wrapping_add(each(0x80 - 10))) & each(0x80) != 0 {
        return None;
    }
    let pairs = digits * 10 + (digits >> 8);
    Some([0, 16, 32, 48].map(|at| pairs >> at & 0xff))
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

/// Days from 1970 to that date.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let y = year - u64::from(month <= 2);
    let era = y / 400;
    let yoe = y % 400;
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

#[inline]
fn month_days(month: u64, is_leap: bool) -> Option<u64> {
    match month {
        2 => Some(if is_leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain way to read a time.
    fn field_by_field(text: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(text).ok()?;
        let (whole, fraction) = text.split_at_checked(17)?;
        let separators: Vec<_> = [8, 11, 14].map(|at| whole.as_bytes()[at]).into();
        let field = |from: usize, to: usize| -> Option<u64> {
            let digits = whole.get(from..to)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let (year, month, day) = (field(0, 4)?, field(4, 6)?, field(6, 8)?);
        let (hour, minute, second) = (field(9, 11)?, field(12, 14)?, field(15, 17)?);
        let is_of_a_month = year >= 1970 && (1..=12).contains(&month) && day > 0;
        let days = is_of_a_month.then(|| days_before(year, month, day))?;
        let is_date = civil(days) == (year, month, day);
        let ns = match fraction.strip_prefix('.') {
            Some(digits) if (1..=9).contains(&digits.len()) => {
                number(digits.as_bytes())? * 10u64.pow(9 - digits.len() as u32)
            }
            Some(_) => return None,
            None if fraction.is_empty() => 0,
            None => return None,
        };
        let seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second;
        let is_time = hour <= 23 && minute <= 59 && second <= 60 && separators == b"-::";
        let ns = seconds.checked_mul(1_000_000_000)?.checked_add(ns);
        ns.filter(|_| is_date && is_time)
    }

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
            prop_assert_eq!(is_timestamp(&bytes), parse_timestamp(&bytes).is_some());
        }

        /// Another byte in any place, and dates and times around their limits.
        #[test]
        fn a_time_that_is_nearly_one_is_read_field_by_field_too(
            (year, month, day) in (prop_oneof![1960u64..2110, 2550u64..2560], 0u64..14, 0u64..33),
            (hour, minute, second) in (0u64..26, 0u64..62, 0u64..63),
            fraction in "(\\.[0-9]{0,10})?",
            changed in proptest::option::of((0usize..28, any::<u8>())),
        ) {
            let mut text = format!(
                "{year:04}{month:02}{day:02}-{hour:02}:{minute:02}:{second:02}{fraction}"
            ).into_bytes();
            if let Some((at, byte)) = changed && let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            prop_assert_eq!(parse_timestamp(&text), field_by_field(&text));
            prop_assert_eq!(is_timestamp(&text), field_by_field(&text).is_some());
        }
    }
}
