use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// 2026-11-22, nanoseconds since 1970.
const WALL_NS: u64 = 1_795_305_600_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A pair whose wall clock gains `gain_ppm`, read `off_ns` wrong.
fn pair(clock_ns: u64, gain_ppm: i64, off_ns: i64) -> Pair {
    let gained_ns = clock_ns as i64 * gain_ppm / 1_000_000;
    let wall_ns = (WALL_NS + clock_ns).saturating_add_signed(gained_ns + off_ns);
    Pair { clock_ns, wall_ns, bound_ns: 50 }
}

/// Calibrated once; the tests never read it.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrate);

fn line(gain_ppm: i64) -> Wall {
    Wall::through(*CLOCK, pair(0, gain_ppm, 0), pair(50_000_000, gain_ppm, 0))
}

#[test]
fn a_line_goes_through_what_was_read_and_on() {
    let wall = line(40);
    for clock_ns in [0, 50_000_000, SECOND_NS, 10 * SECOND_NS] {
        let wall_ns = pair(clock_ns, 40, 0).wall_ns;
        assert!(wall.wall_ns(clock_ns).abs_diff(wall_ns) <= 1, "{clock_ns}");
        assert!(wall.clock_ns(wall_ns).abs_diff(clock_ns) <= 20, "{clock_ns}");
    }
    assert_eq!((wall.bound_ns(), wall.steps()), (100, 0));
}

#[test]
fn what_lies_before_the_clock_is_zero() {
    assert_eq!(line(0).clock_ns(0), 0);
    assert_eq!(line(0).clock_ns(WALL_NS - 1), 0);
}

/// The next reading detects a changed rate, and the bound then contains the error of stamps in
/// between.
#[test]
fn a_rate_that_changes_widens_the_bound() {
    let mut wall = line(0);
    wall.go_on(pair(SECOND_NS, 0, 0));
    assert_eq!(wall.bound_ns(), 100);
    let mut now = pair(2 * SECOND_NS, 0, 0);
    now.wall_ns += 30_000;
    wall.go_on(now);
    assert_eq!((wall.bound_ns(), wall.steps()), (30_100, 0));
    assert_eq!(wall.latest(), now);
}

#[test]
fn a_wall_clock_that_was_set_is_noticed_and_followed() {
    for set_by_ns in [-3_600_000_000_000_i64, -2_000_000, 2_000_000, 3_600_000_000_000] {
        let mut wall = line(10);
        wall.go_on(pair(SECOND_NS, 10, set_by_ns));
        assert_eq!((wall.steps(), wall.bound_ns()), (1, 100), "{set_by_ns}");
        for second in 2..5 {
            let now = pair(second * SECOND_NS, 10, set_by_ns);
            assert!(wall.clock_ns(now.wall_ns).abs_diff(now.clock_ns) <= 20);
            wall.go_on(now);
        }
        assert_eq!(wall.steps(), 1);
    }
}

/// A pause of the machine or a step of its clock between the last two readings is in no bound, so
/// the test has three tries. A wrong bound fails each time.
#[test]
fn the_real_clocks_stay_within_the_bound() {
    let tries: Vec<String> = (0..3).map_while(|_| beyond_the_bound().err()).collect();
    assert!(tries.len() < 3, "{tries:#?}");
}

fn beyond_the_bound() -> Result<(), String> {
    let clock = Clock::calibrate();
    let mut wall = Wall::read(clock);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(20));
        wall.refresh();
    }
    if wall.steps() > 0 {
        testing::skipped(testing::Need::QuietCore, "somebody sets the wall clock");
        return Ok(());
    }
    let now = clock.beside_wall();
    let off_ns = wall.wall_ns(now.clock_ns).abs_diff(now.wall_ns);
    // Ten times the calibration's error over the time since the last reading, which may be long on
    // a busy machine.
    let since_ns = now.clock_ns - wall.latest().clock_ns;
    let is_within = off_ns <= wall.bound_ns() + now.bound_ns + since_ns / 1_000;
    is_within
        .then_some(())
        .ok_or_else(|| format!("{off_ns} ns after {since_ns}: {wall:?}, {now:?}"))
}

proptest! {
    /// For any slewing and any readings, the error stays within the bound, and no slew counts as a
    /// step.
    #[test]
    fn slewing_is_no_step(
        first_ppm in -500_i64..500,
        seconds in proptest::collection::vec((-400_i64..400, -25_i64..25, 100_000_000_u64..3_000_000_000), 1..50),
    ) {
        let mut wall = line(first_ppm);
        let mut at = wall.latest();
        for (ppm, off_ns, after_ns) in seconds {
            at.clock_ns += after_ns;
            let gained_ns = after_ns as i64 * ppm / 1_000_000;
            at.wall_ns = (at.wall_ns + after_ns).saturating_add_signed(gained_ns);
            let now = Pair { wall_ns: at.wall_ns.saturating_add_signed(off_ns), ..at };
            let off_ns = wall.wall_ns(now.clock_ns).abs_diff(now.wall_ns);
            wall.go_on(now);
            prop_assert!(off_ns <= wall.bound_ns());
            prop_assert_eq!(wall.steps(), 0);
        }
    }

    #[test]
    fn no_reading_breaks_it(pairs in proptest::collection::vec(any::<(u64, u64, u32)>(), 0..20), stamp: u64) {
        let mut wall = line(0);
        for (clock_ns, wall_ns, bound_ns) in pairs {
            wall.go_on(Pair { clock_ns, wall_ns, bound_ns: bound_ns.into() });
            let _ = (wall.clock_ns(stamp), wall.wall_ns(stamp));
        }
    }
}

/// For a thread that must not sleep: no line before the first one is long enough.
#[test]
fn a_line_that_begins_with_one_reading_needs_a_second_one() {
    let first = FirstReading::take(*CLOCK);
    let read_ns = CLOCK.now_ns();
    assert!(first.wall(read_ns).is_none());
    std::thread::sleep(FIRST_LINE);
    let wall = first.wall(read_ns + FIRST_LINE.as_nanos() as u64).unwrap();
    let now = CLOCK.beside_wall();
    let off_ns = wall.clock_ns(now.wall_ns).abs_diff(now.clock_ns);
    assert!(off_ns < 1_000_000, "{off_ns}");
}
