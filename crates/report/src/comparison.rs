//! A comparison for a terminal, at most 100 columns wide.

use crate::line::{clip, short, wrap};
use crate::number::{share, us};
use measure::compare::{Design, Outcome};
use measure::compared::Compared;
use measure::comparison::{Arm, Comparison};
use std::fmt::Write;

/// The comparison as text: the verdict and why, each figure, gates, what differs.
pub fn comparison(comparison: &Comparison) -> String {
    let mut out = String::new();
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
    for gate in &comparison.gates {
        let _ = writeln!(out);
        wrap(&mut out, &format!("  gate {}: ", gate.outcome.name()), &gate.gate);
        wrap(&mut out, "    ", &gate.why);
    }
    if !comparison.differs.is_empty() {
        out.push('\n');
    }
    for differs in &comparison.differs {
        wrap(&mut out, "  differs: ", differs);
    }
    for because in &comparison.void_because {
        wrap(&mut out, "  void: ", because);
    }
    out
}

fn verdict(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "B is BETTER than A",
        Outcome::Worse => "B is WORSE than A",
        Outcome::Inconclusive => "INCONCLUSIVE: B is neither better nor worse than A",
    }
}

fn arm(out: &mut String, name: &str, arm: &Arm) {
    wrap(
        out,
        &format!("  {name}: "),
        &format!("{} ({} {})", arm.name, arm.runs, if arm.runs == 1 { "run" } else { "runs" }),
    );
}

fn figures(out: &mut String, figures: &[Compared]) {
    if figures.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:<9}{:<22}{:>8}{:>8}{:>9}{:>18}{:>8}{:>8}  verdict",
        "us", "", "A", "B", "change", "95 % interval", "noise", "p"
    );
    let mut subject = "";
    for figure in figures {
        let title = format!("{} {} {}", figure.series, figure.kind.name(), figure.figure);
        let interval =
            format!("{} … {}", share(figure.effect.interval[0]), share(figure.effect.interval[1]));
        let _ = writeln!(
            out,
            "{:<9}{:<22}{:>8}{:>8}{:>9}{interval:>18}{:>8}{:>8.4}  {}",
            if figure.subject == subject { String::new() } else { short(&figure.subject) },
            clip(&title, 21),
            us(figure.effect.a),
            us(figure.effect.b),
            share(figure.effect.change),
            share(figure.effect.noise_floor).trim_start_matches('+'),
            figure.p_adjusted,
            short_verdict(figure.outcome),
        );
        subject = &figure.subject;
    }
    let how = "what A against A shows 95 times of 100 here; p: of all figures together (Holm). A verdict \
               needs both: p below 0.05 and a change above the noise.";
    wrap(out, "  noise: ", how);
}

fn short_verdict(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "better",
        Outcome::Worse => "WORSE",
        Outcome::Inconclusive => "-",
    }
}
