use super::*;
use crate::Kind;
use crate::comparison::{Arm, SCHEMA};
use stats::compare::{Design, Effect};

fn figure(name: &str, range: Option<[f64; 2]>, outcome: Outcome) -> ComparedFigure {
    let interval = range.unwrap_or([0.0, 0.0]);
    let change = f64::midpoint(interval[0], interval[1]);
    ComparedFigure {
        subject: "rust".to_owned(),
        series: "order".to_owned(),
        kind: Kind::Service,
        figure: name.to_owned(),
        unit: crate::unit::Unit::Ns,
        effect: Effect {
            a: 40_000,
            b: (40_000.0 * (1.0 + change)) as u64,
            change,
            interval,
            added_ns: 0,
            added_ns_interval: [0, 0],
            noise_floor: 0.01,
            p: 0.001,
        },
        range,
        held: Some([12, 12]),
        holds: true,
        disturbance: "A: steal".to_owned(),
        one_way: String::new(),
        p_adjusted: 0.001,
        outcome,
    }
}

fn comparison(figures: Vec<ComparedFigure>) -> Comparison {
    Comparison {
        schema: SCHEMA,
        tool: String::new(),
        started: String::new(),
        command: Vec::new(),
        a: Arm::default(),
        b: Arm::default(),
        design: Design::Interleaved,
        pairs_void: 0,
        void_because: Vec::new(),
        differs: Vec::new(),
        incomparable_because: Vec::new(),
        forced: false,
        figures,
        outcome: Outcome::Inconclusive,
        why: "too few".to_owned(),
        gates: Vec::new(),
        worth: None,
        not_run: Vec::new(),
        others: Vec::new(),
    }
}

fn verdict(margin: &str, figures: Vec<ComparedFigure>) -> (WorthVerdict, String) {
    let mut one = comparison(figures);
    one.decide_worth(&margin.parse().unwrap());
    let Worth { verdict, why, .. } = one.worth.unwrap();
    (verdict, why)
}

/// By share and by time: 5 % of 40 us are 2 us.
#[test]
fn the_whole_range_decides() {
    use WorthVerdict::{NotWorthIt, Undecided, WorthIt};
    for margin in ["5%", "2us"] {
        for (range, expected) in [
            ([-0.30, -0.051], WorthIt),
            ([-0.30, -0.049], Undecided),
            ([-0.051, 0.10], Undecided),
            ([-0.049, 0.10], NotWorthIt),
            ([0.10, 0.20], NotWorthIt),
        ] {
            let outcome = if range[1] < 0.0 { Outcome::Better } else { Outcome::Worse };
            let (found, why) = verdict(margin, vec![figure("p50", Some(range), outcome)]);
            assert_eq!(found, expected, "{margin} {range:?}: {why}");
        }
    }
}

/// A saving of 6 % with a noise of 2 %: the interval alone would be worth it.
#[test]
fn noise_widens_the_range() {
    for (range, noise_floor, expected) in [
        ([-0.061, -0.059], 0.005, WorthVerdict::WorthIt),
        ([-0.061, -0.059], 0.02, WorthVerdict::Undecided),
        ([-0.041, -0.039], 0.005, WorthVerdict::NotWorthIt),
        ([-0.041, -0.039], 0.02, WorthVerdict::Undecided),
    ] {
        let mut one = figure("p50", Some(range), Outcome::Better);
        one.effect.noise_floor = noise_floor;
        let (found, why) = verdict("5%", vec![one]);
        assert_eq!(found, expected, "{range:?} {noise_floor}: {why}");
    }
}

#[test]
fn what_is_not_known_is_undecided_with_its_reason() {
    let saves = Some([-0.4, -0.3]);
    let undecided = |figures, says: &str| {
        let (found, why) = verdict("5%", figures);
        assert_eq!(found, WorthVerdict::Undecided, "{why}");
        assert!(why.contains(says), "{why}");
    };
    undecided(Vec::new(), "too few");
    undecided(vec![figure("p50", None, Outcome::NotKnown)], "steal");
    undecided(vec![figure("p50", saves, Outcome::Inconclusive)], "chance may show");
    let tail = figure("p99", Some([0.2, 0.4]), Outcome::Worse);
    undecided(vec![figure("p50", saves, Outcome::Better), tail], "p99 is worse by 30.0 %");
    let mut apart = comparison(vec![figure("p50", saves, Outcome::Better)]);
    apart.incomparable_because = vec!["the machines differ".to_owned()];
    apart.decide_worth(&"5%".parse().unwrap());
    assert_eq!(apart.worth.unwrap().verdict, WorthVerdict::Undecided);
}

#[test]
fn a_margin_is_a_share_or_a_time() {
    assert_eq!("5%".parse::<Margin>().unwrap().to_string(), "5 %");
    assert_eq!(" 2.50 us".parse::<Margin>().unwrap().to_string(), "2.5us");
    for (text, says) in [
        ("5", "needs a unit"),
        ("0%", "0.1 to 99"),
        ("x%", "no number"),
        ("-2us", "1 ns to an hour"),
    ] {
        let error = text.parse::<Margin>().unwrap_err();
        assert!(error.contains(says) && error.contains("such as 5% or 2us"), "{error}");
    }
}
