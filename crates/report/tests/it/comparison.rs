//! A comparison, as a person reads it.

use expect_test::expect;
use record::Kind;
use record::comparison::compared::ComparedFigure;
use record::comparison::gate::{GateOutcome, GateResult};
use record::comparison::{Arm, Comparison, SCHEMA};
use stats::compare::{Design, Effect, Outcome};

fn arm(name: &str) -> Arm {
    Arm { name: name.to_owned(), runs: 12, ..Arm::default() }
}

fn figure(figure: &str, change: f64, outcome: Outcome) -> ComparedFigure {
    ComparedFigure {
        subject: "rust".to_owned(),
        series: "order".to_owned(),
        kind: Kind::Service,
        figure: figure.to_owned(),
        effect: Effect {
            a: 12_340,
            b: (12_340.0 * (1.0 + change)) as u64,
            change,
            interval: [change - 0.02, change + 0.02],
            added_ns: (12_340.0 * change) as i64,
            added_ns_interval: [0, 1],
            noise_floor: 0.031,
            p: 0.0005,
        },
        p_adjusted: 0.001,
        outcome,
    }
}

fn comparison() -> Comparison {
    Comparison {
        schema: SCHEMA,
        tool: "tickpath 0.1.0".to_owned(),
        started: String::new(),
        command: Vec::new(),
        a: arm("exchange.backend=spin"),
        b: arm("exchange.backend=block"),
        design: Design::Interleaved,
        pairs_void: 1,
        void_because: vec![
            "pair 3, b: rust.replies: of 100 messages 1 lost, 0 duplicated".to_owned(),
        ],
        differs: vec!["exchange.backend: \"spin\" -> \"block\"".to_owned()],
        incomparable_because: Vec::new(),
        forced: false,
        figures: vec![
            figure("p50", 0.42, Outcome::Worse),
            figure("p99.9", 0.01, Outcome::Inconclusive),
        ],
        outcome: Outcome::Worse,
        why: "worse in rust.order.service.p50".to_owned(),
        gates: vec![GateResult {
            gate: "order.service.p50 <= +5%".to_owned(),
            outcome: GateOutcome::Failed,
            why: "rust.order.service.p50: +42.0 %, between +40.0 % and +44.0 %".to_owned(),
        }],
        others: Vec::new(),
    }
}

/// A comparison with two candidates.
fn of_three() -> Comparison {
    let other = Comparison {
        b: arm("exchange.gateways=1"),
        differs: vec!["exchange.gateways: 0 -> 1".to_owned()],
        figures: vec![figure("p50", -0.1, Outcome::Better)],
        outcome: Outcome::Better,
        why: "better in rust.order.service.p50".to_owned(),
        gates: Vec::new(),
        ..comparison()
    };
    Comparison { others: vec![other], ..comparison() }
}

#[test]
fn the_verdict_comes_first_and_everything_fits() {
    let text = report::comparison(&comparison(), 100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    expect![[r#"
        B is WORSE than A
          worse in rust.order.service.p50
          A: exchange.backend=spin (12 runs)
          B: exchange.backend=block (12 runs)
          runs: interleaved A B B A; one pair was void and made again

        us                            A     B  change  95 % interval  noise       p  verdict
        rust  order service p50    12.3  17.5    +42%    +40% … +44%   3.1%  0.0010    WORSE
              order service p99.9  12.3  12.5   +1.0%  -1.0% … +3.0%   3.1%  0.0010        -
          Noise: what A against A shows 95 times of 100 here; p: of all figures together (Holm). A verdict
          needs both: p below 0.05 and a change above the noise.

          gate failed: order.service.p50 <= +5%
            rust.order.service.p50: +42.0 %, between +40.0 % and +44.0 %

          differs: exchange.backend: "spin" -> "block"
          void: pair 3, b: rust.replies: of 100 messages 1 lost, 0 duplicated
    "#]].assert_eq(&text);
}

#[test]
fn several_candidates_stand_in_one_table() {
    let text = report::comparison(&of_three(), 100);
    expect![[r#"
        B is WORSE than A
          worse in rust.order.service.p50
        C is BETTER than A
          better in rust.order.service.p50
          A: exchange.backend=spin (12 runs)
          B: exchange.backend=block (12 runs)
          C: exchange.gateways=1 (12 runs)
          runs: interleaved there and back, A B C … C B A; one round was void and made again

        us                               A  candidate  change  95 % interval  noise       p  verdict
        rust  order service p50    B  12.3       17.5    +42%    +40% … +44%   3.1%  0.0010    WORSE
                                   C  12.3       11.1    -10%   -12% … -8.0%   3.1%  0.0010   better
              order service p99.9  B  12.3       12.5   +1.0%  -1.0% … +3.0%   3.1%  0.0010        -
          Noise: what A against A shows 95 times of 100 here; p: of all figures together (Holm). A verdict
          needs both: p below 0.05 and a change above the noise.

          B gate failed: order.service.p50 <= +5%
            rust.order.service.p50: +42.0 %, between +40.0 % and +44.0 %

          B differs: exchange.backend: "spin" -> "block"

          C differs: exchange.gateways: 0 -> 1
          void: pair 3, b: rust.replies: of 100 messages 1 lost, 0 duplicated
    "#]]
    .assert_eq(&text);
    let page = report::comparison_page(&of_three(), "{}");
    for words in ["A against each of B to C", "C is BETTER than A", "C: rust.order.service.p50"] {
        assert!(page.contains(words), "no {words:?} in the page");
    }
    let summary = report::summary::markdown_of_comparison(&of_three());
    assert_eq!(summary.matches("### ").count(), 2, "{summary}");
    assert!(summary.contains("| us | A | C |"), "{summary}");
}

#[test]
fn what_is_forced_or_cannot_be_compared_is_said_aloud() {
    let incomparable = Comparison {
        forced: true,
        incomparable_because: vec!["B is void: lost replies".to_owned()],
        design: Design::Apart,
        figures: Vec::new(),
        outcome: Outcome::Inconclusive,
        ..comparison()
    };
    let text = report::comparison(&incomparable, 100);
    for words in ["INCONCLUSIVE", "! forced", "! B is void: lost replies", "made apart"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}
