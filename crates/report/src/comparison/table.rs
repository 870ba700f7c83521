//! A comparison for a terminal.

use crate::text::grid::{Grid, cells};
use crate::text::number::{share, us};
use crate::text::terminal::{Terminal, shortened, wrap};
use record::comparison::compared::Compared;
use record::comparison::gate::GateResult;
use record::comparison::{Arm, Comparison};
use stats::compare::{Design, Outcome};
use std::fmt::Write;

/// Columns of a subject's name.
const NAME_WIDTH: usize = 20;

/// The comparison as text: the verdict and why, each figure, gates, what differs.
pub fn comparison(comparison: &Comparison, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let _ = writeln!(out, "{}", verdict(comparison.outcome));
    wrap(&mut out, "  ", &comparison.why);
    arm(&mut out, "A", &comparison.a);
    arm(&mut out, "B", &comparison.b);
    let design = match comparison.design {
        Design::Interleaved => "interleaved A B B A",
        Design::Apart => {
            "made apart: drift between them is not in the noise floor; made now, \
                          interleaved, it would be"
        }
    };
    let void = match comparison.pairs_void {
        0 => String::new(),
        1 => "; one pair was void and made again".to_owned(),
        n => format!("; {n} pairs were void and made again"),
    };
    wrap(&mut out, "  runs: ", &format!("{design}{void}"));
    if comparison.forced {
        out.push_str("  ! forced: void runs and other machines were not refused\n");
    }
    for because in &comparison.incomparable_because {
        wrap(&mut out, "  ! ", because);
    }
    figures(&mut out, &comparison.figures);
    out.push_str(&gates(&comparison.gates, columns));
    if !comparison.differs.is_empty() {
        out.push('\n');
    }
    for differs in &comparison.differs {
        wrap(&mut out, "  differs: ", differs);
    }
    for because in &comparison.void_because {
        wrap(&mut out, "  void: ", because);
    }
    out.into_text()
}

/// What became of gates, two lines each.
pub fn gates(gates: &[GateResult], columns: usize) -> String {
    let mut out = Terminal::new(columns);
    for gate in gates {
        out.push('\n');
        wrap(&mut out, &format!("  gate {}: ", gate.outcome.name()), &gate.gate);
        wrap(&mut out, "    ", &gate.why);
    }
    out.into_text()
}

/// The verdict in a sentence.
pub(crate) fn verdict(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "B is BETTER than A",
        Outcome::Worse => "B is WORSE than A",
        Outcome::Inconclusive => "INCONCLUSIVE: B is neither better nor worse than A",
    }
}

fn arm(out: &mut Terminal, name: &str, arm: &Arm) {
    wrap(
        out,
        &format!("  {name}: "),
        &format!("{} ({} {})", arm.name, arm.runs, if arm.runs == 1 { "run" } else { "runs" }),
    );
}

fn figures(out: &mut Terminal, figures: &[Compared]) {
    if figures.is_empty() {
        return;
    }
    let mut subject = "";
    let mut rows = Vec::new();
    for figure in figures {
        let effect = &figure.effect;
        let name = if figure.subject == subject { "" } else { figure.subject.as_str() };
        rows.push(vec![
            shortened(name, NAME_WIDTH),
            format!("{} {} {}", figure.series, figure.kind.name(), figure.figure),
            us(effect.a),
            us(effect.b),
            share(effect.change),
            format!("{} … {}", share(effect.interval[0]), share(effect.interval[1])),
            share(effect.noise_floor).trim_start_matches('+').to_owned(),
            format!("{:.4}", figure.p_adjusted),
            short_verdict(figure.outcome).to_owned(),
        ]);
        subject = &figure.subject;
    }
    let notes = vec![
        "Noise: what A against A shows 95 times of 100 here; p: of all figures together (Holm). A verdict \
         needs both: p below 0.05 and a change above the noise."
            .to_owned(),
    ];
    let head = cells(["us", "", "A", "B", "change", "95 % interval", "noise", "p", "verdict"]);
    Grid { head, rows, notes, more_names: 1, ..Grid::default() }.text(out);
}

pub(crate) fn short_verdict(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "better",
        Outcome::Worse => "WORSE",
        Outcome::Inconclusive => "-",
    }
}
