use super::*;
use clock::time_base::TimeBase;
use clock::utc::{Claim, Utc};
use clock::{Clock, Pair};
use sync::{NearerStamps, Reply};

/// The other clock is ahead by this much.
const AHEAD_NS: i64 = 86_400_000_000_000;
const START_NS: i64 = 1_000_000_000_000;

/// A thousand probes, a millisecond apart, that take 20 us there and 30 us back.
fn probes() -> Probes {
    let probe = |turn: i64| {
        let sent_ns = START_NS + turn * 1_000_000;
        let received_ns = sent_ns + 20_000 + AHEAD_NS;
        let reply = Reply { sent_ns: received_ns + 500, received_ns: sent_ns + 50_500 };
        Probe { sent_ns, received_ns, reply: Some(reply) }
    };
    (0..1_000).map(probe).collect()
}

/// Readings before and after, whose wall clocks say that the other clock is ahead by `AHEAD_NS` and
/// `wrong_ns`, with bounds of both ends' chrony and, if any, of the client's ClockBound.
fn bridge(wrong_ns: i64, chrony_ns: u64, clock_bound_ns: Option<u64>) -> Bridge {
    let clock = Clock::calibrate();
    let base = |boot_id: &str, ahead: i64, after_ns: u64, others: Option<u64>| {
        let wall_ns = 1_700_000_000_000_000_000 + after_ns;
        let clock_ns = (START_NS as u64 + after_ns).saturating_add_signed(ahead);
        let mut claims =
            vec![Claim::of("chrony", Ok(chrony_ns)), Claim::of("phc_error_bound of ens5", Ok(1))];
        claims.extend(others.map(|ns| Claim::of("ClockBound", Ok(ns))));
        TimeBase {
            boot_id: boot_id.to_owned(),
            clock,
            wall: Pair { clock_ns, wall_ns, bound_ns: 0 },
            utc: Utc { claims, ..Utc::default() },
        }
    };
    let ours = [0, 1_000_000_000].map(|after_ns| base("ours", 0, after_ns, clock_bound_ns));
    let theirs =
        [0, 1_000_000_000].map(|after_ns| base("theirs", AHEAD_NS + wrong_ns, after_ns, None));
    Bridge::new(ours, theirs).unwrap()
}

/// The echo's kernel had the request 5 us before the echo, give or take 200 ns.
fn at_the_echo(own: &Probe) -> NearerStamps {
    NearerStamps {
        received_ns: Some(own.received_ns - 5_000),
        error_ns: [0, 200],
        ..NearerStamps::default()
    }
}

const MIDDLE_NS: u64 = START_NS as u64 + 500_000_000;

fn offset(offsets: &Offsets) -> Offset {
    offsets.at(MIDDLE_NS).unwrap()
}

#[test]
fn without_a_claim_the_bracket_stands_alone() {
    let offsets = Offsets::of(&probes(), None, 1);
    let Offset { middle_ns, error_ns } = offset(&offsets);
    // 20 us there, 30 us back: the middle is off by half the difference, and the error says so.
    assert!((AHEAD_NS - middle_ns - 5_000).abs() < 20, "{middle_ns}");
    assert!((24_990..25_100).contains(&error_ns), "{error_ns}");
    let record = offsets.into_record(Some((MIDDLE_NS, error_ns)));
    assert_eq!((record.error_ns, record.error_from.as_str()), (Some(error_ns), "bracket"));
    let bracket = record.bracket.unwrap();
    assert!(bracket.offset_ns[0] <= AHEAD_NS && AHEAD_NS <= bracket.offset_ns[1], "{bracket:?}");
    assert_eq!((bracket.steps, bracket.windows_contradicted), (0, 0));
    assert_eq!((record.probes, bracket.round_trip_ns_min), (1_000, Some(50_000)));
    let estimate = record.estimate.unwrap();
    assert_eq!(estimate.assumes, "symmetric paths");
    assert!((AHEAD_NS - estimate.offset_ns - 5_000).abs() < 20, "{estimate:?}");
    assert!(estimate.windows >= 5 && estimate.wander_ns.is_some(), "{estimate:?}");
}

/// Both kernels see 20 of the 50 us of a round trip. Where only some probes have all four stamps,
/// they narrow the bracket for all, and the estimate is theirs.
#[test]
fn the_kernels_stamps_narrow_the_bracket() {
    let mut stamped = Probes::default();
    for (turn, own) in probes().own.into_iter().enumerate() {
        let nearer = NearerStamps {
            sent_ns: Some(own.sent_ns + 10_000),
            received_ns: Some(own.received_ns - 5_000),
            replied_ns: own.reply.map(|reply| reply.sent_ns + 5_000),
            returned_ns: own.reply.map(|reply| reply.received_ns - 10_000),
            error_ns: [100, 200],
        };
        let kernel = if turn % 4 == 0 { nearer } else { at_the_echo(&own) };
        stamped.add(own, &kernel, &NearerStamps::default());
    }
    let offsets = Offsets::of(&stamped, None, 1);
    let Offset { middle_ns, error_ns } = offset(&offsets);
    assert!((AHEAD_NS - middle_ns - 5_000).abs() < 20, "{middle_ns}");
    assert!((10_290..10_400).contains(&error_ns), "{error_ns}");
    let record = offsets.into_record(None);
    assert_eq!(
        (record.stamps.as_str(), record.kernel_stamps),
        ("software", [250, 1_000, 250, 250])
    );
    assert_eq!(record.bracket.unwrap().round_trip_ns_min, Some(20_600));
    assert_eq!(record.estimate.unwrap().stamps, "software");
}

/// The echo's kernel stamps each arrival; the bracket uses it, and the estimate does not, since it
/// would take one direction for the faster one.
#[test]
fn a_stamp_of_one_direction_moves_no_estimate() {
    let mut stamped = Probes::default();
    let none = NearerStamps::default();
    probes().own.into_iter().for_each(|own| stamped.add(own, &at_the_echo(&own), &none));
    let [plain, stamped] = [probes(), stamped].map(|all| Offsets::of(&all, None, 1));
    assert_eq!(offset(&plain).error_ns - offset(&stamped).error_ns, 2_400);
    let [plain, stamped] = [plain, stamped].map(|one| one.into_record(None));
    let [plain, stamped] = [plain, stamped].map(|one| one.estimate.unwrap());
    assert_eq!(plain, stamped);
    assert_eq!(plain.stamps, "application");
}

/// Stamps as ENA makes them, of received messages only, and as a card makes them that stamps both
/// ways. The estimate leaves them out, since the echo's card stamps nothing for us.
#[test]
fn our_cards_stamps_narrow_the_bracket_further() {
    for sends in [false, true] {
        let mut stamped = Probes::default();
        for own in probes().own {
            let card = NearerStamps {
                sent_ns: sends.then_some(own.sent_ns + 12_000),
                returned_ns: own.reply.map(|reply| reply.received_ns - 11_000),
                error_ns: [1_000, 0],
                ..NearerStamps::default()
            };
            stamped.add(own, &NearerStamps::default(), &card);
        }
        let round_trip_ns = 40_000 - if sends { 11_000 } else { 0 };
        let record = Offsets::of(&stamped, None, 1).into_record(None);
        assert_eq!(record.bracket.unwrap().round_trip_ns_min, Some(round_trip_ns));
        assert_eq!((record.stamps.as_str(), record.kernel_stamps), ("hardware", [0; 4]));
        assert_eq!(record.card_stamps, [u64::from(sends) * 1_000, 1_000]);
        assert_eq!(record.estimate.unwrap().stamps, "application");
    }
}

#[test]
fn the_tightest_claim_narrows_the_bracket() {
    let tight = Offsets::of(&probes(), Some(bridge(0, 400, Some(200))), 1);
    let both = offset(&tight);
    assert_eq!(both, Offset { middle_ns: AHEAD_NS, error_ns: 600 });
    let record = tight.into_record(Some((MIDDLE_NS, both.error_ns)));
    assert_eq!(record.error_from, "ClockBound and chrony");
    let from: Vec<&str> = record.claims.iter().map(|claim| claim.from.as_str()).collect();
    assert_eq!(from, ["chrony", "ClockBound and chrony"], "a card's clock is no wall clock");
    assert_eq!(record.claims[0].offset_ns, [AHEAD_NS - 800, AHEAD_NS + 800]);
    // A claim that reaches over one edge of the bracket leaves what both allow.
    let partly = Offsets::of(&probes(), Some(bridge(30_000, 10_000, None)), 1);
    let common = offset(&partly);
    assert!((4_900..5_100).contains(&common.error_ns), "{common:?}");
    let record = partly.into_record(Some((MIDDLE_NS, common.error_ns)));
    assert_eq!(record.error_from, "bracket and chrony");
    assert_eq!(record.claims[0].contradicted, "");
    let wide = Offsets::of(&probes(), Some(bridge(0, 90_000, None)), 1);
    let as_bracket = offset(&wide);
    assert_eq!(wide.into_record(Some((MIDDLE_NS, as_bracket.error_ns))).error_from, "bracket");
}

/// chrony said 1 us and was 100 us off: its figure one way would have been below zero.
#[test]
fn a_claim_that_no_datagram_allows_is_contradicted_and_not_used() {
    let offsets = Offsets::of(&probes(), Some(bridge(100_000, 500, None)), 1);
    let alone = offset(&offsets);
    assert!(alone.error_ns > 20_000, "{alone:?}");
    let record = offsets.into_record(Some((MIDDLE_NS, alone.error_ns)));
    assert_eq!(record.error_from, "bracket");
    let why = &record.claims[0].contradicted;
    assert!(why.contains("chrony") && why.contains("ns away"), "{why}");
}

#[test]
fn nothing_is_known_without_replies() {
    let lost = Probe { sent_ns: START_NS, received_ns: START_NS + AHEAD_NS, reply: None };
    for probes in [vec![], vec![lost]].map(Probes::from_iter) {
        let offsets = Offsets::of(&probes, Some(bridge(0, 400, None)), 1);
        assert_eq!(offsets.at(MIDDLE_NS), None);
        let record = offsets.into_record(None);
        assert_eq!((record.bracket, record.estimate, record.error_ns), (None, None, None));
        assert!(record.claims.is_empty());
    }
}
