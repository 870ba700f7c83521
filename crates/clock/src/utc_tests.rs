use super::*;
use proptest::prelude::*;

/// The example of chronyc(1), "tracking", as the fields of `-c`.
const MANUAL: &str = "CB00710F,203.0.113.15,3,1485509367.123456789,-0.000006523,-0.000006747,0.000035822,-3.225,-0.000,0.129,\
                      0.013639022,0.001100737,64.2,Normal\n";
/// Output of chrony 4.3 with `local stratum 10` and no source, and without `local`.
const LOCAL: &str = "7F7F0101,,10,1795340838.576375254,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n";
const NOBODY: &str = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n";

#[test]
fn chronys_bound_is_offset_and_dispersion_and_half_the_delay() {
    // 6 523 + 1 100 737 + 13 639 022 / 2
    assert_eq!(chrony_bound_ns(MANUAL, None), Ok(7_926_771));
    assert_eq!(
        chrony_bound_ns(&MANUAL.replace("-0.000006523", "0.000006523"), None),
        Ok(7_926_771)
    );
}

#[test]
fn who_follows_nobody_has_no_bound() {
    assert_eq!(chrony_bound_ns(LOCAL, None), Err(ChronyError::Local));
    assert_eq!(chrony_bound_ns(NOBODY, None), Err(ChronyError::NotSynchronised));
}

/// Root delay and dispersion of a card's clock count from the card: tickpath showed 5 us where the
/// card itself might be 25 us from UTC.
#[test]
fn a_card_that_chrony_follows_adds_its_own_bound() {
    let phc = MANUAL.replace("CB00710F,203.0.113.15", "50484330,PHC0");
    assert_eq!(chrony_bound_ns(&phc, Some(25_000)), Ok(7_926_771 + 25_000));
    assert_eq!(chrony_bound_ns(&phc, None), Err(ChronyError::Phc));
    assert_eq!(chrony_bound_ns(MANUAL, Some(25_000)), Ok(7_926_771), "it follows a server");
}

#[test]
fn anything_else_is_not_chronys_word() {
    let unreadable =
        |text: &str| matches!(chrony_bound_ns(text, None), Err(ChronyError::Unreadable(_)));
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
        let _ = chrony_bound_ns(&text, None);
        let _ = chrony_bound_ns(&fields.join(","), None);
    }
}
