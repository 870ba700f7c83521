use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

#[test]
fn a_one_way_figure_stands_up_to_a_tenth() {
    assert_eq!(one_way(10_000, Some(1_000)), Ok(()));
    let too_wide = OneWayError::TooWide { figure_ns: 10_000, bound_ns: 1_001 };
    assert_eq!(one_way(10_000, Some(1_001)), Err(too_wide));
    assert_eq!(one_way(10_000, None), Err(OneWayError::Unknown));
    // One clock: every figure passes.
    assert_eq!(one_way(0, Some(0)), Ok(()));
    assert!(one_way(u64::MAX, Some(u64::MAX)).is_err());
}

static CLOCKS: LazyLock<[Clock; 2]> = LazyLock::new(|| {
    let first = Clock::calibrate();
    loop {
        let second = Clock::calibrate();
        if second != first {
            return [first, second];
        }
    }
});

/// A reading at `clock_ns`, when the wall clock showed `wall_ns`.
fn base(
    boot_id: &str,
    clock: usize,
    (clock_ns, wall_ns): (u64, u64),
    bound_ns: Option<u64>,
) -> TimeBase {
    TimeBase {
        boot_id: boot_id.to_owned(),
        clock: CLOCKS[clock],
        wall: Pair { clock_ns, wall_ns, bound_ns: 30 },
        utc: Utc { bound_ns, from: "chrony".to_owned(), ..Utc::default() },
    }
}

/// One end over a run: its wall clock is `ahead_ns` ahead of its own clock and gains `ppm`.
fn end(
    boot_id: &str,
    clock: usize,
    ahead_ns: u64,
    ppm: u64,
    bounds_ns: [Option<u64>; 2],
) -> [TimeBase; 2] {
    let length_ns = 10_000_000_000;
    let after = (1_000 + length_ns, 1_000 + ahead_ns + length_ns + length_ns / 1_000_000 * ppm);
    [
        base(boot_id, clock, (1_000, 1_000 + ahead_ns), bounds_ns[0]),
        base(boot_id, clock, after, bounds_ns[1]),
    ]
}

#[test]
fn on_one_machine_a_bridge_is_as_good_as_the_readings_and_elsewhere_bounds_add_up() {
    let ours = end("a", 0, 0, 0, [Some(1_000), Some(1_200)]);
    let bound = |theirs| Bridge::new(ours.clone(), theirs).unwrap().bound();
    assert_eq!(bound(end("a", 1, 0, 0, [None; 2])), (Some(60), "same machine".to_owned()));
    let chrony = "chrony".to_owned();
    assert_eq!(bound(end("b", 0, 0, 0, [Some(500); 2])), (Some(1_760), chrony));
    assert_eq!(bound(end("b", 0, 0, 0, [Some(500), None])), (None, String::new()));
    // Two machines without an id may be different ones.
    let unknown = end("", 0, 0, 0, [None; 2]);
    assert_eq!(Bridge::new(unknown.clone(), unknown).unwrap().bound(), (None, String::new()));
}

#[test]
fn an_end_that_began_again_meanwhile_is_no_bridge() {
    let end = |clock| end("a", clock, 0, 0, [None; 2]);
    let ([before, _], [_, after]) = (end(0), end(1));
    assert_eq!(Bridge::new(end(0), [before.clone(), after]), None);
    assert_eq!(Bridge::new(end(0), [before.clone(), before]), None);
}

proptest! {
    /// Two counters with different origins and rates, one true time.
    #[test]
    fn a_stamp_is_laid_where_it_happened(
        ahead in [0..1u64 << 60, 0..1u64 << 60],
        ppm in [0..500u64, 0..500u64],
        at_ns in 0..100_000_000_000u64,
    ) {
        let [ours, theirs] = [0, 1].map(|at| end(["a", "b"][at], at, ahead[at], ppm[at], [None; 2]));
        let bridge = Bridge::new(ours, theirs).unwrap();
        let wall = |at: usize, clock_ns: u64| {
            i128::from(clock_ns) + i128::from(ahead[at]) + i128::from(clock_ns - 1_000) * i128::from(ppm[at]) / 1_000_000
        };
        let theirs_ns = 1_000 + at_ns;
        let ours_ns = bridge.ours_ns(theirs_ns);
        // Our clock has no stamps before its beginning.
        if ours_ns > 1_000 {
            prop_assert!((wall(0, ours_ns) - wall(1, theirs_ns)).abs() <= 2, "{ours_ns}");
        } else {
            prop_assert!(wall(1, theirs_ns) <= wall(0, 1_000) + 1);
        }
    }

    #[test]
    fn no_reading_breaks_it(pairs in any::<[(u64, u64); 4]>(), at_ns: u64) {
        let [a, b, c, d] = pairs.map(|pair| base("a", 0, pair, Some(u64::MAX)));
        if let Some(bridge) = Bridge::new([a, b], [c, d]) {
            bridge.ours_ns(at_ns);
            bridge.bound();
        }
    }
}
