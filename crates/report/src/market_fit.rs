//! Processes fitted to a recorded day.

use record::race::{Arrivals, MarketFit};
use std::fmt::Write;

/// Below this p, a fit is called rejected.
const SIGNIFICANCE: f64 = 0.05;

/// A fit as the `[market]` table of a race file; all that is no key is a comment.
pub fn market_fit(fit: &MarketFit) -> String {
    let mut out = format!("# fitted to {:.0} s of {}\n", fit.seconds, fit.day);
    checked(&mut out, "news: changes of the middle of the book", &fit.news);
    checked(&mut out, "noise: orders that traded on arrival", &fit.noise);
    let _ = writeln!(out, "[market]");
    keys(&mut out, "news", &fit.news);
    if let Some(ticks) = fit.jump_ticks {
        let _ = writeln!(out, "jump_ticks = {:.3}  # {ticks:.3} in the day", ticks.max(1.0));
    }
    keys(&mut out, "noise", &fit.noise);
    let sizes: Vec<f64> = fit.lots_by_side.into_iter().flatten().collect();
    if let Some(lots) = stats::mean::mean(&sizes) {
        let _ = writeln!(out, "noise_lots = {:.0}  # {lots:.2} in the day", lots.max(1.0).round());
    }
    out
}

/// Whether the process could have made the events.
fn checked(out: &mut String, name: &str, arrivals: &Arrivals) {
    let _ = write!(out, "# {name}, {} of them\n#   ", arrivals.events);
    let _ = match (&arrivals.process, &arrivals.why_none) {
        (Some(process), _) => {
            let distance = process.distance;
            let p = match process.p {
                p if p < 1e-4 => "p below 0.0001".to_owned(),
                p => format!("p = {p:.4}"),
            };
            let verdict = match process.p < SIGNIFICANCE {
                true => "the process is rejected: the day has more than such bursts",
                false => "the process is not rejected",
            };
            writeln!(out, "time rescaling: distance {distance:.4}, {p}: {verdict}")
        }
        (None, Some(why)) => writeln!(out, "no process: {why}"),
        (None, None) => writeln!(out, "no process"),
    };
}

fn keys(out: &mut String, name: &str, arrivals: &Arrivals) {
    let _ = writeln!(out, "{name}_per_second = {:.6}", arrivals.per_second);
    let Some(process) = &arrivals.process else {
        let _ = writeln!(out, "{name}_branching = 0.0");
        return;
    };
    let [low, high] = process.branching_interval;
    let branching = process.branching;
    let _ = writeln!(out, "{name}_branching = {branching:.4}  # {low:.4} to {high:.4}");
    let [low, high] = process.decay_us_interval;
    let decay = process.decay_us;
    let _ = writeln!(out, "{name}_decay_us = {decay:.1}  # {low:.1} to {high:.1}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::race::FittedProcess;

    #[test]
    fn a_rejection_and_a_missing_process_are_said() {
        let process = |p| FittedProcess {
            branching: 0.5,
            branching_interval: [0.4, 0.6],
            decay_us: 900.0,
            decay_us_interval: [800.0, 1_000.0],
            distance: 0.1,
            p,
            ..FittedProcess::default()
        };
        let news = Arrivals {
            events: 500,
            per_second: 2.5,
            process: Some(process(0.001)),
            why_none: None,
        };
        let why_none = Some("20 events are too few".to_owned());
        let noise = Arrivals { events: 20, per_second: 0.1, process: None, why_none };
        let fit = MarketFit {
            day: "day".to_owned(),
            seconds: 200.0,
            news,
            noise,
            ..MarketFit::default()
        };
        let expected = "\
# fitted to 200 s of day
# news: changes of the middle of the book, 500 of them
#   time rescaling: distance 0.1000, p = 0.0010: the process is rejected: the day has more than such bursts
# noise: orders that traded on arrival, 20 of them
#   no process: 20 events are too few
[market]
news_per_second = 2.500000
news_branching = 0.5000  # 0.4000 to 0.6000
news_decay_us = 900.0  # 800.0 to 1000.0
noise_per_second = 0.100000
noise_branching = 0.0
";
        assert_eq!(market_fit(&fit), expected);
    }
}
