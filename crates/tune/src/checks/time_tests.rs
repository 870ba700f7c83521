use super::*;
use crate::time_sources::ENA_PHC;
use expect_test::expect;
use host::Root;
use record::machine::{Fingerprint, FixedFacts};
use std::fs;
use tempfile::TempDir;

/// A machine: its PTP clocks, ENA's switch, and the programs that run.
fn machine(clocks: &[&str], ena_phc: Option<&str>, programs: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let file = |path: String, text: String| {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (number, name) in clocks.iter().enumerate() {
        file(format!("sys/class/ptp/ptp{number}/clock_name"), format!("{name}\n"));
    }
    ena_phc.into_iter().for_each(|value| file(ENA_PHC.to_owned(), format!("{value}\n")));
    for (number, name) in programs.iter().enumerate() {
        let stat =
            format!("{number} ({name}) S 1 1 1 0 -1 4194304 1 2 3 4 50 60 7 8 20 0 1 0 99 0 0");
        file(format!("proc/{}/stat", 100 + number), stat);
    }
    directory
}

/// The Amazon EC2 User Guide's example, and what chrony 4.3 prints with `-n -c`.
const PHC: &str = "#,*,PHC0,0,0,377,0,0.000000184,0.000000198,0.000005032\n\
                   ^,-,169.254.169.123,1,4,377,8,-0.000018,-0.000018,0.000115\n";
const NTP: &str = "^,*,169.254.169.123,3,4,377,13,-0.000004325,-0.000009201,0.000401\n";
const MIXED: &str =
    "#,*,PHC0,0,0,377,0,0.0,0.0,0.000005\n^,+,169.254.169.123,1,4,377,8,0,0,0.0001\n";
const POOL: &str = "^,*,203.0.113.15,2,6,377,3,0,0,0.002\n^,+,203.0.113.16,2,6,377,3,0,0,0.002\n";
const NONE_YET: &str = "#,?,PHC0,0,0,0,4294967295,0.0,0.0,0.0\n";

#[test]
fn one_source_is_followed_and_it_is_the_nearest() {
    let ena = &["ena-ptp-05"][..];
    let found =
        |clocks: &[&str], ena_phc, programs: &[&str], chrony: Option<Result<&str, &str>>| {
            let directory = machine(clocks, ena_phc, programs);
            let mut time = TimeSources::read(&Root::at(directory.path()));
            let owned = |told: Result<&str, &str>| told.map(str::to_owned).map_err(str::to_owned);
            time.chrony = chrony.map(owned);
            let (grade, found) = source(&Inspection { time, ..Inspection::default() });
            format!("{}: {found}\n", grade.name())
        };
    let chronyd = &["systemd", "chronyd"][..];
    let all = [
        found(ena, Some("1"), chronyd, Some(Ok(PHC))),
        found(ena, Some("1"), chronyd, Some(Ok(MIXED))),
        found(ena, Some("1"), chronyd, Some(Ok(NTP))),
        found(ena, Some("1"), chronyd, Some(Ok(NONE_YET))),
        found(&[], Some("0"), chronyd, Some(Ok(NTP))),
        found(&[], None, chronyd, Some(Ok(NTP))),
        found(&[], None, chronyd, Some(Ok(POOL))),
        found(&[], None, chronyd, Some(Err("chrony does not answer: 506"))),
        found(&[], None, chronyd, Some(Ok("506 Cannot talk to daemon"))),
        found(&[], None, chronyd, None),
        found(ena, None, &["chronyd", "systemd-timesyn"], Some(Ok(PHC))),
        found(ena, None, &["phc2sys", "ptp4l"], None),
        found(ena, None, &["systemd-timesyn"], None),
        found(&[], None, &["ntpd"], None),
        found(&[], None, &["systemd"], None),
    ];
    expect![[r#"
        ok: chrony follows PHC0 alone
        warn: chrony mixes PHC0 with 169.254.169.123
        warn: chrony follows 169.254.169.123; not ptp0 (ena-ptp-05)
        warn: chrony has selected none of its sources; not ptp0 (ena-ptp-05)
        warn: chrony follows 169.254.169.123; not the PTP clock of the driver ENA, which is off
        ok: chrony follows 169.254.169.123
        ok: chrony follows 203.0.113.15 and combines it with 203.0.113.16
        unknown: chronyd runs, but chrony does not answer: 506
        unknown: "506 Cannot talk to daemon" is not understood
        unknown: chronyd runs, and its sources were not read
        warn: chronyd and systemd-timesyncd set one clock
        ok: phc2sys, by a PTP clock; it states no bound of the error
        warn: systemd-timesyncd, which states no bound of the error; not ptp0 (ena-ptp-05)
        warn: ntpd, which states no bound of the error
        warn: no program sets the wall clock
    "#]]
    .assert_eq(&all.concat());
}

/// By the card itself: whether chrony does what it says.
#[test]
fn the_distance_of_the_card_from_the_wall_clock_is_shown() {
    let directory = machine(&["ena-ptp-05"], Some("1"), &["chronyd"]);
    let read = TimeSources::read(&Root::at(directory.path()));
    let reading = PhcReading { phc_ns: 5_000, wall_ns: 5_301, bound_ns: 401 };
    let readings = vec![("ptp0 (ena-ptp-05)".to_owned(), reading)];
    let time = TimeSources { readings, chrony: Some(Ok(PHC.to_owned())), ..read };
    let (_, found) = source(&Inspection { time, ..Inspection::default() });
    expect!["chrony follows PHC0 alone; ptp0 (ena-ptp-05) is -301 ns ahead of the wall clock (error 401 ns at most)"]
        .assert_eq(&found);
}

/// Its host's programs are in another /proc, so that nothing is no answer.
#[test]
fn a_container_does_not_know() {
    let directory = machine(&[], None, &["bash"]);
    let time = TimeSources::read(&Root::at(directory.path()));
    let fixed = FixedFacts { container: Some("docker".to_owned()), ..FixedFacts::default() };
    let machine = Fingerprint { fixed, ..Fingerprint::default() };
    let inside = Inspection { time, machine, ..Inspection::default() };
    assert_eq!(source(&inside).0, Grade::Unknown);
    let nothing = TimeSources::read(&Root::at(directory.path().join("nothing")));
    let unreadable = Inspection { time: nothing, ..Inspection::default() };
    assert_eq!(source(&unreadable).0, Grade::Unknown);
}
