//! Parsers of single values.

use clock::schedule::Arrival;
use plan::tables::ticks::Pace;
use record::comparison::selector::Figure;
use std::time::Duration;

/// The longest duration on the command line.
const DURATION_MAX: Duration = Duration::from_secs(30 * 86_400);

/// A percentile's rank, from its name.
pub(crate) fn percentile(text: &str) -> Result<f64, String> {
    match text.parse::<Figure>() {
        Ok(figure @ Figure::Percentile(_)) => Ok(figure.rank()),
        _ => Err("there are p50, p90, p95, p99, p99.9, p99.99 and p99.999".to_owned()),
    }
}

/// How far a record must hold: its main series, or the ratio of that to the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Need {
    /// The rank of a percentile of the main series.
    Figure(f64),
    /// The rank of a percentile of the ratio.
    Ratio(f64),
}

/// A percentile, or its ratio to the floor: `p90`, `p90 / floor`.
pub(crate) fn need(text: &str) -> Result<Need, String> {
    match text.split_once('/') {
        None => percentile(text).map(Need::Figure),
        Some((figure, floor)) if floor.trim() == "floor" => {
            percentile(figure.trim()).map(Need::Ratio)
        }
        Some(_) => {
            Err("write a percentile, such as p90, or its ratio, as \"p90 / floor\"".to_owned())
        }
    }
}

/// A share such as 99.9%, as a number above 0 and at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
    match number {
        Some(number) if number > 0.0 && number <= 100.0 => {
            // 99.9 / 100 is 0.9990000000000001.
            Ok((number * 1e10).round() / 1e12)
        }
        _ => Err("write a share above 0% and at most 100%, such as 99.9%".to_owned()),
    }
}

/// A time such as 90s, 10m or 2h.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let usage = || "write a whole number with a unit, such as 90s, 10m or 2h".to_owned();
    let at = text.find(|char: char| !char.is_ascii_digit()).ok_or_else(usage)?;
    let (number, unit) = text.split_at(at);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(usage()),
    };
    let number: u64 = number.parse().map_err(|_| usage())?;
    let duration = Duration::from_secs(number.saturating_mul(seconds));
    match duration {
        Duration::ZERO => Err(format!("{text} is no time at all; {}", usage())),
        longer if longer > DURATION_MAX => Err(format!("{text} is longer than 30 days, the limit")),
        duration => Ok(duration),
    }
}

/// How messages are spread over time.
pub(crate) fn arrival(text: &str) -> Result<Arrival, String> {
    match text {
        "uniform" => Ok(Arrival::Uniform),
        "poisson" => Ok(Arrival::Poisson),
        "burst" => Ok(Arrival::Burst),
        _ => Err("there are uniform, poisson and burst".to_owned()),
    }
}

/// When the inputs of a flow are due.
pub(crate) fn pace(text: &str) -> Result<Pace, String> {
    let known = [Pace::Fixed, Pace::Recorded].into_iter().find(|pace| pace.name() == text);
    known.ok_or_else(|| "there are fixed and recorded".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_of_per_cent() {
        for (text, expected) in [("99.9%", 0.999), ("100 %", 1.0), ("0.01%", 0.0001)] {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["99.9", "0%", "-1%", "100.1%", "NaN%", "%", ""] {
            let error = share(text).unwrap_err();
            assert!(error.contains("99.9%"), "{text}: {error}");
        }
    }

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        for text in ["", "10", "m", "1.5h", "-1s", "10 m", "721h", "0", "0s", "0m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_percentile_has_a_rank() {
        assert_eq!(percentile("p99.9"), Ok(0.999));
        assert!(percentile("max").is_err() && percentile("p98").is_err());
        assert_eq!(need("p99"), Ok(Need::Figure(0.99)));
        assert_eq!(need("p90 / floor"), Ok(Need::Ratio(0.9)));
        assert!(need("p90 / bare").is_err() && need("max / floor").is_err());
    }
}
