//! A comparison, as a person reads it.

use expect_test::expect;
use record::Kind;
use record::comparison::compared::ComparedFigure;
use record::comparison::gate::{GateOutcome, GateResult};
use record::comparison::worth::{NotRun, Worth, WorthVerdict};
use record::comparison::{Arm, Comparison, SCHEMA};
use record::cost::Cost;
use record::processor::Processor;
use stats::compare::{Design, Effect};
use stats::verdict::Outcome;

fn arm(name: &str) -> Arm {
    Arm { name: name.to_owned(), runs: 12, ..Arm::default() }
}

fn figure(figure: &str, change: f64, outcome: Outcome) -> ComparedFigure {
    ComparedFigure {
        subject: "rust".to_owned(),
        series: "order".to_owned(),
        kind: Kind::Service,
        figure: figure.to_owned(),
        unit: record::Unit::Ns,
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
        range: Some([change - 0.03, change + 0.02]),
        held: Some([12, 12]),
        holds: true,
        disturbance: String::new(),
        one_way: String::new(),
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
            figure("p99.9", 0.01, Outcome::NoDifference),
        ],
        outcome: Outcome::Worse,
        why: "worse in rust.order.service.p50".to_owned(),
        gates: vec![GateResult {
            gate: "order.service.p50 <= +5%".to_owned(),
            outcome: GateOutcome::Failed,
            why: "rust.order.service.p50: +42.0 %, between +40.0 % and +44.0 %".to_owned(),
        }],
        worth: None,
        not_run: Vec::new(),
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
        A 12.3 us, B 17.5 us (order service p50): B is WORSE by 42 % (+40 to +44)
          worse in rust.order.service.p50
          A: exchange.backend=spin (12 runs)
          B: exchange.backend=block (12 runs)
          runs: interleaved A B B A; one pair was void and made again

        us                            A     B  change  95 % interval  noise       p       verdict
        rust  order service p50    12.3  17.5    +42%    +40% … +44%   3.1%  0.0010         WORSE
              order service p99.9  12.3  12.5   +1.0%  -1.0% … +3.0%   3.1%  0.0010  none > 3.1 %
          Noise: what A against A shows 95 times of 100 here; p: of all figures together. A verdict needs
          both: p below 0.05 and a change above the noise.

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
        A 12.3 us, B 17.5 us (order service p50): B is WORSE by 42 % (+40 to +44)
          worse in rust.order.service.p50
        A 12.3 us, C 11.1 us (order service p50): C is BETTER by 10 % (-12 to -8.0)
          better in rust.order.service.p50
          A: exchange.backend=spin (12 runs)
          B: exchange.backend=block (12 runs)
          C: exchange.gateways=1 (12 runs)
          runs: interleaved there and back, A B C … C B A; one round was void and made again

        us                               A  candidate  change  95 % interval  noise       p       verdict
        rust  order service p50    B  12.3       17.5    +42%    +40% … +44%   3.1%  0.0010         WORSE
                                   C  12.3       11.1    -10%   -12% … -8.0%   3.1%  0.0010        better
              order service p99.9  B  12.3       12.5   +1.0%  -1.0% … +3.0%   3.1%  0.0010  none > 3.1 %
          Noise: what A against A shows 95 times of 100 here; p: of all figures together. A verdict needs
          both: p below 0.05 and a change above the noise.

          B gate failed: order.service.p50 <= +5%
            rust.order.service.p50: +42.0 %, between +40.0 % and +44.0 %

          B differs: exchange.backend: "spin" -> "block"

          C differs: exchange.gateways: 0 -> 1
          void: pair 3, b: rust.replies: of 100 messages 1 lost, 0 duplicated
    "#]]
    .assert_eq(&text);
    let page = report::comparison_page(&of_three(), "{}");
    for words in ["A against each of B to C", "C is BETTER by 10 %", "C: rust.order.service.p50"] {
        assert!(page.contains(words), "no {words:?} in the page");
    }
    let summary = report::summary::markdown_of_comparison(&of_three());
    assert_eq!(summary.matches("### ").count(), 2, "{summary}");
    assert!(summary.contains("| us | A | C |"), "{summary}");
}

/// Settings of one value stand as that value. A candidate that could not run has a row.
#[test]
fn whether_candidates_pay_stands_in_a_table_of_its_own() {
    let worth =
        |verdict, why: &str| Some(Worth { margin: "5 %".to_owned(), verdict, why: why.to_owned() });
    let mut all = of_three();
    all.worth = worth(WorthVerdict::NotWorthIt, "p50 changes by +42.0 %");
    all.others[0].worth = worth(WorthVerdict::WorthIt, "p50 changes by -10.0 %");
    all.a.name = "exchange.backend=spin subject.rust.backend=spin".to_owned();
    let spinning = vec!["client".to_owned()];
    let processor = Processor { client_ns: 990_000, exchange_ns: Some(1_234_000), spinning };
    let cost = Cost { messages: 100, lost: 3, packets_dropped: Some(5), ..Cost::default() };
    let cost = Cost { missed: Some(7), ..cost };
    all.a.cost = Some(Cost { processor: Some(processor), ..cost.clone() });
    let processor = Processor { client_ns: 250_000, ..Processor::default() };
    all.b.cost = Some(Cost { processor: Some(processor), ..cost });
    all.not_run = vec![NotRun {
        name: "exchange.backend=af_xdp subject.rust.backend=af_xdp".to_owned(),
        why: "needs CAP_NET_ADMIN".to_owned(),
    }];
    let text = report::comparison(&all, 80);
    let from = text.find("Does it save").expect("the table");
    let to = text[from..].find("\n  B gate failed").expect("gates follow");
    expect![[r#"
        Does it save 5 % of A's order service p50?
        us                        verdict         p50        change   processor  lost
        A spin                    (baseline)     12.3             -  9.90+12.3*     3
        B exchange.backend=block  not worth it   17.5   +39% … +44%      2.50+-     3
        C exchange.gateways=1     worth it       11.1  -13% … -8.0%           -     -
        af_xdp                    could not run     -             -           -     -

        us                        verdict        missed  dropped
        A spin                    (baseline)          7        5
        B exchange.backend=block  not worth it        7        5
        C exchange.gateways=1     worth it            -        -
        af_xdp                    could not run       -        -
          B: p50 changes by +42.0 %
          C: p50 changes by -10.0 %
          exchange.backend=af_xdp subject.rust.backend=af_xdp: needs CAP_NET_ADMIN
          processor: processor time a message, user and system, of the client's threads
          + the exchange's; *: a thread spins, which uses its core whether messages come
          or not. lost: messages without a reply; missed: messages of the feed whose
          datagrams did not arrive in time; dropped: packets, by the network devices of
          both ends. All of them also in void runs
          published, not measured here: ENA, in a cluster placement group (c7i.xlarge,
          10 000 requests/s over UDP): round trip over AF_XDP p50 32 us, p99 37 us. A
          relay of two hops (m8a.2xlarge, 64 bytes, 100 000/s), one way: 33 us over
          AF_XDP in copy mode, 48 us over the kernel's sockets (AWS's
          trading-latency-benchmark, its networking_benchmarks/af_xdp)
          published, not measured here: physical cards: AF_XDP round trip 6.5 us
          (Mellanox) and 9.7 us (Intel), arXiv:2402.10513
    "#]]
    .assert_eq(&text[from..from + to]);
    let page = report::comparison_page(&all, "{}");
    for words in ["Does it save 5 %", "could not run", "needs CAP_NET_ADMIN"] {
        assert!(page.contains(words), "no {words:?} in the page");
    }
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

/// Regression: a factor of three ended in INCONCLUSIVE without a figure, because no p50 held.
#[test]
fn figures_that_do_not_hold_are_shown_and_marked() {
    let wide = |outcome, range| ComparedFigure {
        held: Some([2, 12]),
        holds: false,
        range: Some(range),
        disturbance: "A, mostly by stress (does not hold in 10 of 12 runs)".to_owned(),
        ..figure("p50", 2.01, outcome)
    };
    let of = |outcome, range| Comparison {
        figures: vec![wide(outcome, range)],
        outcome,
        why: "the reason".to_owned(),
        gates: Vec::new(),
        ..comparison()
    };
    let first = |comparison: &Comparison| -> String {
        report::comparison(comparison, 100)
            .lines()
            .take_while(|line| !line.contains("reason"))
            .collect()
    };
    let worse = of(Outcome::Worse, [1.5, 2.1]);
    let line = "A 12.3 us?, B 37.1 us (order service p50): B is WORSE by 201 % (+199 to +203)";
    assert_eq!(first(&worse), line);
    let text = report::comparison(&worse, 100);
    assert!(text.contains("12.3?") && text.contains("?: does not hold in half"), "{text}");
    let unknown = of(Outcome::NotKnown, [-0.2, 2.1]);
    let words = first(&unknown);
    assert!(words.contains("NOT KNOWN: disturbed. B measured +201 %"), "{words}");
    assert!(words.contains("the disturbance allows -20 to +210"), "{words}");
    let close = of(Outcome::NoDifference, [-0.02, 0.031]);
    assert!(first(&close).contains("no difference seen above 3.1 %"), "{}", first(&close));
    // Page and Markdown say the same.
    for comparison in [worse, unknown, close] {
        let line = report::headlines(&comparison).remove(0);
        assert!(report::comparison_page(&comparison, "{}").contains(&line), "{line}");
        let markdown = report::summary::markdown_of_comparison(&comparison);
        assert!(markdown.contains(&line), "{markdown}");
    }
}

/// A ratio to the floor is no time: it was printed as microseconds of its parts per million.
#[test]
fn a_ratio_to_the_floor_stands_beside_its_figure() {
    let ratio = ComparedFigure {
        unit: record::Unit::Ppm,
        effect: Effect { a: 1_070_000, b: 1_124_000, ..figure("p50", 0.05, Outcome::Worse).effect },
        ..figure("p50 / floor", 0.05, Outcome::Worse)
    };
    let unknown = figure("p50", 0.05, Outcome::NotKnown);
    let both = Comparison { figures: vec![unknown, ratio], ..comparison() };
    let text = report::comparison(&both, 100);
    let line = "A 1.070x, B 1.124x (order service p50 / floor): B is WORSE by 5.0 %";
    assert!(text.starts_with(line), "{text}");
    assert!(text.contains("/ floor: each run's ratio to the raw echo"), "{text}");
    assert!(report::comparison_page(&both, "{}").contains(line));
    let markdown = report::summary::markdown_of_comparison(&both);
    assert!(markdown.contains("| 1.070x | 1.124x |"), "{markdown}");
    assert!(markdown.contains("| not known: disturbed |"), "{markdown}");
}
