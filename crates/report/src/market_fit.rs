//! Processes fitted to a recorded day.

use record::race::{Arrivals, FittedProcess, MarketFit};
use std::fmt::Write;

/// Below this p, a fit is called rejected.
const SIGNIFICANCE: f64 = 0.05;

/// Above this branching, a market would begin almost empty, and reach its rate late.
const BRANCHING_MAX: f64 = 0.95;

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
    if let Some(lives) = &fit.lifetimes {
        let _ = writeln!(out, "# orders that joined the book and left it: {}", lives.orders);
        let _ = writeln!(out, "passive_per_second = {:.6}", lives.per_second);
        let _ = writeln!(out, "passive_within_100us = {:.4}", lives.within_100us);
        let _ = writeln!(out, "passive_within_1ms = {:.4}", lives.within_1ms);
        let _ = writeln!(out, "passive_longer_ms = {:.1}", lives.longer_ms.unwrap_or(0.0));
    }
    out
}

/// Whether the processes could have made the events.
fn checked(out: &mut String, name: &str, arrivals: &Arrivals) {
    let _ = writeln!(out, "# {name}, {} of them", arrivals.events);
    let _ = match (&arrivals.process, &arrivals.why_none) {
        (Some(process), _) => rescaled(out, "one kernel", process),
        (None, Some(why)) => writeln!(out, "#   no process: {why}"),
        (None, None) => writeln!(out, "#   no process"),
    };
    let _ = match (&arrivals.two_kernels, &arrivals.why_one_kernel) {
        (Some(process), _) => rescaled(out, "two kernels", process),
        (None, Some(why)) => writeln!(out, "#   two kernels: {why}"),
        (None, None) => Ok(()),
    };
}

fn rescaled(out: &mut String, name: &str, process: &FittedProcess) -> std::fmt::Result {
    let distance = process.distance;
    let p = match process.p {
        p if p < 1e-4 => "p below 0.0001".to_owned(),
        p => format!("p = {p:.4}"),
    };
    let verdict = match process.p < SIGNIFICANCE {
        true => "rejected: the day has other bursts",
        false => "not rejected",
    };
    writeln!(out, "#   {name}, time rescaling: distance {distance:.4}, {p}: {verdict}")
}

fn keys(out: &mut String, name: &str, arrivals: &Arrivals) {
    let _ = writeln!(out, "{name}_per_second = {:.6}", arrivals.per_second);
    let two = arrivals.two_kernels.as_ref();
    let drifting = two.map(branching).filter(|share| *share > BRANCHING_MAX);
    let two = two.filter(|_| drifting.is_none());
    let Some(process) = two.or(arrivals.process.as_ref()) else {
        let _ = writeln!(out, "{name}_branching = 0.0");
        return;
    };
    if let Some(share) = drifting {
        let _ = writeln!(
            out,
            "# with two kernels a share of {share:.4} is caused: the rate of the day drifts, so \
             one kernel stands here"
        );
    }
    for (kernel, prefix) in process.kernels.iter().zip(["", "slow_"]) {
        let [low, high] = kernel.branching_interval;
        let branching = kernel.branching;
        let _ = writeln!(out, "{name}_{prefix}branching = {branching:.4}  # {low:.4} to {high:.4}");
        let [low, high] = kernel.decay_us_interval;
        let decay = kernel.decay_us;
        let _ = writeln!(out, "{name}_{prefix}decay_us = {decay:.1}  # {low:.1} to {high:.1}");
    }
}

/// Share of events that earlier ones caused.
fn branching(process: &FittedProcess) -> f64 {
    process.kernels.iter().map(|kernel| kernel.branching).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::race::{FittedKernel, Lifetimes};

    #[test]
    fn a_rejection_and_a_missing_process_are_said() {
        let kernel = |branching: f64, decay_us: f64| FittedKernel {
            branching,
            branching_interval: [branching - 0.1, branching + 0.1],
            decay_us,
            decay_us_interval: [decay_us - 100.0, decay_us + 100.0],
        };
        let process = |p, kernels: &[FittedKernel]| FittedProcess {
            kernels: kernels.to_vec(),
            distance: 0.1,
            p,
            ..FittedProcess::default()
        };
        let news = Arrivals {
            events: 500,
            per_second: 2.5,
            process: Some(process(0.001, &[kernel(0.5, 900.0)])),
            two_kernels: Some(process(0.25, &[kernel(0.4, 300.0), kernel(0.2, 5_000.0)])),
            ..Arrivals::default()
        };
        let why_none = Some("20 events are too few".to_owned());
        let noise = Arrivals { events: 20, per_second: 0.1, why_none, ..Arrivals::default() };
        let lifetimes = Lifetimes {
            orders: 30,
            per_second: 0.15,
            within_100us: 0.25,
            within_1ms: 0.5,
            longer_ms: Some(700.0),
        };
        let fit = MarketFit {
            day: "day".to_owned(),
            seconds: 200.0,
            news,
            noise,
            lifetimes: Some(lifetimes),
            ..MarketFit::default()
        };
        let expected = "\
# fitted to 200 s of day
# news: changes of the middle of the book, 500 of them
#   one kernel, time rescaling: distance 0.1000, p = 0.0010: rejected: the day has other bursts
#   two kernels, time rescaling: distance 0.1000, p = 0.2500: not rejected
# noise: orders that traded on arrival, 20 of them
#   no process: 20 events are too few
[market]
news_per_second = 2.500000
news_branching = 0.4000  # 0.3000 to 0.5000
news_decay_us = 300.0  # 200.0 to 400.0
news_slow_branching = 0.2000  # 0.1000 to 0.3000
news_slow_decay_us = 5000.0  # 4900.0 to 5100.0
noise_per_second = 0.100000
noise_branching = 0.0
# orders that joined the book and left it: 30
passive_per_second = 0.150000
passive_within_100us = 0.2500
passive_within_1ms = 0.5000
passive_longer_ms = 700.0
";
        assert_eq!(market_fit(&fit), expected);
        // A slow kernel that causes almost everything is a rate that drifts.
        let mut drifts = fit;
        drifts.news.two_kernels.as_mut().unwrap().kernels[1].branching = 0.59;
        let text = market_fit(&drifts);
        assert!(text.contains("a share of 0.9900 is caused: the rate of the day drifts"), "{text}");
        assert!(text.contains("news_branching = 0.5000") && !text.contains("slow"), "{text}");
    }
}
