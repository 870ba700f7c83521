//! A trial of settings, as a person reads it.

use expect_test::expect;
use record::Unit;
use record::tune::{Trial, TriedFigure, TriedSetting, UntriedSetting};
use stats::compare::Effect;
use stats::verdict::Outcome;

fn figure(figure: &str, effect: Option<Effect>, why: &str) -> TriedFigure {
    TriedFigure {
        figure: figure.to_owned(),
        unit: Unit::Ns,
        pairs: 12,
        effect,
        range: None,
        p_adjusted: None,
        outcome: Outcome::Inconclusive,
        why: why.to_owned(),
        difference: None,
    }
}

/// Regression: reasons stood right of the figures, one word per line, and overlapped long names.
#[test]
fn reasons_have_lines_of_their_own() {
    let effect = Effect {
        a: 16_600,
        b: 15_900,
        change: -0.022,
        interval: [-0.136, 0.158],
        added_ns: -700,
        added_ns_interval: [-2_000, 2_500],
        noise_floor: 0.1,
        p: 1.0,
    };
    let not_tried = |id: &str, why: &str| UntriedSetting { id: id.to_owned(), why: why.to_owned() };
    let trial = Trial {
        scenario: "order-to-ack".to_owned(),
        machine: "sovx".to_owned(),
        pairs: 12,
        tried: vec![TriedSetting {
            id: "irq.affinity".to_owned(),
            pairs: 12,
            pairs_void: 0,
            seconds: 80.0,
            figures: vec![
                figure("p50", Some(effect), "no more than chance (p = 1.00 corrected)"),
                figure("p99", None, "holds in 0 of 12 pairs, 6 needed: disturbed by the client"),
            ],
            outcome: Outcome::Inconclusive,
            why: String::new(),
        }],
        not_tried: vec![
            not_tried("kernel.isolcpus", "needs a reboot"),
            not_tried("sysctl.net.ipv4.tcp_slow_start_after_idle", "the budget ends before it"),
            not_tried("kernel.skew_tick", "needs a reboot"),
        ],
        ..Trial::default()
    };
    expect![[r#"
        tune trial · order-to-ack · 1 setting, 12 pairs each · 0 s of 0 s · machine sovx

        inconclusive  irq.affinity (12 pairs)
                      p50              16.6 ->      15.9     -2.2 %  [-13.6 %, +15.8 %]  inconclusive
                                  no more than chance (p = 1.00 corrected)
                      p99         unknown: holds in 0 of 12 pairs, 6 needed: disturbed by the client

        not tried     kernel.isolcpus, kernel.skew_tick
                      needs a reboot

        not tried     sysctl.net.ipv4.tcp_slow_start_after_idle
                      the budget ends before it

        no setting was shown to help: none is chosen
    "#]].assert_eq(&report::tune::trial(&trial, 100));
}
