//! The live view: a few lines on the terminal, redrawn in place as things happen. It never hides
//! the cursor and leaves it at the start of a line, so that the terminal is in order
//! however the process ends. Without a terminal, a line from time to time.

use clock::Deadline;
use rustix::termios::tcgetwinsize;
use scenario::{Listener, Progress, Say};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Without a terminal a line of progress is at least this much later than the one before it, or
/// than the start. A shorter run ends without a line.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Columns where the terminal doesn't say.
const COLUMNS_DEFAULT: usize = 80;

/// The screen; gone from the terminal when it is dropped.
pub(crate) struct Screen {
    shown: report::Progress,
    /// Duration of the present part, warm-up included, and of the parts after it.
    part_seconds: f64,
    later_seconds: f64,
    /// Lines that stand below those of the measurement.
    pub below: Vec<String>,
    /// Lengths of the lines that stand on the terminal.
    drawn: Vec<usize>,
}

/// Does `work` with a screen on a terminal, and erases it afterwards; elsewhere with lines of
/// progress. With `quiet` there is neither.
pub(crate) fn with_screen<T>(quiet: bool, work: impl FnOnce(Say<'_>) -> T) -> T {
    match Screen::new(quiet) {
        Some(mut screen) => work(Some(&mut |progress: Progress<'_>| screen.show(progress))),
        None if quiet => work(None),
        None => work(Some(&mut Lines::default())),
    }
}

/// Progress as lines on stderr, for a log. Clients don't report seconds for it.
struct Lines {
    next: Deadline,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { next: Deadline::after(LINE_EVERY) }
    }
}

impl Listener for Lines {
    fn take(&mut self, progress: Progress<'_>) {
        if self.next.left().is_zero()
            && let Some(line) = line(&progress)
        {
            self.next = Deadline::after(LINE_EVERY);
            put(&line);
        }
    }

    fn wants_seconds(&self) -> bool {
        false
    }
}

/// A line for the start of a part of a run.
fn line(progress: &Progress<'_>) -> Option<String> {
    let Progress::Part(part) = progress else { return None };
    let left = report::duration(part.seconds_left);
    let run = match part.runs {
        0 => String::new(),
        runs => format!("run {} of {runs}: ", part.run),
    };
    Some(format!("{run}{}, about {left} left\n", part.name))
}

impl Screen {
    /// A screen on stderr if it is a terminal and progress is wanted.
    pub(crate) fn new(quiet: bool) -> Option<Screen> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let is_watched = std::io::stderr().is_terminal() && !dumb && !quiet;
        is_watched.then(|| Screen {
            shown: report::Progress::default(),
            part_seconds: 0.0,
            later_seconds: 0.0,
            below: Vec::new(),
            drawn: Vec::new(),
        })
    }

    /// Columns of the terminal.
    pub(crate) fn columns() -> usize {
        columns()
    }

    /// Takes a report of progress and redraws.
    pub(crate) fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Machine => {}
            Progress::Part(part) => {
                self.part_seconds = part.seconds;
                self.later_seconds = part.seconds_left - part.warm_up_seconds - part.seconds;
                self.shown.run = part.run;
                self.shown.runs = part.runs;
                self.shown.name = part.name.to_owned();
                self.shown.seconds = part.seconds;
                self.shown.rate_per_second_offered = part.rate_per_second_offered;
                self.shown.seconds_left = part.seconds_left;
                self.shown.second = None;
            }
            Progress::Second(second) => {
                let by_plan = (self.part_seconds - second.seconds).max(0.0);
                let left_in_part = second.seconds_left.unwrap_or(by_plan);
                self.shown.seconds_left = self.later_seconds + left_in_part;
                self.shown.second = Some(second.clone());
            }
            Progress::Warning(warning) => {
                self.shown.warnings += 1;
                self.shown.warning = warning.to_owned();
            }
        }
        let columns = columns();
        let mut lines = report::progress(&self.shown);
        lines.extend(self.below.iter().cloned());
        let text = redraw(&self.drawn, &lines, columns);
        self.drawn = lines.iter().map(|line| line.chars().count().min(columns - 1)).collect();
        put(&text);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put(&redraw(&self.drawn, &[], columns()));
    }
}

fn put(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // A terminal that is gone is no reason to stop measuring.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn columns() -> usize {
    let size = tcgetwinsize(std::io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns < 2 { COLUMNS_DEFAULT } else { columns }
}

/// Erases lines of the lengths `drawn`, which end above the cursor, and writes `lines` in their
/// place, each cut to one row. A terminal that was made narrower since has broken the old ones into
/// more rows.
fn redraw(drawn: &[usize], lines: &[String], columns: usize) -> String {
    let rows: usize = drawn.iter().map(|length| length.div_ceil(columns).max(1)).sum();
    let mut text = String::from("\r");
    if rows > 0 {
        text += &format!("\x1b[{rows}A");
    }
    text += "\x1b[J";
    for line in lines {
        // The last column stays free: some terminals go to the next row when it is filled.
        text.extend(line.chars().take(columns - 1));
        text += "\r\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without a terminal was once silent for minutes.
    #[test]
    fn a_log_gets_a_line_for_a_part_and_none_for_a_second() {
        let part = scenario::RunPart {
            run: 2,
            runs: 24,
            name: "B rust",
            warm_up_seconds: 0.2,
            seconds: 1.0,
            rate_per_second_offered: None,
            seconds_left: 83.4,
        };
        let shown = line(&Progress::Part(part.clone())).unwrap();
        assert_eq!(shown, "run 2 of 24: B rust, about 1:23 left\n");
        let command = scenario::RunPart { runs: 0, name: "A: ./old run", ..part };
        assert_eq!(line(&Progress::Part(command)).unwrap(), "A: ./old run, about 1:23 left\n");
        assert!(line(&Progress::Machine).is_none() && line(&Progress::Warning("x")).is_none());
        assert!(!Lines::default().wants_seconds());
    }

    #[test]
    fn lines_are_replaced_in_place_and_cut_to_the_terminal() {
        let lines = ["0123456789".to_owned(), "ab".to_owned()];
        assert_eq!(redraw(&[], &lines, 80), "\r\x1b[J0123456789\r\nab\r\n");
        assert_eq!(redraw(&[10, 2], &lines, 6), "\r\x1b[3A\x1b[J01234\r\nab\r\n");
        assert_eq!(redraw(&[5, 0], &[], 6), "\r\x1b[2A\x1b[J");
    }
}
