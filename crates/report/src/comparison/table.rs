//! A comparison for a terminal.

use crate::comparison::words::{self, headline, short_verdict};
use crate::comparison::worth::worth;
use crate::text::grid::{Grid, cells};
use crate::text::number::share;
use crate::text::terminal::{Terminal, shortened, wrap};
use record::comparison::compared::ComparedFigure;
use record::comparison::gate::GateResult;
use record::comparison::{Arm, Comparison};
use stats::compare::Design;

/// Columns of a subject's name.
const NAME_WIDTH: usize = 20;

/// The comparison as text: for each candidate the verdict and why, figures, gates, what differs.
pub fn comparison(comparison: &Comparison, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    for (letter, one) in comparison.candidates() {
        wrap(&mut out, "", &headline(letter, one, &comparison.a));
        wrap(&mut out, "  ", &one.why);
    }
    arms(comparison).for_each(|(letter, one)| arm(&mut out, letter, one));
    let is_pair = comparison.others.is_empty();
    let design = match comparison.design {
        Design::Interleaved if is_pair => "interleaved A B B A",
        Design::Interleaved => "interleaved there and back, A B C … C B A",
        Design::Apart => {
            "made apart: drift between them is not in the noise floor; made now, \
                          interleaved, it would be"
        }
    };
    let round = if is_pair { "pair" } else { "round" };
    let void = match comparison.pairs_void {
        0 => String::new(),
        1 => format!("; one {round} was void and made again"),
        n => format!("; {n} {round}s were void and made again"),
    };
    wrap(&mut out, "  runs: ", &format!("{design}{void}"));
    if comparison.forced {
        out.push_str("  ! forced: void runs and other machines are compared, too\n");
        // Otherwise they are the reason that stands under the verdict.
        for because in &comparison.incomparable_because {
            wrap(&mut out, "  ! ", because);
        }
    }
    figures(&mut out, comparison);
    worth(comparison).into_iter().for_each(|grid| grid.text(&mut out));
    for (letter, one) in comparison.candidates() {
        let of = if is_pair { String::new() } else { format!("{letter} ") };
        out.push_str(&gates_of(&of, &one.gates, columns));
    }
    for (letter, one) in comparison.candidates() {
        let head = if is_pair { "  differs: ".to_owned() } else { format!("  {letter} differs: ") };
        if !one.differs.is_empty() {
            out.push('\n');
        }
        one.differs.iter().for_each(|differs| wrap(&mut out, &head, differs));
    }
    for because in &comparison.void_because {
        wrap(&mut out, "  void: ", because);
    }
    out.into_text()
}

/// Outcome of each gate, in two lines.
pub fn gates(gates: &[GateResult], columns: usize) -> String {
    gates_of("", gates, columns)
}

/// The same, with `of` before each gate.
fn gates_of(of: &str, gates: &[GateResult], columns: usize) -> String {
    let mut out = Terminal::new(columns);
    for gate in gates {
        out.push('\n');
        wrap(&mut out, &format!("  {of}gate {}: ", gate.outcome.name()), &gate.gate);
        wrap(&mut out, "    ", &gate.why);
    }
    out.into_text()
}

/// All arms with their letters: A, then the candidates.
pub(crate) fn arms(comparison: &Comparison) -> impl Iterator<Item = (char, &Arm)> {
    let candidates = comparison.candidates().map(|(letter, one)| (letter, &one.b));
    std::iter::once(('A', &comparison.a)).chain(candidates)
}

/// The figures of all candidates, grouped by name.
pub(crate) fn figures_of(comparison: &Comparison) -> Vec<(char, &Comparison, &ComparedFigure)> {
    let mut figures: Vec<(char, &Comparison, &ComparedFigure)> = comparison
        .candidates()
        .flat_map(|(letter, one)| one.figures.iter().map(move |figure| (letter, one, figure)))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for (_, _, figure) in &figures {
        if !names.contains(&figure.name()) {
            names.push(figure.name());
        }
    }
    figures.sort_by_key(|(_, _, figure)| names.iter().position(|name| *name == figure.name()));
    figures
}

fn arm(out: &mut Terminal, letter: char, arm: &Arm) {
    wrap(
        out,
        &format!("  {letter}: "),
        &format!("{} ({} {})", arm.name, arm.runs, if arm.runs == 1 { "run" } else { "runs" }),
    );
}

fn figures(out: &mut Terminal, comparison: &Comparison) {
    let figures = figures_of(comparison);
    if figures.is_empty() {
        return;
    }
    let has_letters = !comparison.others.is_empty();
    let (mut subject, mut title) = (String::new(), String::new());
    let mut rows = Vec::new();
    for (letter, one, figure) in &figures {
        let effect = &figure.effect;
        let (of, named) = (figure.subject.clone(), figure_title(figure));
        let mut row = vec![
            shortened(if of == subject { "" } else { &of }, NAME_WIDTH),
            if named == title { String::new() } else { named.clone() },
        ];
        (subject, title) = (of, named);
        row.extend(has_letters.then(|| letter.to_string()));
        row.extend(words::figures(one, figure));
        row.extend([
            share(effect.change),
            format!("{} … {}", share(effect.interval[0]), share(effect.interval[1])),
            share(effect.noise_floor).trim_start_matches('+').to_owned(),
            format!("{:.4}", figure.p_adjusted),
            short_verdict(figure),
        ]);
        rows.push(row);
    }
    let mut notes = vec![
        "Noise: what A against A shows 95 times of 100 here; p: of all figures together. A verdict \
         needs both: p below 0.05 and a change above the noise."
            .to_owned(),
    ];
    notes.extend(figures.iter().any(|(_, _, figure)| !figure.holds).then(|| {
        "?: does not hold in half of its runs. Not known: disturbance of the runs may have made the \
         difference, or hidden one."
            .to_owned()
    }));
    notes.extend(figures.iter().any(|(_, _, figure)| figure.is_ratio()).then(|| {
        "/ floor: each run's ratio to the raw echo of the same run, which is the same in all."
            .to_owned()
    }));
    notes.extend(one_way(&figures));
    let mut head = cells(["us", ""]);
    head.extend(has_letters.then(String::new));
    let candidate = if has_letters { "candidate" } else { "B" };
    head.extend(cells(["A", candidate, "change", "95 % interval", "noise", "p", "verdict"]));
    let more_names = if has_letters { 2 } else { 1 };
    Grid { head, rows, notes, more_names, ..Grid::default() }.text(out);
}

/// How the offset of two hosts' clocks was dealt with, once each.
pub(crate) fn one_way(figures: &[(char, &Comparison, &ComparedFigure)]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for (_, _, figure) in figures.iter().filter(|(_, _, figure)| !figure.one_way.is_empty()) {
        let line = format!("{} {}: {}", figure.series, figure.kind.name(), figure.one_way);
        if !said.contains(&line) {
            said.push(line);
        }
    }
    said
}

fn figure_title(figure: &ComparedFigure) -> String {
    format!("{} {} {}", figure.series, figure.kind.name(), figure.figure)
}
