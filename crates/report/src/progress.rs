//! The few lines that stand on a terminal while a scenario is carried out.

use crate::text::number::{duration, rate, seconds as in_seconds, short_ns};
use record::progress::Second;
use record::text::counted_as;

/// The state of a measurement at this moment.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Which run, from 1; 0 before the first.
    pub run: u32,
    /// How many are to count.
    pub runs: u32,
    /// The subject that is measured, or `hiccup`.
    pub name: String,
    /// How long the present part measures.
    pub seconds: f64,
    /// Messages a second that its schedule asks for; `None` in ping-pong.
    pub rate_per_second_offered: Option<f64>,
    /// Time until everything is done.
    pub seconds_left: f64,
    /// The latest second of this part.
    pub second: Option<Second>,
    /// How many warnings there were.
    pub warnings: usize,
    /// The latest one.
    pub warning: String,
}

/// Three lines, and a fourth if there is something to warn of. Text from outside is printable.
pub fn progress(progress: &Progress) -> Vec<String> {
    if progress.run == 0 {
        return vec!["looking at the machine".to_owned()];
    }
    let Progress { run, runs, name, seconds, warnings, warning, .. } = progress;
    let doing = match (&progress.second, name.as_str()) {
        (Some(second), _) => {
            let so_far = in_seconds(second.seconds.min(*seconds));
            format!("{so_far} of {} s", in_seconds(*seconds))
        }
        (None, "hiccup") => "the same cores without load".to_owned(),
        (None, _) => "warming up".to_owned(),
    };
    let left = format!("{} left", duration(progress.seconds_left));
    let mut lines = vec![format!("run {run} of {runs}: {name}, {doing}"), figures(progress), left];
    if *warnings > 0 {
        let warnings = counted_as(*warnings, "warning", "warnings, the latest");
        lines.push(format!("{warnings}: {warning}"));
    }
    lines.iter().map(|line| line.chars().filter(|one| !one.is_control()).collect()).collect()
}

fn figures(progress: &Progress) -> String {
    let offered = progress.rate_per_second_offered.map(rate);
    let Some(second) = &progress.second else {
        return offered.map_or_else(String::new, |offered| format!("{offered} messages/s offered"));
    };
    let of_offered = offered.map_or_else(String::new, |offered| format!(" of {offered}"));
    let shown = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| short_ns(ns as f64));
    format!(
        "{}{of_offered} messages/s; {} p50 {}, p99 {}",
        rate(second.messages_per_second),
        second.series.replace('.', " "),
        shown(second.p50_ns),
        shown(second.p99_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Progress {
        Progress {
            run: 2,
            runs: 6,
            name: "rust".into(),
            seconds: 4.0,
            rate_per_second_offered: Some(10_000.0),
            seconds_left: 31.4,
            second: Some(Second {
                seconds: 3.0001,
                messages_per_second: 9_998.2,
                series: "order.response".into(),
                p50_ns: Some(41_234),
                p99_ns: None,
                seconds_left: None,
                ..Second::default()
            }),
            ..Progress::default()
        }
    }

    #[test]
    fn three_lines_say_who_how_fast_and_how_long() {
        let lines = progress(&running());
        assert_eq!(
            lines,
            [
                "run 2 of 6: rust, 3 of 4 s",
                "9 998 of 10 000 messages/s; order response p50 41.2 us, p99 -",
                "0:31 left"
            ]
        );
        let warming_up = Progress { second: None, ..running() };
        assert_eq!(
            progress(&warming_up)[..2],
            ["run 2 of 6: rust, warming up", "10 000 messages/s offered"]
        );
        assert_eq!(progress(&Progress::default()), ["looking at the machine"]);
    }

    #[test]
    fn a_warning_is_a_line_and_nothing_from_outside_moves_the_cursor() {
        let warned = Progress {
            warnings: 2,
            warning: "run 1 was void\u{1b}[2J\n".into(),
            name: "ru\rst".into(),
            ..running()
        };
        let lines = progress(&warned);
        assert_eq!(lines[3], "2 warnings, the latest: run 1 was void[2J");
        assert_eq!(lines[0], "run 2 of 6: rust, 3 of 4 s");
    }

    /// A client may say anything that is a number.
    #[test]
    fn odd_figures_are_only_odd() {
        for value in [f64::MAX, -1.0, f64::MIN_POSITIVE, f64::INFINITY, f64::NAN] {
            let mut odd = running();
            odd.seconds_left = value;
            if let Some(second) = &mut odd.second {
                *second = Second { seconds: value, p99_ns: Some(u64::MAX), ..second.clone() };
            }
            assert_eq!(progress(&odd).len(), 3);
        }
    }
}
