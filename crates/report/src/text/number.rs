//! Numbers as a person reads them in a column.

/// Latency in microseconds with three digits or so; with its unit from 100 ms on, where it has six
/// digits.
pub(crate) fn us(ns: u64) -> String {
    let us = ns as f64 / 1e3;
    match ns {
        0..1_000 => format!("{us:.3}"),
        1_000..10_000 => format!("{us:.2}"),
        10_000..100_000 => format!("{us:.1}"),
        100_000..100_000_000 => format!("{us:.0}"),
        100_000_000..1_000_000_000 => format!("{:.0}ms", us / 1e3),
        _ => format!("{:.2}s", us / 1e6),
    }
}

/// Latency in milliseconds with three digits or so.
pub(crate) fn ms(ns: u64) -> String {
    three_digits(ns as f64 / 1e6)
}

/// Latency in seconds with three digits or so.
pub(crate) fn s(ns: u64) -> String {
    three_digits(ns as f64 / 1e9)
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 0.9995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Latency in whole nanoseconds; with its unit where it is longer than a column.
pub(crate) fn ns(ns: u64) -> String {
    match ns {
        0..100_000 => ns.to_string(),
        100_000..1_000_000 => format!("{}us", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{}ms", ms(ns)),
        _ => format!("{}s", s(ns)),
    }
}

/// A count with k or M behind three digits.
pub(crate) fn count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000..100_000_000 => format!("{:.1}M", n as f64 / 1e6),
        _ => format!("{}M", n / 1_000_000),
    }
}

/// A short count with its noun: `1 record`, `120k records`.
pub(crate) fn one_or(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n)) }
}

/// A rate a second with thin groups of thousands.
pub(crate) fn rate(per_second: f64) -> String {
    let whole = format!("{per_second:.0}");
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A latency in a sentence, three digits and its unit: `950 ns`, `31.2 us`, `312 us`, `4.70 ms`.
pub(crate) fn latency(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        ns if ns < 999.5 => return format!("{ns} ns"),
        ns if ns < 999_500.0 => (ns / 1e3, "us"),
        ns if ns < 999_500_000.0 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// A latency with its unit, as an axis has it: `500 ns`, `20 us`, `1 ms`.
pub(crate) fn tick_ns(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999_500.0 => (ns / 1e3, "us"),
        ns if ns < 999_500_000.0 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", plain(value))
}

/// As [`tick_ns`], with three digits.
pub(crate) fn short_ns(ns: f64) -> String {
    let unit = 10f64.powf((ns.max(1.0).log10() - 2.0).floor());
    tick_ns((ns / unit).round() * unit)
}

/// At most three decimals, none that is zero at the end.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share as a signed change in percent, or as a factor where it is large.
pub(crate) fn share(share: f64) -> String {
    match share {
        share if share.abs() < 0.1 => format!("{:+.1}%", share * 100.0),
        share if share < 10.0 => format!("{:+.0}%", share * 100.0),
        share => format!("x{:.0}", share + 1.0),
    }
}

/// A share in percent, to a thousandth of it.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

/// Millions a second, three digits or so.
pub(crate) fn millions(per_second: f64) -> String {
    let millions = per_second / 1e6;
    match millions {
        millions if millions < 10.0 => format!("{millions:.2}"),
        millions => format!("{millions:.1}"),
    }
}

/// Memory in MiB, with a tenth.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// Seconds, with a tenth where they are not whole.
pub(crate) fn seconds(seconds: f64) -> String {
    let shown = format!("{seconds:.1}");
    shown.strip_suffix(".0").map_or_else(|| shown.clone(), str::to_owned)
}

/// A time as a person waits for it, `0:31` or `26:00:05`; whole seconds, none below 0.
pub fn duration(seconds: f64) -> String {
    // Out of range saturates.
    let seconds = seconds.round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_narrow() {
        let shown: Vec<String> =
            [0, 999, 9_994, 52_340, 999_499, 48_123_456, 512_345_678].map(us).into();
        assert_eq!(shown, ["0.000", "0.999", "9.99", "52.3", "999", "48123", "512ms"]);
        assert_eq!(us(3_600_000_000_000), "3600.00s");
        // A column of nanoseconds once had "7223k".
        let shown: Vec<String> =
            [7, 99_999, 123_456, 7_223_000, 48_123_456, 2_500_000_000].map(ns).into();
        assert_eq!(shown, ["7", "99999", "123us", "7.22ms", "48.1ms", "2.50s"]);
        assert_eq!(one_or(1, "record"), "1 record");
        assert_eq!(one_or(120_000, "record"), "120k records");
        let shown: Vec<String> = [7, 9_999, 120_000, 1_234_567, 432_000_000].map(count).into();
        assert_eq!(shown, ["7", "9999", "120k", "1.2M", "432M"]);
        let shown: Vec<String> = [999.6, 10_000.0, 400_000.0, 1_234_567.0].map(rate).into();
        assert_eq!(shown, ["1 000", "10 000", "400 000", "1 234 567"]);
        let shown: Vec<String> = [7.0, 24_463.0, 119_935.0, 3.4e6].map(short_ns).into();
        assert_eq!(shown, ["7 ns", "24.5 us", "120 us", "3.4 ms"]);
        let shown: Vec<String> = [500.0, 1e3, 2e4, 5e5, 1e6, 2.5e9].map(tick_ns).into();
        assert_eq!(shown, ["500 ns", "1 us", "20 us", "500 us", "1 ms", "2.5 s"]);
        let shown: Vec<String> = [0.012, -0.4, 4.2, 41.0].map(share).into();
        assert_eq!(shown, ["+1.2%", "-40%", "+420%", "x42"]);
        let shown: Vec<String> = [0.5, 3.0001, 60.0].map(seconds).into();
        assert_eq!(shown, ["0.5", "3", "60"]);
        let shown: Vec<String> = [-1.0, 0.4, 59.6, 3599.0, 93_605.0].map(duration).into();
        assert_eq!(shown, ["0:00", "0:00", "1:00", "59:59", "26:00:05"]);
        let shown: Vec<String> = [950, 9_999, 31_240, 999_600, 3_000_000_000].map(latency).into();
        assert_eq!(shown, ["950 ns", "10.0 us", "31.2 us", "1.00 ms", "3.00 s"]);
    }
}
