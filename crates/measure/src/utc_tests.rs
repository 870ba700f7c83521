use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// The example of chronyc(1), "tracking", as the fields of `-c`.
const MANUAL: &str = "CB00710F,203.0.113.15,3,1485509367.123456789,-0.000006523,-0.000006747,0.000035822,-3.225,-0.000,0.129,\
                      0.013639022,0.001100737,64.2,Normal\n";
/// What chrony 4.3 printed with `local stratum 10` and nobody to follow, and without `local`.
const LOCAL: &str = "7F7F0101,,10,1795340838.576375254,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n";
const NOBODY: &str = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n";

#[test]
fn chronys_bound_is_offset_and_dispersion_and_half_the_delay() {
    // 6 523 + 1 100 737 + 13 639 022 / 2
    assert_eq!(chrony_bound_ns(MANUAL), Ok(7_926_771));
    assert_eq!(chrony_bound_ns(&MANUAL.replace("-0.000006523", "0.000006523")), Ok(7_926_771));
}

#[test]
fn who_follows_nobody_has_no_bound() {
    assert_eq!(chrony_bound_ns(LOCAL), Err(ChronyError::Local));
    assert_eq!(chrony_bound_ns(NOBODY), Err(ChronyError::NotSynchronised));
}

#[test]
fn anything_else_is_not_chronys_word() {
    let unreadable = |text: &str| matches!(chrony_bound_ns(text), Err(ChronyError::Unreadable(_)));
    assert!(unreadable(""));
    assert!(unreadable("506 Cannot talk to daemon"));
    assert!(unreadable(&MANUAL.replace("0.013639022", "-0.01")));
    assert!(unreadable(&MANUAL.replace("0.013639022", "NaN")));
    assert!(unreadable(&MANUAL.replace("0.001100737", "inf")));
    assert!(unreadable(&MANUAL.replace(",Normal", "")));
}

proptest! {
    #[test]
    fn no_text_breaks_it(text in ".{0,200}", fields in proptest::collection::vec("[-0-9.eN]{0,12}", 14)) {
        let _ = chrony_bound_ns(&text);
        let _ = chrony_bound_ns(&fields.join(","));
    }
}

#[test]
fn a_one_way_figure_stands_up_to_a_tenth() {
    assert_eq!(one_way(10_000, Some(1_000)), Ok(()));
    let too_wide = OneWayRefused::TooWide { figure_ns: 10_000, bound_ns: 1_001 };
    assert_eq!(one_way(10_000, Some(1_001)), Err(too_wide));
    assert_eq!(one_way(10_000, None), Err(OneWayRefused::Unknown));
    // One clock: exact, whatever the figure.
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

fn base(boot_id: &str, clock: usize, bound_ns: Option<u64>) -> TimeBase {
    TimeBase {
        boot_id: boot_id.to_owned(),
        clock: CLOCKS[clock],
        wall: Pair { clock_ns: 0, wall_ns: 0, bound_ns: 30 },
        utc: Utc { bound_ns, from: "chrony".to_owned(), ..Utc::default() },
    }
}

#[test]
fn on_one_clock_it_is_exact_and_elsewhere_bounds_add_up() {
    let apart = |ours: &TimeBase, theirs: &TimeBase| {
        let time = ours.beside(theirs);
        (time.same_clock, time.exchange_bound_ns, time.bound_from)
    };
    let ours = base("a", 0, Some(1_000));
    let same = "same machine".to_owned();
    assert_eq!(apart(&ours, &base("a", 0, None)), (true, Some(0), same.clone()));
    assert_eq!(apart(&ours, &base("a", 1, None)), (false, Some(60), same));
    assert_eq!(apart(&ours, &base("b", 0, Some(500))), (false, Some(1_560), "chrony".to_owned()));
    assert_eq!(apart(&ours, &base("b", 0, None)), (false, None, String::new()));
    // Two machines that don't say who they are may be two.
    let unknown = base("", 0, None);
    assert_eq!(apart(&unknown, &unknown), (false, None, String::new()));
}
